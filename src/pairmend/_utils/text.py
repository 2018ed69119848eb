"""Texts of messages; texts that stand for a missing value."""

import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np


def listed(names: Iterable[str]) -> str:
    """Join names: 'LPW, FCM and FCM-O'."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def quoted(names: Sequence[str], at_most: int = 10) -> str:
    """List the first names, for messages."""
    return ", ".join(map(repr, names[:at_most])) + (", ..." if len(names) > at_most else "")


def counted(number: int, thing: str, several: str = "") -> str:
    """Format a count: '1 set', '2 sets', or with an irregular plural."""
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"


def one_line(name: str) -> str:
    """Replace control characters, format characters and separators by single spaces."""
    separators = ("C", "Z")  # Unicode's classes of control characters and of separators
    return " ".join(
        "".join(" " if unicodedata.category(c).startswith(separators) else c for c in name).split()
    )


MISSING_TEXTS = frozenset({
    "?", "-", "--", "---", "\u2013", "\u2014", ".", "n/a", "na", "n.a.", "nan", "null", "none",
    "unknown", "missing", "<na>", "#n/a", "#na", "#div/0!", "#null!", "#num!", "#ref!", "#value!",
    "#name?", "k.a.", "k. a.", "keine angabe", "unbekannt", "#nv", "#wert!", "#bezug!", "#zahl!",
    "#valeur!", "#nombre!", "#nom?",
})  # fmt: skip
"""Texts that stand for a missing number or date, in lower case: those of programs, the errors of
Excel in English, German and French, and what people write."""
_LONGEST_MISSING = max(map(len, MISSING_TEXTS))


def is_missing(cell: Any) -> bool:
    """Return whether a Python object stands for a missing value."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | Decimal | np.generic) and bool(cell != cell)


def is_missing_text(text: str) -> bool:
    """Return whether a text stands for a missing number or date."""
    if text[:1].isdigit() or len(text) > _LONGEST_MISSING:
        return False
    return text.strip().lower() in MISSING_TEXTS
