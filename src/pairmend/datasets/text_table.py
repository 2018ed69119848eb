"""Tables whose cells are texts: titles, header, numbers, categories, missing values."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from pairmend._utils.chunking import join_blocks
from pairmend._utils.number_texts import DECIMAL_COMMA, has_codes, number_formats
from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.decimal_commas import DecimalCommas
from pairmend.datasets.dialect import MISSING, count_titles, has_header, has_row_names
from pairmend.datasets.limits import CellCount, ReadLimits
from pairmend.datasets.number_columns import joined_notes
from pairmend.datasets.text_codes import TextCodes

Rows = Callable[[], AbstractContextManager[Iterator[tuple[int, list[str]]]]]
"""Opens a file and returns its rows, each with the number of its line."""
_CHUNK_CELLS = 2**19
"""Cells of a chunk of rows."""
_SAMPLE_ROWS = 100
"""Rows from which titles and a missing header are recognised."""
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")


@dataclass
class Columns:
    """The columns of a table as numbers, and the texts of the categorical ones."""

    names: tuple[str, ...]
    cells: FloatArray
    categories: dict[int, tuple[str, ...]]

    def select(self, places: Sequence[int]) -> "Columns":
        """Return some of the columns."""
        return Columns(
            tuple(self.names[place] for place in places),
            self.cells[:, places],
            {n: self.categories[old] for n, old in enumerate(places) if old in self.categories},
        )


class TextTable:
    """A table that is read in chunks of rows, to bound the number of cells that are texts.

    `notes` describe how it was read where it could be read in another way.
    """

    def __init__(
        self,
        path: Path,
        rows: Rows,
        limits: ReadLimits,
        *,
        header: bool | None = True,
        decimal_commas: bool = False,
        pads_rows: bool = False,
    ):
        self.path, self._rows, self._decimal_commas = path, rows, decimal_commas
        self._pads_rows = pads_rows
        self.notes: list[str] = []
        with rows() as opened:
            # Empty lines before the header are skipped.
            filled = ([c.strip() for c in row] for _, row in opened if any(map(str.strip, row)))
            sample = list(islice(filled, _SAMPLE_ROWS))
        if not sample:
            raise ValueError(f"{path}: empty; expected a header with the names of the columns")
        n_titles = 0 if header is False else count_titles(sample)
        self._note_titles(sample[:n_titles])
        first, sample = sample[n_titles], sample[n_titles:]
        self._has_header = has_header(sample) if header is None else header
        self._n_skipped = n_titles + self._has_header
        if self._has_header and not pads_rows and has_row_names(sample):
            first = ["", *first]
            self.notes.append(
                f"{path}: the header has one name fewer than the rows have cells, so that the "
                "first column has no name"
            )
        self.count = CellCount(path, limits)
        self.count.add_columns(len(first))
        if self._has_header:
            first[0] = first[0].strip("\ufeff")  # a byte order mark that was written twice
            self.names = [name or f"column_{n}" for n, name in enumerate(first, start=1)]
            self._unnamed = {place for place, name in enumerate(first) if not name}
            self._check_names()
            self._note_numbers_as_names(first, header is None)
        else:
            self.names = [f"column_{n}" for n in range(1, len(first) + 1)]
            self._unnamed = set()
            self._note_missing_header(first, header is None)

    def _check_names(self) -> None:
        if len(set(self.names)) != len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise ValueError(
                f"{self.path}, line 1: two columns are named {twice!r}; rename one of them, or, if "
                "the file has no line with names, add one, or pass --no-header (in Python "
                "header=False)"
            )

    def _note_titles(self, titles: Sequence[Sequence[str]]) -> None:
        if titles:
            shown = "; ".join(next(filter(None, row)) for row in titles[:3])
            self.notes.append(
                f"{self.path}: {counted(len(titles), 'line')} above the header left out, as "
                f"{'they have' if len(titles) > 1 else 'it has'} fewer cells: {shown}"
            )

    def _note_numbers_as_names(self, first: Sequence[str], is_guess: bool) -> None:
        if is_guess and all(name.isdecimal() for name in first if name):
            self.notes.append(
                f"{self.path}: the first line ({_first_cells(first)}) is taken for names of "
                "columns; pass --no-header (in Python header=False) if it holds data"
            )

    def _note_missing_header(self, first: Sequence[str], is_guess: bool) -> None:
        if is_guess:
            self.notes.append(
                f"{self.path}: the first line ({_first_cells(first)}) is taken for data, not for "
                f"names: the columns are named column_1 to column_{len(first)}; pass --header (in "
                "Python header=True) if it holds names"
            )

    def read(self, categorical: Set[str] = frozenset(), labels: Set[str] = frozenset()) -> Columns:
        """Read all rows; columns with a cell that is no plain number are categorical.

        The cells of labels are texts. Only an empty one is missing.
        """
        count, n_columns = self.count, len(self.names)
        coders = {
            place: TextCodes(count, {""} if name in labels else MISSING)
            for place, name in enumerate(self.names)
            if name in categorical or name in labels
        }
        late: dict[int, TextCodes] = {}  # columns whose first text is not in the first chunk
        commas: dict[int, DecimalCommas] = {}
        blocks: list[FloatArray] = []
        dotted = dict.fromkeys(set(range(n_columns)) - set(coders), False)
        n_rows = 0
        for chunk in self._chunks(note_empty_rows=True):
            count.add(len(chunk) * n_columns)
            block = np.empty((len(chunk), n_columns))
            for place, cells in enumerate(zip(*chunk, strict=True)):
                if place in coders:
                    block[:, place] = coders[place].encode(cells)
                elif place not in late:
                    numbers = _numbers(cells)
                    if numbers is None and self._decimal_commas:
                        numbers = commas.setdefault(place, DecimalCommas()).read(cells)
                    if numbers is not None:
                        block[:, place] = numbers
                        _look_for_thousands(dotted, place, cells)
                    elif n_rows == 0:
                        coders[place] = TextCodes(count, MISSING)
                        block[:, place] = coders[place].encode(cells)
                    else:
                        late[place] = TextCodes(count, MISSING)
            blocks.append(block)
            n_rows += len(chunk)
        if not blocks:
            raise ValueError(
                f"{self.path}: no rows after the header; add rows to the table, or, if its only "
                "line holds data, a first line with the names of the columns"
            )
        for place, found in commas.items():
            # With points there may be separators of thousands, too: all texts are compared.
            if place not in coders and (not found.example or dotted.get(place) is not False):
                late.setdefault(place, TextCodes(count, MISSING))
        commas = {p: found for p, found in commas.items() if p not in coders and p not in late}
        if commas:
            notes = [found.note(self.names[place]) for place, found in sorted(commas.items())]
            self.notes.append(f"{self.path}: {joined_notes(notes)}")
        table = join_blocks(blocks, n_rows, n_columns)
        if late:  # their first rows were read as numbers: read them again as texts
            start = 0
            for chunk in self._chunks():
                rows = slice(start, start + len(chunk))
                for place, coder in late.items():
                    table[rows, place] = coder.encode([row[place] for row in chunk])
                start += len(chunk)
        categories = {}
        for place, coder in sorted({**coders, **late}.items()):
            table[:, place], categories[place] = coder.sort(table[:, place])
        thousands = [p for p, is_dotted in dotted.items() if is_dotted and p not in late]
        if thousands and (commas or any(map(_has_decimal_commas, categories.values()))):
            self._read_thousands(table, thousands)
        return self._without_unnamed(Columns(tuple(self.names), table, categories))

    def _without_unnamed(self, columns: Columns) -> Columns:
        """Remove columns without a name that are empty or count the rows."""
        dropped = []
        for place in sorted(self._unnamed):
            values = columns.cells[:, place]
            count_from = values[0] if place not in columns.categories and len(values) else None
            is_count = count_from in (0, 1) and bool(
                np.array_equal(values, np.arange(len(values)) + count_from)
            )
            if is_count or np.isnan(values).all():
                dropped.append(place)
                what = "counts the rows" if is_count else "is empty"
                self.notes.append(
                    f"{self.path}: column {place + 1} has no name and {what}; it is left out"
                )
        kept = [place for place in range(len(columns.names)) if place not in dropped]
        return columns.select(kept) if dropped and kept else columns

    def _read_thousands(self, table: FloatArray, places: Sequence[int]) -> None:
        """Read columns again whose points are separators of thousands: others have commas."""
        start = 0
        for chunk in self._chunks():
            for place in places:
                numbers = _numbers([row[place].replace(".", "") for row in chunk])
                table[start : start + len(chunk), place] = numbers
            start += len(chunk)
        names = ", ".join(repr(self.names[place]) for place in places)
        self.notes.append(
            f"{self.path}: the points of {names} are read as separators of thousands (1.500 is "
            "1500), because other columns have decimal commas"
        )

    def _chunks(self, *, note_empty_rows: bool = False) -> Iterator[list[list[str]]]:
        """Yield lists of rows of stripped cells; empty lines are left out."""
        n_columns = len(self.names)
        size = max(1, _CHUNK_CELLS // n_columns)
        n_empty, n_skipped = 0, 0
        with self._rows() as rows:
            chunk = []
            for line, raw in rows:
                row = [cell.strip() for cell in raw]
                # In a table of one column, a quoted empty cell is a missing value.
                if not any(row) and (n_columns > 1 or not row):
                    n_empty += bool(row)
                    continue
                if n_skipped < self._n_skipped:  # titles and the header
                    n_skipped += 1
                    continue
                if len(row) != n_columns:
                    row = self._fitted(row, line)
                chunk.append(row)
                if len(chunk) == size:
                    yield chunk
                    chunk = []
            if chunk:
                yield chunk
        if n_empty and note_empty_rows and not self._pads_rows:
            verb = "is" if n_empty == 1 else "are"
            rows_without = f"{counted(n_empty, 'row')} without any value"
            self.notes.append(f"{self.path}: {rows_without} {verb} left out")

    def _fitted(self, row: list[str], line: int) -> list[str]:
        """Return a row without empty cells beyond the header; rows of workbooks are filled up."""
        n_columns = len(self.names)
        while len(row) > n_columns and not row[-1]:
            row.pop()
        if self._pads_rows:
            row += [""] * (n_columns - len(row))
        if len(row) != n_columns:
            advice = "put cells that contain the delimiter in quotes, or give the delimiter"
            if self._pads_rows:
                advice = (
                    "name all columns there, or remove further cells, or lines above the header"
                )
            elif len(row) < n_columns:
                advice = "fill the line up, remove it if it is no row, or give the delimiter"
            raise ValueError(
                f"{self.path}, line {line}: {counted(len(row), 'cell')} where the header has "
                f"{n_columns}; {advice}"
            )
        return row


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    """Return plain numbers, None if a cell is none; whole numbers with a leading zero are codes."""
    text = "\n".join(cells)
    if "_" in text or not text.isascii() or has_codes(text):
        return None
    try:
        return np.array(["nan" if cell in MISSING else cell for cell in cells], dtype=float)
    except ValueError:
        return None


def _look_for_thousands(dotted: dict[int, bool], place: int, cells: Sequence[str]) -> None:
    """Note whether a column has points, all of which may be separators of thousands."""
    if place not in dotted:
        return
    points = [cell for cell in cells if "." in cell]
    if not all(map(_THOUSANDS.fullmatch, points)):
        del dotted[place]
    elif points:
        dotted[place] = True


def _has_decimal_commas(texts: Sequence[str]) -> bool:
    """Return whether texts are numbers with decimal commas, and cannot be others."""
    return [each.form for each in number_formats(texts)] == [DECIMAL_COMMA]


def _first_cells(cells: Sequence[str]) -> str:
    return ", ".join(cells[:4]) + (", ..." if len(cells) > 4 else "")
