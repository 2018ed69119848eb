"""Guessing the delimiter of a CSV file, and whether a table has a header."""

import csv
from collections.abc import Sequence
from itertools import pairwise

from pairmend._utils.number_texts import number_forms

DELIMITERS = ",;\t|"
MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value."""


def guess_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that cuts the first lines into equally many cells, the most of them.

    csv.Sniffer is not used: its regular expressions take more than linear time, and it also
    returns letters.
    """
    best, best_score = DELIMITERS[0], (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        widths = [len(row) for row in rows]
        if widths and widths[0] > 1:
            score = (widths.count(widths[0]) / len(widths), widths[0])
            if score > best_score:
                best, best_score = delimiter, score
    return best


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows holds names of columns.

    It does not if each of its cells occurs again in its own column; nor if every column of numbers
    has a number there, too, unless these numbers increase from column to column, as names of years
    or places do.
    """
    first, rest = rows[0], rows[1:]
    if rest and all(
        any(place < len(row) and row[place] == cell for row in rest)
        for place, cell in enumerate(first)
    ):
        return False
    numeric = [
        place
        for place in range(len(first))
        if _all_numbers([row[place] for row in rest if place < len(row)])
    ]
    if not numeric or not all(_is_number(first[place], True) for place in numeric):
        return True
    names = [first[place] for place in numeric if first[place] not in MISSING]
    if not names:
        return True
    if len(numeric) >= len(first) - 1 and all(name.isdecimal() for name in names):
        return len(names) > 1 and all(a < b for a, b in pairwise(map(int, names)))
    return False


def _all_numbers(cells: Sequence[str]) -> bool:
    present = [cell for cell in cells if cell not in MISSING]
    return bool(present) and all(map(_is_number, present))


def _is_number(cell: str, or_missing: bool = False) -> bool:
    return (or_missing and cell in MISSING) or bool(number_forms([cell]))
