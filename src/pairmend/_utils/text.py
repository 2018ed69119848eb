"""Formatting lists of names and counts in messages."""

import unicodedata
from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """Join names: 'LPW, FCM and FCM-O'."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def counted(number: int, thing: str, several: str = "") -> str:
    """Format a count: '1 set', '2 sets', or with an irregular plural."""
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"


def one_line(name: str) -> str:
    """Replace control characters, format characters and separators by single spaces."""
    separators = ("C", "Z")  # Unicode's classes of control characters and of separators
    return " ".join(
        "".join(" " if unicodedata.category(c).startswith(separators) else c for c in name).split()
    )
