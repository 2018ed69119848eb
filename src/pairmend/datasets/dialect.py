"""Guessing the delimiter of a CSV file, titles above a table, and whether it has a header."""

import csv
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pairmend._utils.number_texts import is_missing_text, number_formats

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
            rows = [
                row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row
            ]
        except csv.Error:
            continue
        (width, count) = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        score = (count / max(1, len(rows)), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are titles above a table.

    A title has one filled cell, less than half as many cells as most rows, or begins with ``#`` and
    has another number of cells. If it has as many cells as most rows, it must be above a header.
    """
    n_filled = [sum(map(bool, row)) for row in rows]
    wide = [place for place, filled in enumerate(n_filled) if filled > 1]
    if 2 * len(wide) < len(rows):
        return 0
    usual_filled = Counter(n_filled[place] for place in wide).most_common(1)[0][0]
    usual_width = Counter(len(rows[place]) for place in wide).most_common(1)[0][0]
    for n_titles, (row, filled) in enumerate(zip(rows, n_filled, strict=True)):
        is_alone = filled == 1 and usual_filled > (1 if len(row) == 1 else 2)
        is_comment = row[0].startswith("#") and len(row) != usual_width
        if not is_alone and not is_comment and 2 * len(row) >= usual_width:
            is_short = all(len(title) < usual_width for title in rows[:n_titles])
            return n_titles if is_short or has_header(rows[n_titles:]) else 0
    return 0


def has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether all rows have one cell more than the header, as tables that R writes.

    Names of rows differ; else a cell may contain the delimiter, as 1,5 does.
    """
    width, rest = len(rows[0]) + 1, rows[1:]
    if not rest or not all(len(row) == width and row[-1] for row in rest):
        return False
    return len({row[0] for row in rest}) == len(rest)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows holds names of columns.

    It does not if each of its cells occurs again in its own column; nor if every column of numbers
    has a number there, too, unless these numbers increase by the same step from column to column,
    as names of years or places do.
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
    if not numeric or not all(map(_is_number_or_missing, (first[place] for place in numeric))):
        return True
    names = [first[place] for place in numeric if not _is_missing(first[place])]
    if not names:
        return True
    if len(numeric) >= len(first) - 1 and all(name.isdecimal() for name in names):
        steps = {after - before for before, after in pairwise(map(int, names))}
        return len(steps) == 1 and min(steps) > 0
    return False


def _all_numbers(cells: Sequence[str]) -> bool:
    present = [cell for cell in cells if not _is_missing(cell)]
    return bool(present) and all(map(_is_number_or_missing, present))


def _is_number_or_missing(cell: str) -> bool:
    return _is_missing(cell) or cell.isdecimal() or bool(number_formats([cell]))


def _is_missing(cell: str) -> bool:
    return not cell or is_missing_text(cell)
