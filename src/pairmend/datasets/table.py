"""Rows of texts, of text files and workbooks, as columns of numbers or categories."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.text import counted, is_missing_text
from pairmend._utils.typing import FloatArray
from pairmend.datasets.arff_rows import parse_numbers
from pairmend.datasets.data import MultiLabelData, quoted, set_name
from pairmend.datasets.labels import ChosenLabels, find_labels
from pairmend.datasets.limits import CellCount, ReadLimits, ReadWarning

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value in every column but those of labels."""
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
"""A whole number with a leading zero, as 00501, is a code."""
_CODES = re.compile(r"\n[+-]?0[0-9]+\n")
_SPACES = " \u00a0\u202f"
_CHUNK_CELLS = 2**17
_SAMPLE_ROWS = 100


class Notation:
    """How numbers are written: the decimal sign and the separator of thousands, if any."""

    def __init__(self, decimal: str = ".", thousands: str = ""):
        gap = _SPACES if thousands == " " else thousands
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{gap}]\d{{3}})+)" if gap else r"\d+"
        sign = re.escape(decimal)
        number = rf"(?:{whole}(?:{sign}\d*)?|{sign}\d+)(?:e[+-]?\d+)?"
        self.holds = re.compile(rf"[+-]?(?:{number}|inf)", re.ASCII | re.IGNORECASE).fullmatch
        self._plain = str.maketrans({**dict.fromkeys(gap), decimal: "."})

    @classmethod
    def of(cls, decimal: str | None, thousands: str | None) -> "Notation | None":
        """Return the notation of the options; None if none is given."""
        if decimal is None and thousands is None:
            return None
        decimal = decimal or ("," if thousands == "." else ".")
        if decimal not in (".", ",") or thousands not in (None, *".,' ’") or decimal == thousands:
            raise ValueError(
                "decimal must be '.' or ',', and thousands another one, or \"'\" or ' '; got "
                f"{decimal!r} and {thousands!r}"
            )
        return cls(decimal, thousands or "")

    def parse(self, text: str) -> float:
        """Return a text that is missing or a number in this notation as a number."""
        return nan if is_missing_text(text) else float(text.translate(self._plain))


_PLAIN = Notation()
_UNAMBIGUOUS = (Notation(","), Notation(".", ","))
"""Notations that need no option where all numbers of a column fit only one of them."""
_KNOWN = (_PLAIN, *_UNAMBIGUOUS, *(Notation(d, t) for d, t in (",.", ". ", ", ", ".'", ",'")))


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
    missing: frozenset[Any] = MISSING
    code_of: dict[str, int] = field(default_factory=dict)
    blocks: list[FloatArray] = field(default_factory=list)

    def add(self, texts: Iterable[Any]) -> None:
        """Append cells."""
        code_of, missing, n_before = self.code_of, self.missing, len(self.code_of)
        codes = [nan if t in missing else code_of.setdefault(t, len(code_of)) for t in texts]
        self.blocks.append(np.array(codes, dtype=float))
        self.count.add(0, texts=len(code_of) - n_before)

    def column(self) -> Texts:
        """Return all cells, the texts in alphabetical order."""
        values = tuple(sorted(self.code_of))
        place = np.empty(len(values) + 1)
        place[[self.code_of[value] for value in values]] = np.arange(len(values))
        place[-1] = nan
        return Texts(looked_up(place, np.concatenate([np.empty(0), *self.blocks])), values)


def looked_up(numbers: FloatArray, codes: FloatArray) -> FloatArray:
    """Return the number of each code; the last number for NaN."""
    return numbers[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


def read_table(
    path: Path,
    limits: ReadLimits,
    rows: Callable[[], Iterator[tuple[int, list[str]]]],
    *,
    n_rows: int,
    header_row: int | None,
    notation: Notation | None,
    texts: Sequence[str],
    labels: ChosenLabels,
) -> MultiLabelData:
    """Read rows, each with its number, the header first, as columns of which all are features.

    There are about `n_rows`. The columns of `texts` and `labels` are read as texts.
    """
    sample = [cells for _, cells in islice(rows(), _SAMPLE_ROWS)]
    if not sample:
        raise ValueError(f"{path}: empty; expected a header with the names of the columns")
    if header_row is None:
        _refuse_numbers_as_names(path, sample)
    names, unnamed = _named(path, sample[0], is_header=header_row != 0)
    count = CellCount(path, limits)
    count.add(0, columns=len(names))
    count.check(n_rows * len(names))
    label_names = find_labels(path, names, labels)

    def read(wanted: Sequence[str], as_texts: Iterable[str]) -> dict[str, Column]:
        numbers: dict[str, list[FloatArray]] = {name: [] for name in wanted}
        coders: dict[str, TextCodes] = {}
        late = []
        for name in as_texts:
            if numbers.pop(name, None) is not None:
                empty_only = frozenset({""})
                coders[name] = TextCodes(count, empty_only if name in label_names else MISSING)
        for chunk in _chunks(path, rows(), len(names), is_header=header_row != 0):
            count.add(len(chunk) * len(wanted) if wanted is names else 0)
            for name, cells in zip(names, zip(*chunk, strict=True), strict=True):
                if name in numbers:
                    found = _numbers(cells, notation)
                    if found is not None:
                        numbers[name].append(found)
                    elif numbers.pop(name):
                        late.append(name)  # to be read again as texts
                    else:
                        coders[name] = TextCodes(count)
                if name in coders:
                    coders[name].add(map(str.strip, cells))
        columns: dict[str, Column] = {
            name: np.concatenate([np.empty(0), *blocks]) for name, blocks in numbers.items()
        }
        columns |= {name: coder.column() for name, coder in coders.items()}
        return columns | (read(late, late) if late else {})

    columns = read(names, [*texts, *label_names])
    for name in names:
        column = columns[name]
        if isinstance(column, Texts) and name not in texts and name not in label_names:
            columns[name] = _decoded(path, name, column, notation)
    return table_data(path, {name: columns[name] for name in names}, unnamed)


def table_data(
    path: Path, columns: dict[str, Column], unnamed: Iterable[str] = ()
) -> MultiLabelData:
    """Return columns as features, without those that have neither a name nor a value."""
    cells = {n: c.codes if isinstance(c, Texts) else c for n, c in columns.items()}
    names = [n for n in cells if n not in unnamed or not np.isnan(cells[n]).all()] or list(cells)
    X = np.column_stack([cells[name] for name in names])
    categories = {
        place: column.values
        for place, name in enumerate(names)
        if isinstance(column := columns[name], Texts)
    }
    nothing = np.empty((len(X), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, tuple(names), (), categories, set_name(path), (path,))


def _named(path: Path, cells: list[str], *, is_header: bool) -> tuple[list[str], set[str]]:
    """Return names of columns, and those of columns that the header does not name: numbers."""
    cells = [cell.strip(" \t\r\n\ufeff") if is_header else "" for cell in cells]
    names = [cell or f"column_{place}" for place, cell in enumerate(cells, start=1)]
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(
            f"{path}: two columns are named {twice!r}; rename one of them, or, if the names stand "
            "in another line, or in none, give its number or 0: --header-row N, in Python "
            "header_row=N"
        )
    is_unnamed = zip(names, cells, strict=True)
    return names, {name for name, cell in is_unnamed if is_header and not cell}


def _refuse_numbers_as_names(path: Path, sample: Sequence[Sequence[str]]) -> None:
    """Raise an error for a first row that may hold data.

    It does if one of its cells is a number, or each occurs again in its column.
    """
    first, rest = sample[0], sample[1:]
    repeats = bool(rest) and all(
        any(place < len(row) and row[place] == cell for row in rest)
        for place, cell in enumerate(first)
    )
    if repeats or any(_PLAIN.holds(cell.strip()) for cell in first):
        shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
        raise ValueError(
            f"{path}: the first line ({shown}) may hold names of columns or data; give the number "
            "of the line with the names, 0 if there is none: --header-row N, in Python header_row=N"
        )


def _chunks(
    path: Path, rows: Iterator[tuple[int, list[str]]], n_columns: int, *, is_header: bool
) -> Iterator[list[list[str]]]:
    """Yield rows of the same length, many at once, without those that have no value."""
    n_read = n_empty = 0
    while block := list(islice(rows, max(1, _CHUNK_CELLS // n_columns))):
        chunk = []
        for line, row in block[is_header and n_read == 0 :]:
            if len(row) != n_columns and (
                len(row) < n_columns or any(map(str.strip, row[n_columns:]))
            ):
                raise ValueError(
                    f"{path}, line {line}: {counted(len(row), 'cell')} where the header has "
                    f"{n_columns}; fill the line up, put cells that contain the delimiter in "
                    "quotes, or give the delimiter (--delimiter), or, if the names stand in "
                    "another line, its number: --header-row N, in Python header_row=N"
                )
            if n_columns == 1 or any(map(str.strip, row)):
                chunk.append(row[:n_columns])
        n_read += len(block)
        n_empty += len(block) - len(chunk)
        if chunk:
            yield chunk
    n_empty -= is_header
    if n_read - n_empty == is_header:
        raise ValueError(
            f"{path}: no rows after the header; add rows to the table, or, if its only line holds "
            "data, a first line with the names of the columns"
        )
    if n_empty:
        left_out = f"{counted(n_empty, 'row')} without any value {'is' if n_empty == 1 else 'are'}"
        warnings.warn(f"{path}: {left_out} left out", ReadWarning, stacklevel=2)


def _numbers(cells: Sequence[str], notation: Notation | None) -> FloatArray | None:
    """Return cells as numbers, NaN where missing; None if one is a code or no number."""
    present = [cell for cell in cells if cell not in MISSING]
    text = "\n".join([*present, ""])
    if notation is not None:
        if not all(map(notation.holds, present)) or any(map(_CODE.fullmatch, present)):
            return None
        numbers = np.array(list(map(notation.parse, present)))
    elif not text.isascii() or _CODES.search(f"\n{text}"):
        return None
    else:
        numbers = parse_numbers(text.encode())[0] if present else np.empty(0)
    if len(numbers) != len(present):
        return None
    if len(present) == len(cells):
        return numbers
    found = np.full(len(cells), nan)
    found[[cell not in MISSING for cell in cells]] = numbers
    return found


def _decoded(path: Path, name: str, column: Texts, notation: Notation | None) -> Column:
    """Return a column of texts as numbers if it holds nothing but numbers, else unchanged.

    Without a notation, numbers must be plain, or fit one notation only. Whole numbers with a
    leading zero are codes.
    """
    present = [text for text in column.values if not is_missing_text(text)]
    if any(map(_CODE.fullmatch, present)):
        return column
    if notation is not None:
        fitting = [each for each in (notation,) if all(map(each.holds, present))]
    elif all(map(_PLAIN.holds, present)):
        fitting = [_PLAIN]
    else:
        fitting = [each for each in _UNAMBIGUOUS if all(map(each.holds, present))]
    if len(fitting) == 1:
        return looked_up(np.array([*map(fitting[0].parse, column.values), nan]), column.codes)
    if all(any(each.holds(text) for each in _KNOWN) for text in present):
        examples = sorted(present, key=lambda text: (bool(_PLAIN.holds(text)), len(text)))[:2]
        given = "" if notation is None else " with the given signs"
        raise ValueError(
            f"{path}: the numbers of column {name!r}, such as {quoted(examples)}, are ambiguous or "
            f"written in different ways{given}; give their signs: --decimal SIGN and --thousands "
            "SIGN, in Python decimal=... and thousands=..., or, if they are codes, --categorical "
            f"{name}"
        )
    return column
