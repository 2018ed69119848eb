"""Texts of messages; texts that are numbers, codes, or stand for a missing value."""

import re
import unicodedata
from collections.abc import Iterable
from math import nan


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


MISSING_TEXTS = frozenset({
    "?", "-", "--", "---", "\u2013", "\u2014", ".", "n/a", "na", "n.a.", "nan", "null", "none",
    "unknown", "missing", "<na>", "#n/a", "#na", "#div/0!", "#null!", "#num!", "#ref!", "#value!",
    "#name?", "k.a.", "k. a.", "keine angabe", "unbekannt", "#nv", "#wert!", "#bezug!", "#zahl!",
    "#valeur!", "#nombre!", "#nom?",
})  # fmt: skip
"""Texts that stand for a missing number or date, in lower case: those of programs, the errors of
Excel in English, German and French, and what people write."""
_LONGEST_MISSING = max(map(len, MISSING_TEXTS))
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_missing_text(text: str) -> bool:
    """Return whether a text stands for a missing number or date."""
    if text[:1].isdigit() or len(text) > _LONGEST_MISSING:
        return False
    return text.strip().lower() in MISSING_TEXTS


def is_code(text: str) -> bool:
    """Return whether a text is a whole number with a leading zero, such as 00501."""
    return _CODE.fullmatch(text.strip()) is not None


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number with at most a sign, a decimal point and an exponent."""
    return _PLAIN.fullmatch(text.strip()) is not None and not is_code(text)


def plain_number(text: str) -> float:
    """Return a text in plain notation as a number, NaN for one that stands for a missing value."""
    if is_missing_text(text):
        return nan
    if not is_plain_number(text):
        raise ValueError(f"{text!r} is no number in plain notation")
    return float(text)
