"""Dates of ARFF files, in Java's notation."""

import re
from datetime import UTC, datetime
from functools import lru_cache

_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "MMM": "%b",
    "dd": "%d",
    "d": "%d",
    "M": "%m",
    "HH": "%H",
    "H": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "a": "%p",
    "Z": "%z",
    "EEE": "%a",
}
_PART = re.compile(r"'([^']*+)'|([A-Za-z])\2*+|[^A-Za-z']++")


@lru_cache(maxsize=64)  # one format for many cells
def strptime_format(java_format: str) -> str:
    """Translate a Java date format for :meth:`datetime.strptime`."""
    out = []
    for match in _PART.finditer(java_format):
        part = match[0]
        if match[1] is not None:
            out.append(match[1].replace("%", "%%"))
        elif match[2] is None:
            out.append(part.replace("%", "%%"))
        elif part in _LETTERS:
            out.append(_LETTERS[part])
        else:
            raise ValueError(f"cannot read dates with {part!r} in {java_format!r}")
    return "".join(out)


def seconds(text: str, java_format: str) -> float:
    """Read a date as seconds since 1970; a date without a time zone is in UTC."""
    try:
        moment = datetime.strptime(text, strptime_format(java_format))
    except re.error as error:
        raise ValueError(f"the format {java_format!r} names a part twice") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
