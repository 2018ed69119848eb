"""Parsing many rows of an ARFF file at once; other rows are left to rows.py."""

import re
from collections.abc import Sequence

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.datasets.arff.digits import NotPlain, parse_sparse_rows, parse_table
from pairmend.datasets.arff.model import ArffAttribute

_ODD = re.compile(r"['\"\\%_]")
_PLAIN_SPARSE = re.compile(
    r"\{\s*+(?:[0-9]++\s++[^\s,{}]++\s*+(?:,\s*+[0-9]++\s++[^\s,{}]++\s*+)*+)?\}"
)
_SMALL_INTEGER = re.compile(r"0|[1-9][0-9]{0,3}")
_LONG_LINE = 2**20


class _Values:
    """The values of nominal columns that share them."""

    def __init__(self, values: tuple[str, ...]):
        self.place = {value: float(place) for place, value in enumerate(values)}
        self.place["?"] = np.nan  # unquoted, whatever the values are
        self.by_number: FloatArray | None = None
        if values and all(map(_SMALL_INTEGER.fullmatch, values)):
            numbers = [int(value) for value in values]
            if max(numbers) < 16 + 8 * len(values):  # a table in proportion to the values
                self.by_number = np.full(max(numbers) + 1, np.nan)
                self.by_number[numbers] = np.arange(len(values))

    def of_numbers(self, numbers: FloatArray, plain: bool | np.ndarray) -> FloatArray:
        """Turn values that were read as numbers into places."""
        if self.by_number is None or not np.all(
            plain & (numbers >= 0) & (numbers < len(self.by_number))
        ):
            raise NotPlain
        places = self.by_number[numbers.astype(np.intp)]
        if np.isnan(places).any():
            raise NotPlain
        return places

    def of_texts(self, texts: list[str]) -> FloatArray:
        """Turn values into places."""
        try:
            return np.array([self.place[text] for text in texts], dtype=float)
        except KeyError:
            pass
        try:
            return np.array([self.place[text.strip()] for text in texts], dtype=float)
        except KeyError:
            raise NotPlain from None


class BulkParser:
    """Turns lists of plain lines into arrays; raises NotPlain for all other lines.

    Lines of plain numbers are parsed by :mod:`~pairmend.datasets.arff.digits`; other lines
    without quotes are split into texts. Strings, dates and nested relations are never plain.
    """

    def __init__(self, attributes: Sequence[ArffAttribute]):
        self.applies = all(a.kind in ("numeric", "nominal") for a in attributes)
        self.n_columns = len(attributes)
        kinds = [a.values if a.kind == "nominal" else None for a in attributes]
        # Columns with the same values share a table; None stands for numbers.
        number = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
        self.table_of_column = np.array([number[kind] for kind in kinds])
        self.tables = [None if values is None else _Values(values) for values in number]
        self.columns_of_table = _places(self.table_of_column)

    def dense(self, lines: list[str]) -> FloatArray:
        """Parse dense rows into an array."""
        self._check_commas(lines)
        try:
            return self._dense_numbers(_as_bytes(lines))
        except NotPlain:
            return self._dense_texts(lines)

    def sparse(self, lines: list[str]) -> tuple[IntArray, FloatArray, IntArray]:
        """Parse sparse rows; returns columns and values of cells, and their number a row."""
        self._check_commas(lines)
        try:
            columns, values, counts = self._sparse_numbers(_as_bytes(lines))
        except NotPlain:
            columns, values, counts = self._sparse_texts(lines)
        return columns, values, counts

    def _dense_numbers(self, text: bytes) -> FloatArray:
        self._check_applies()
        values, lengths = parse_table(text, self.n_columns)
        for number, mine in self.columns_of_table.items():
            table = self.tables[number]
            if table is not None:
                found = values[:, mine]
                # "1", not "1.0", "01" or "-0": a value's own text.
                own = lengths[:, mine] == np.floor(np.log10(np.maximum(found, 1))) + 1
                values[:, mine] = table.of_numbers(found, own)
        return values

    def _sparse_numbers(self, text: bytes) -> tuple[IntArray, FloatArray, IntArray]:
        self._check_applies()
        columns, values, counts, decimals = parse_sparse_rows(text)
        self._check_columns(columns, counts)
        for number, mine in _places(self.table_of_column[columns]).items():
            table = self.tables[number]
            if table is not None:
                values[mine] = table.of_numbers(values[mine], decimals[mine] == 0)
        return columns, values, counts

    def _dense_texts(self, lines: list[str]) -> FloatArray:
        self._check_texts(lines)
        rows = [line.split(",") for line in lines]
        if any(len(row) != self.n_columns for row in rows):
            raise NotPlain
        cells = np.empty((len(rows), self.n_columns))
        for column, texts in enumerate(zip(*rows, strict=True)):
            table = self.tables[self.table_of_column[column]]
            cells[:, column] = _numbers(texts) if table is None else table.of_texts(list(texts))
        return cells

    def _sparse_texts(self, lines: list[str]) -> tuple[IntArray, FloatArray, IntArray]:
        self._check_texts(lines)
        if not all(map(_PLAIN_SPARSE.fullmatch, lines)):
            raise NotPlain
        inner = [line[1:-1] for line in lines]
        counts = np.array([text.count(",") + 1 if text.strip() else 0 for text in inner])
        tokens = " ".join(inner).replace(",", " ").split()
        try:
            columns = np.array(tokens[::2], dtype=np.int64)
        except (ValueError, OverflowError):
            raise NotPlain from None
        self._check_columns(columns, counts)
        texts = tokens[1::2]
        values = np.empty(len(columns))
        for number, mine in _places(self.table_of_column[columns]).items():
            table = self.tables[number]
            chosen = [texts[place] for place in mine]
            values[mine] = _numbers(chosen) if table is None else table.of_texts(chosen)
        return columns, values, counts

    def _check_applies(self) -> None:
        if not self.applies:
            raise NotPlain

    def _check_texts(self, lines: list[str]) -> None:
        self._check_applies()
        if _ODD.search("\n".join(lines)):
            raise NotPlain

    def _check_commas(self, lines: list[str]) -> None:
        """Raise NotPlain for a long line with too many cells: the row parser reads it in part."""
        for line in lines:
            if len(line) > _LONG_LINE and line.count(",") > self.n_columns:
                raise NotPlain

    def _check_columns(self, columns: IntArray, counts: IntArray) -> None:
        """Raise NotPlain for indices that are too large or do not ascend within their row."""
        if columns.size == 0:
            return
        if np.max(columns) >= self.n_columns:
            raise NotPlain
        starts = np.zeros(len(columns) + 1, dtype=bool)
        starts[np.cumsum(counts)] = True
        if not np.all((np.diff(columns) > 0) | starts[1:-1]):
            raise NotPlain


def _places(numbers: IntArray) -> dict[int, IntArray]:
    """Return the positions of each number."""
    if numbers.size == 0:
        return {}
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))


def _as_bytes(lines: list[str]) -> bytes:
    try:
        return ("\n".join(lines) + "\n").encode("ascii")
    except UnicodeEncodeError:
        raise NotPlain from None


def _numbers(texts: Sequence[str]) -> FloatArray:
    if not "".join(texts).isascii():  # digits of other scripts are no ARFF numbers
        raise NotPlain
    try:
        return np.array(texts, dtype=float)
    except ValueError:
        pass
    try:
        numbers = ["nan" if text.strip() == "?" else text for text in texts]
        return np.array(numbers, dtype=float)
    except ValueError:
        raise NotPlain from None
