"""Parsing numbers and dates that are written as strings."""

import re
from collections.abc import Callable, Sequence
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
    return _parsed(strings, number_format.parse)


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
    return _parsed(
        strings, lambda string: np.nan if is_missing_text(string) else _date(string.strip(), form)
    )


def _date(string: str, form: str) -> float:
    if form == ISO:
        return days_of(datetime.fromisoformat(string))
    for time in _TIMES:
        try:
            return days_of(datetime.strptime(string, form + time))
        except ValueError:
            continue
    raise ValueError(string)


def _parsed(strings: Sequence[str | None], parse: Callable[[str], float]) -> FloatArray | None:
    """Parse each different string once; None if one cannot be parsed."""
    found: dict[str | None, float] = {None: np.nan}
    try:
        for string in dict.fromkeys(strings):
            if string is not None:
                found[string] = parse(string)
    except ValueError:
        return None
    return np.array([found[string] for string in strings], dtype=float)
