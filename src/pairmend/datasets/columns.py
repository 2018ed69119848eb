"""Columns of a table: numbers, or texts as codes of categories; how numbers are written."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.text import is_missing_text
from pairmend._utils.typing import FloatArray
from pairmend.datasets.limits import CellCount

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value in every column but those of labels."""
CODE = re.compile(r"[+-]?0\d+", re.ASCII)
"""A whole number with a leading zero, as 00501, is a code."""
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_SPACES = " \u00a0\u202f"


@dataclass(frozen=True)
class Notation:
    """How numbers are written: the decimal sign and the separator of thousands, if any."""

    decimal: str = "."
    thousands: str = ""

    @classmethod
    def of(cls, decimal: str | None, thousands: str | None) -> "Notation | None":
        """Return the notation of the options; None if none is given."""
        for name, sign, allowed in (("decimal", decimal, ".,"), ("thousands", thousands, ".,' ’")):
            if sign is not None and (len(sign) != 1 or sign not in allowed):
                raise ValueError(f"{name} must be one of {' '.join(map(repr, allowed))}, "
                                 f"got {sign!r}")  # fmt: skip
        if decimal is None and thousands is None:
            return None
        decimal = decimal or ("," if thousands == "." else ".")
        if decimal == thousands:
            raise ValueError(f"decimal and thousands must differ, got {decimal!r} for both")
        return cls(decimal, thousands or "")

    def holds(self, text: str) -> bool:
        """Return whether a text is a number in this notation."""
        return _pattern(self.decimal, self.thousands).fullmatch(text) is not None

    def parse(self, text: str) -> float:
        """Return a text that is missing or a number in this notation as a number."""
        if is_missing_text(text):
            return nan
        for gap in _SPACES if self.thousands == " " else self.thousands:
            text = text.replace(gap, "")
        return float(text.replace(self.decimal, "."))


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        gap = _SPACES if thousands == " " else thousands
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{gap}]\d{{3}})+)"
    sign = re.escape(decimal)
    return re.compile(rf"[+-]?(?:{whole}(?:{sign}\d*)?|{sign}\d+){_EXPONENT}", re.ASCII)


PLAIN = Notation()
_UNAMBIGUOUS = (Notation(","), Notation(".", ","))
"""Notations that need no option where all numbers of a column fit only one of them."""
_KNOWN = (PLAIN, *_UNAMBIGUOUS, *(Notation(d, t) for d, t in (",.", ". ", ", ", ".'", ",'")))


@dataclass
class Texts:
    """A column of texts: the code of each cell, NaN where it is missing, and the texts."""

    codes: FloatArray
    values: tuple[str, ...]


Column = FloatArray | Texts


@dataclass
class TextCodes:
    """Numbers the different texts of a column, which is read in chunks; `missing` become NaN."""

    count: CellCount
    missing: frozenset[Any]
    code_of: dict[str, int] = field(default_factory=dict)
    blocks: list[FloatArray] = field(default_factory=list)

    def add(self, texts: Iterable[Any]) -> None:
        """Append cells."""
        code_of, missing, n_before = self.code_of, self.missing, len(self.code_of)
        codes = [nan if t in missing else code_of.setdefault(t, len(code_of)) for t in texts]
        self.blocks.append(np.array(codes, dtype=float))
        self.count.add_texts(len(code_of) - n_before)

    def column(self) -> Texts:
        """Return all cells, the texts in alphabetical order."""
        values = tuple(sorted(self.code_of))
        place = np.empty(len(values) + 1)
        place[[self.code_of[value] for value in values]] = np.arange(len(values))
        place[-1] = nan
        codes = np.concatenate([np.empty(0), *self.blocks])
        return Texts(place[np.where(np.isnan(codes), -1, codes).astype(np.intp)], values)


def decoded(
    path: Path, name: str, column: Texts, notation: Notation | None, notes: list[str]
) -> Column:
    """Return a column of texts as numbers if it holds nothing but numbers, else unchanged.

    Without a notation, numbers must be plain, or fit one notation only. Whole numbers with a
    leading zero are codes. A note is added to `notes` if most cells are numbers or dates.
    """
    present = [text for text in column.values if not is_missing_text(text)]
    if not present or any(map(CODE.fullmatch, present)):
        return column
    if notation is not None:
        fitting = [each for each in (notation,) if all(map(each.holds, present))]
    elif all(map(PLAIN.holds, present)):
        fitting = [PLAIN]
    else:
        fitting = [each for each in _UNAMBIGUOUS if all(map(each.holds, present))]
    if len(fitting) == 1:
        numbers = np.array([*map(fitting[0].parse, column.values), nan])
        return numbers[np.where(np.isnan(column.codes), -1, column.codes).astype(np.intp)]
    if all(any(each.holds(text) for each in _KNOWN) for text in present):
        examples = sorted(present, key=lambda text: (PLAIN.holds(text), len(text)))[:2]
        given = "" if notation is None else (
            f" with the decimal sign {notation.decimal!r}"
            + (f" and thousands {notation.thousands!r}" if notation.thousands else "")
        )  # fmt: skip
        raise ValueError(
            f"{path}: the numbers of column {name!r}, such as {' and '.join(map(repr, examples))}, "
            f"are ambiguous or written in different ways{given}; give their signs: --decimal SIGN "
            "and --thousands SIGN, in Python decimal=... and thousands=..., or, if they are codes, "
            f"--categorical {name}"
        )
    notes += _note_of_others(name, column, present)
    return column


def _note_of_others(name: str, column: Texts, present: Sequence[str]) -> list[str]:
    """Return a note if most cells of a column are numbers or dates."""
    n_cells = np.bincount(column.codes[~np.isnan(column.codes)].astype(np.intp))
    n_of = dict(zip(column.values, n_cells.tolist(), strict=True))
    n_present = sum(n_of[text] for text in present)
    is_date = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[ T].*)?", re.ASCII).fullmatch
    for is_thing, things in (PLAIN.holds, "numbers"), (is_date, "dates"):
        others = [text for text in present if not is_thing(text)]
        if others and 2 * sum(n_of[text] for text in others) < n_present:
            shown = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
            cells = "cells with it" if len(others) == 1 else "such cells"
            return [
                f"most values of column {name!r} are {things}, but not {shown}; it is read as "
                f"texts. Correct or empty {cells} to read it as {things}"
            ]
    return []


def note_of_points(name: str, texts: Iterable[str]) -> list[str]:
    """Return a note if the points of numbers may all separate thousands, beside whole numbers."""
    present = [text for text in texts if not is_missing_text(text)]
    points = [text for text in present if "." in text]
    if not 0 < len(points) < len(present) or not all(map(_THREE_DIGITS.fullmatch, points)):
        return []
    return [
        f"the points of column {name!r}, such as {points[0]!r}, are read as decimal points; if "
        "they separate thousands, give --thousands . (in Python thousands='.'), else --decimal . "
        "(in Python decimal='.')"
    ]


def may_have_points_of_thousands(sample: Iterable[str], numbers: FloatArray) -> bool:
    """Return whether the points of some texts, and of the numbers of a column, may do so."""
    if not all(_THREE_DIGITS.fullmatch(text) for text in sample if "." in text):
        return False
    present = numbers[np.isfinite(numbers)]
    is_whole = present == np.floor(present)
    rest = present[~is_whole]
    return bool(is_whole.any() and (np.abs(rest) >= 1).all()
                and np.allclose(rest * 1000, np.round(rest * 1000), rtol=0, atol=1e-6))  # fmt: skip
