"""Parsing numbers and dates that are written as strings."""

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from pairmend._utils.number_texts import PLAIN_NUMBERS, NumberFormat, is_missing_text
from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import days_of

ISO = "ISO 8601"
FORMATS = (ISO, "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
"""Formats of dates, each also with a time of day, in the order in which they are tried."""
_TIMES = ("", " %H:%M", " %H:%M:%S")


def numbers_of(
    strings: Sequence[str | None], number_format: NumberFormat = PLAIN_NUMBERS
) -> FloatArray | None:
    """Return strings in a format as numbers, None if one of them is no number."""
    different = [string for string in dict.fromkeys(strings) if string is not None]
    try:
        numbers = dict(zip(different, number_format.parse_all(different), strict=True))
    except ValueError:
        return None
    return np.array([np.nan if each is None else numbers[each] for each in strings], dtype=float)


def date_formats_of(strings: Sequence[str | None]) -> list[str]:
    """Return the formats in which all strings are dates."""
    present = [
        string
        for string in dict.fromkeys(strings)
        if string is not None and not is_missing_text(string)
    ]
    # The first value excludes most columns without parsing it in each format.
    if not present or not re.match(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d", present[0]):
        return []
    return [form for form in FORMATS if dates_of(present, form) is not None]


def dates_of(strings: Sequence[str | None], form: str) -> FloatArray | None:
    """Return days since 1970 of dates in a format, None if one of them is not in it."""
    found: dict[str | None, float] = {None: np.nan}
    try:
        for string in dict.fromkeys(strings):
            if string is not None:
                is_missing = is_missing_text(string)
                found[string] = np.nan if is_missing else _date(string.strip(), form)
    except ValueError:
        return None
    return np.array([found[string] for string in strings], dtype=float)


def _date(string: str, form: str) -> float:
    if form == ISO:
        return days_of(datetime.fromisoformat(string))
    for time in _TIMES:
        try:
            return days_of(datetime.strptime(string, form + time))
        except ValueError:
            continue
    raise ValueError(string)
