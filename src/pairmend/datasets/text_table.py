"""Tables whose cells are texts: header, numbers, categories, missing values."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from pairmend._utils.chunking import join_blocks
from pairmend._utils.typing import FloatArray
from pairmend.datasets.dialect import MISSING, has_header
from pairmend.datasets.limits import CellCount, ReadLimits
from pairmend.datasets.text_codes import TextCodes

Rows = Callable[[], AbstractContextManager[Iterator[tuple[int, list[str]]]]]
"""Opens a file and returns its rows, each with the number of its line."""
_CHUNK_CELLS = 2**19
"""Cells of a chunk of rows."""
_SAMPLE_ROWS = 100
"""Rows from which a missing header is recognised."""


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
            sample_rows = _SAMPLE_ROWS if header is None else 1
            # Empty lines before the header are skipped.
            filled = ([c.strip() for c in row] for _, row in opened if any(map(str.strip, row)))
            sample = list(islice(filled, sample_rows))
        if not sample:
            raise ValueError(f"{path}: empty; expected a header with the names of the columns")
        self._has_header = has_header(sample) if header is None else header
        first = sample[0]
        self.count = CellCount(path, limits)
        self.count.add_columns(len(first))
        if self._has_header:
            self.names = [name or f"column_{n}" for n, name in enumerate(first, start=1)]
            self._unnamed = {place for place, name in enumerate(first) if not name}
            self._check_names()
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

    def _note_missing_header(self, first: Sequence[str], is_guess: bool) -> None:
        if is_guess:
            shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
            self.notes.append(
                f"{self.path}: the first line ({shown}) is taken for data, not for names: the "
                f"columns are named column_1 to column_{len(first)}; pass --header (in Python "
                "header=True) if it holds names"
            )

    def read(self, categorical: Set[str] = frozenset(), labels: Set[str] = frozenset()) -> Columns:
        """Read all rows; columns with a cell that is no number are categorical.

        The cells of labels are texts. Only an empty one is missing.
        """
        count, n_columns = self.count, len(self.names)
        coders = {
            place: TextCodes(count, {""} if name in labels else MISSING)
            for place, name in enumerate(self.names)
            if name in categorical or name in labels
        }
        late: dict[int, TextCodes] = {}  # columns whose first text is not in the first chunk
        blocks: list[FloatArray] = []
        n_rows = 0
        for chunk in self._chunks(note_empty_rows=True):
            count.add(len(chunk) * n_columns)
            block = np.empty((len(chunk), n_columns))
            for place, cells in enumerate(zip(*chunk, strict=True)):
                if place in coders:
                    block[:, place] = coders[place].encode(cells)
                elif place not in late:
                    numbers = self._numbers(cells)
                    if numbers is not None:
                        block[:, place] = numbers
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

    def _numbers(self, cells: Sequence[str]) -> FloatArray | None:
        if self._decimal_commas and any("," in cell for cell in cells):
            return _numbers([cell.replace(",", ".") for cell in cells])
        return _numbers(cells)

    def _chunks(self, *, note_empty_rows: bool = False) -> Iterator[list[list[str]]]:
        """Yield lists of rows of stripped cells; empty lines are left out."""
        n_columns = len(self.names)
        size = max(1, _CHUNK_CELLS // n_columns)
        n_empty, is_first = 0, self._has_header
        with self._rows() as rows:
            chunk = []
            for line, raw in rows:
                row = [cell.strip() for cell in raw]
                # In a table of one column, a quoted empty cell is a missing value.
                if not any(row) and (n_columns > 1 or not row):
                    n_empty += bool(row)
                    continue
                if is_first:  # the header
                    is_first = False
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
            self.notes.append(f"{self.path}: {n_empty} rows without any value are left out")

    def _fitted(self, row: list[str], line: int) -> list[str]:
        n_columns = len(self.names)
        if self._pads_rows:
            while len(row) > n_columns and not row[-1]:
                row.pop()
            row += [""] * (n_columns - len(row))
        if len(row) != n_columns:
            raise ValueError(
                f"{self.path}, line {line}: {len(row)} cells where the header has {n_columns}; "
                "put cells that contain the delimiter in quotes, or give the delimiter"
            )
        return row


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return None
    try:
        return np.array(["nan" if cell in MISSING else cell for cell in cells], dtype=float)
    except ValueError:
        return None
