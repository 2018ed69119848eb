"""Numbers and dates written as strings."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np

from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import days_of

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_LEADING_ZERO = re.compile(r"\s*0\d")

ISO = "ISO 8601"
FORMATS = (ISO, "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
"""Formats of dates, each also with a time of day, in the order in which they are tried."""
_TIMES = ("", " %H:%M", " %H:%M:%S")


def numbers_of(strings: Sequence[str | None]) -> FloatArray | None:
    """Return the numbers that strings stand for, None if one of them is no number.

    Numbers with a leading zero, such as 00501, are codes, not numbers.

    Examples
    --------
    >>> numbers_of(["1.5", None, "-2e3"]).tolist()
    [1.5, nan, -2000.0]
    >>> numbers_of(["1.5", "red"]), numbers_of(["00501"])
    (None, None)
    """
    return _parsed(strings, _number)


def _number(string: str) -> float:
    if not _NUMBER.fullmatch(string) or _LEADING_ZERO.match(string):
        raise ValueError(string)
    return float(string)


def date_formats_of(strings: Sequence[str | None]) -> list[str]:
    """Return the formats in which all strings are dates.

    Examples
    --------
    >>> date_formats_of(["2024-05-17", "2024-05-18T10:30"])
    ['ISO 8601']
    >>> date_formats_of(["17/05/2024", "01/02/2024"]), date_formats_of(["05/06/2024"])
    (['%d/%m/%Y'], ['%m/%d/%Y', '%d/%m/%Y'])
    >>> date_formats_of(["red"]), date_formats_of(["20240517"])
    ([], [])
    """
    known = [string for string in dict.fromkeys(strings) if string is not None]
    # Most columns are ruled out by their first value, without a try of each format.
    if not known or not re.match(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d", known[0]):
        return []
    return [form for form in FORMATS if dates_of(known, form) is not None]


def dates_of(strings: Sequence[str | None], form: str) -> FloatArray | None:
    """Return days since 1970 of dates in a format, None if one of them is not in it.

    Examples
    --------
    >>> dates_of(["1970-01-02", None], ISO).tolist()
    [1.0, nan]
    """
    return _parsed(strings, lambda string: _date(string.strip(), form))


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
