"""Reading ARFF files: rows of plain numbers many at once, others cell by cell."""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.datasets.data import MultiLabelData, all_features
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits, open_text

# Possessive, so that a quote which never ends takes linear time and no memory.
_QUOTED = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\""
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|[^\s{{]++)\s*+(.+)", re.I | re.DOTALL)
_COMMENT = re.compile(rf"([^%'\"]*+(?:(?:{_QUOTED})[^%'\"]*+)*+)%", re.DOTALL)
_FIRST_OF_ROWS = re.compile(r"^[^\S\n]*+([^\s%])", re.MULTILINE)
_CELL = re.compile(rf"\s*+((?:[0-9]++\s++)?{_QUOTED}|(?:[^\s,'\"][^,]*+)?)\s*+(?:(,)|$)", re.DOTALL)
_SPARSE = re.compile(rf"\{{([^{{}}'\"]*+(?:(?:{_QUOTED})[^{{}}'\"]*+)*+)\}}", re.DOTALL)
_INDEX = re.compile(r"[0-9]{1,18}")
_CELLS_OF_KIND: dict[str, list[str] | None] = {
    "numeric": None, "real": None, "integer": None, "string": [], "date": [],
}  # fmt: skip
_SHORT_NUMBER = re.compile(r"0|[1-9][0-9]?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_PLAIN_CELL = r"[0-9]{1,9}+ [-+.0-9Ee]++"
_PLAIN_SPARSE = re.compile(
    rf"(?:\{{(?:{_PLAIN_CELL}(?:,{_PLAIN_CELL})*+)?\}}\n)*+".encode(), re.DOTALL
)
_EXACT_DIGITS = 15
_POWERS_OF_TEN = 10.0 ** np.arange(_EXACT_DIGITS + 1)
_OF_INTEGERS = b"0123456789.,-\n"
_AS_COMMAS = bytes.maketrans(b" \n", b",,")
_BLOCK = 2**18
"""Characters read at once: the arrays made of them fit into the processor's cache."""
_LONG = 2**20
"""Characters of lines that are not parsed at once: they may hold too many cells."""

Block = tuple[IntArray, FloatArray, IntArray]
"""Columns and values of cells, and the number of cells of each row."""


class _Attribute(dict[str, float]):
    """Numbers by the texts of cells; of texts that are not stored, found when they are read.

    `codes` has the code of each value of a nominal attribute, or of each text so far; it is None
    for an attribute of numbers.
    """

    __slots__ = ("codes", "count", "is_text", "name")

    def __init__(self, name: str, count: CellCount, cells: list[str] | None):
        self["?"] = nan
        self.name, self.count, self.is_text = name, count, cells == []
        self.codes = None if cells is None else {_unquote(c): float(k) for k, c in enumerate(cells)}
        if cells and len(self.codes or ()) < len(cells):
            raise ValueError(f"attribute {name!r} lists a value twice")

    def __missing__(self, text: str) -> float:
        if self.codes is None and text.isascii() and "_" not in text:  # which float accepts
            with suppress(ValueError):
                return float(text)
        cell = text.strip()
        if cell == "?":
            return nan
        if self.codes is not None and cell:
            value = _unquote(cell)
            if self.is_text and value not in self.codes:
                self.count.add(0, texts=1)
                self.codes[value] = float(len(self.codes))
            if value in self.codes:
                if len(self) <= len(self.codes):  # one value can be written in many ways
                    self[text] = self.codes[value]
                return self.codes[value]
        nominal = f"one of {[*islice(self.codes or (), 8)]}"
        expected = "a number" if self.codes is None else "a text" if self.is_text else nominal
        raise ValueError(f"attribute {self.name!r}: expected {expected}, got {cell[:40]!r}")


def read_arff(
    path: Path, limits: ReadLimits, *, encoding: str | None = None
) -> tuple[MultiLabelData, str]:
    """Read all columns of an ARFF file as features, and the name of the relation."""
    reader = _Reader(CellCount(path, limits))
    with open_text(path, limits, encoding) as file:
        try:
            relation = reader.read_header(file)
            while text := file.read(_BLOCK) + file.readline():
                reader.add(text)
            cells = reader.finish()
        except ReadLimitError:
            raise
        except ValueError as error:
            raise ValueError(f"{path}, line {reader.line}: {error}") from None
    attributes = reader.attributes.values()
    categories = {c: tuple(a.codes) for c, a in enumerate(attributes) if a.codes is not None}
    return all_features(path, cells, tuple(reader.attributes), categories), relation


class _Reader:
    """Reads one file; `line` is the number of the line, for messages."""

    def __init__(self, count: CellCount):
        self.count, self.line = count, 1
        self.attributes: dict[str, _Attribute] = {}
        self._is_sparse: bool | None = None
        self._blocks: list[Block] = []

    def read_header(self, file: IO[str]) -> str:
        """Read the lines up to @data; return the name of the relation."""
        relation = ""
        for line in self._lines(file):
            comment = _COMMENT.match(line) if "%" in line else None
            text = line if comment is None else comment[1].rstrip()
            word = text.split(maxsplit=1)[0].lower()
            if word == "@data":
                self._prepare()
                return relation
            if word == "@relation":
                relation = _unquote(text[len(word) :].strip())
            elif word == "@attribute":
                self._read_attribute(text)
            else:
                raise ValueError(f"expected @relation, @attribute or @data, got {text[:40]!r}")
        raise ValueError("the file ends before @data")

    def _lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines that are neither empty nor comments, without spaces around them."""
        first = self.line
        for self.line, line in enumerate(lines, first):
            stripped = line.strip()
            if stripped and not stripped.startswith("%"):
                yield stripped

    def _read_attribute(self, line: str) -> None:
        match = _ATTRIBUTE.fullmatch(line)
        if match is None:
            raise ValueError(f"expected '@attribute name type', got {line[:80]!r}")
        name, kind = _unquote(match[1]), match[2].strip()
        if name in self.attributes:
            raise ValueError(f"two attributes are named {name!r}")
        if kind.startswith("{"):
            inside, brace, rest = kind[1:].rpartition("}")
            split = _split(inside, self.count.texts_left) if brace and not rest.strip() else [""]
            cells: list[str] | None = [cell.strip() for cell in split]
        else:
            cells = _CELLS_OF_KIND.get(kind.split(maxsplit=1)[0].lower(), [""])
        self.count.add(0, columns=1, texts=len(cells or ()))
        if cells and "" in cells:
            raise ValueError(
                f"attribute {name!r} is of the unknown type {kind[:40]!r}; expected numeric, real, "
                "integer, string, date or a list of values in braces, none of them empty"
            )
        self.attributes[name] = _Attribute(name, self.count, cells)

    def _prepare(self) -> None:
        """Prepare for rows: the code of each number up to 99 in each group, -1 for none."""
        if not self.attributes:
            raise ValueError("@data before any @attribute")
        self.line += 1
        self._columns = list(self.attributes.values())
        self._is_nominal = np.array([each.codes is not None for each in self._columns])
        groups: dict[tuple[str, ...], int] = {}  # of columns with the same values
        values = (tuple(each.codes or ()) for each in self._columns)
        self._groups = np.array([groups.setdefault(each, len(groups)) for each in values])
        self._is_plain = not any(each.is_text for each in self._columns) and all(
            map(_SHORT_NUMBER.fullmatch, chain.from_iterable(groups))
        )
        if self._is_plain:
            self._codes = np.full((len(groups), 100), -1, dtype=np.int8)
            for numbers, group in groups.items():
                self._codes[group, [int(number) for number in numbers]] = range(len(numbers))

    def add(self, text: str) -> None:
        """Read the rows of a text of whole lines."""
        if self._is_sparse is None:
            first = _FIRST_OF_ROWS.search(text)
            self._is_sparse = None if first is None else first[1] == "{"
        block = None
        if self._is_plain and text.isascii() and len(text) < _LONG:
            bare = text.strip("\n")
            data = (bare.replace(", ", ",") if " " in bare else bare).encode() + b"\n"
            block = self._plain_sparse(data) if self._is_sparse else self._plain_dense(data)
        if block is not None:
            self.line += text.count("\n")
        columns, values, counts = block or self._cell_by_cell(text.split("\n"))
        self.count.add(2 * len(values) + len(counts) if self._is_sparse else len(values))
        self._blocks.append((columns.astype(np.int32), values, counts))

    def finish(self) -> Matrix:
        """Return the cells of all rows."""
        shape = sum(len(counts) for _, _, counts in self._blocks), len(self._columns)
        if not shape[0]:
            raise ValueError("no data rows after @data")
        columns, values, counts = map(np.concatenate, zip(*self._blocks, strict=True))
        self._blocks.clear()
        if not self._is_sparse:
            return values.reshape(shape)
        if any(each.is_text for each in self._columns):
            raise ValueError("an attribute holds texts in a sparse file, which are not read")
        # Trees of scikit-learn accept 32-bit indices only.
        dtype = np.int32 if max(len(columns), *shape) < 2**31 else np.int64
        places = columns.astype(dtype), np.append(0, np.cumsum(counts)).astype(dtype)
        return sparse.csr_array((values, *places), shape=shape)

    def _plain_dense(self, data: bytes) -> Block | None:
        """Parse lines of plain numbers between commas; return None for other lines."""
        n_columns, n_lines = len(self._columns), data.count(b"\n")
        values, ends, lengths = parse_numbers(data)
        last = ends[n_columns - 1 :: n_columns]
        if len(values) != n_lines * n_columns or (np.frombuffer(data, np.uint8)[last] != 10).any():
            return None
        shape = n_lines, n_columns
        if not self._to_codes(np.arange(n_columns), values.reshape(shape), lengths.reshape(shape)):
            return None
        return ends[:0], values, np.full(n_lines, n_columns)

    def _plain_sparse(self, data: bytes) -> Block | None:
        """Parse lines like ``{3 1,17 0.5}``; return None for other lines."""
        if not _PLAIN_SPARSE.fullmatch(data):
            return None
        characters = np.frombuffer(data, dtype=np.uint8)
        line_ends, spaces = (np.flatnonzero(characters == ord(sign)) for sign in "\n ")
        counts = np.diff(np.searchsorted(spaces, line_ends), prepend=0)
        numbers, _, lengths = parse_numbers(data.replace(b"{}\n", b"").translate(_AS_COMMAS, b"{}"))
        if len(numbers) != 2 * len(spaces):
            return None
        columns, values = numbers[::2].astype(np.int64), numbers[1::2].copy()
        starts = np.zeros(len(columns) + 1, dtype=bool)
        starts[np.cumsum(counts)] = True
        ascend = (np.diff(columns) > 0) | starts[1:-1]
        if not (ascend.all() and (columns < len(self._columns)).all()):
            return None
        return (columns, values, counts) if self._to_codes(columns, values, lengths[1::2]) else None

    def _to_codes(self, columns: IntArray, values: FloatArray, lengths: IntArray) -> bool:
        """Turn numbers of nominal columns into codes; return whether all are values.

        Values are at most 99: no other text of the same number is as long, such as 01 or 1.0.
        """
        mine = self._is_nominal[columns]
        found = values[..., mine]
        if not ((found >= 0) & (found < 100) & (lengths[..., mine] == 1 + (found >= 10))).all():
            return False
        codes = self._codes[self._groups[columns[mine]], found.astype(np.intp)]
        values[..., mine] = codes
        return bool((codes >= 0).all())

    def _cell_by_cell(self, lines: Sequence[str]) -> Block:
        """Parse lines of any kind."""
        columns: list[int] = []
        values: list[float] = []
        counts: list[int] = []
        for line in self._lines(lines):
            if line.startswith("{") != self._is_sparse:
                raise ValueError("dense and sparse rows in one file")
            attributes = self._columns
            if self._is_sparse:
                places, cells = self._sparse_row(line)
                attributes = [attributes[place] for place in places]
                columns += places
            elif len(cells := _split(line, len(attributes))) != len(attributes):
                raise ValueError(
                    f"{len(cells)} values where {len(attributes)} attributes are declared"
                )
            values += [each[cell] for each, cell in zip(attributes, cells, strict=True)]
            counts.append(len(cells))
        return np.array(columns, dtype=np.int64), np.array(values), np.array(counts, dtype=np.int64)

    def _sparse_row(self, line: str) -> tuple[list[int], list[str]]:
        match = _SPARSE.fullmatch(line)
        if match is None:
            raise ValueError("a sparse row must be '{index value, ...}' without a weight")
        n_columns, columns, values = len(self._columns), [-1], []
        for cell in _split(match[1], n_columns) if match[1].strip() else ():
            index, *value = cell.split(maxsplit=1)[:2] or [""]
            if not value or not _INDEX.fullmatch(index) or not columns[-1] < int(index) < n_columns:
                raise ValueError(
                    f"expected 'index value' with ascending indices below {n_columns}, got "
                    f"{cell.strip()[:40]!r}"
                )
            columns.append(int(index))
            values += value
        return columns[1:], values


def parse_numbers(data: bytes) -> tuple[FloatArray, IntArray, IntArray]:
    """Parse numbers, each before a comma or newline; return none if one is no number.

    Also return the places of these signs, and the lengths of the numbers.

    A number of at most 15 digits is an integer divided by a power of ten, both exact in double
    precision, so the division gives the same float as parsing it would, and sooner.
    """
    exponents = data.translate(None, _OF_INTEGERS)
    characters = np.frombuffer(data, dtype=np.uint8)
    is_end = (characters == ord(",")) | (characters == ord("\n"))
    ends = np.flatnonzero(is_end)
    nothing = np.empty(0), ends, ends
    if exponents.translate(None, b"+eE"):
        return nothing
    dots, signs = np.flatnonzero(characters == ord(".")), np.flatnonzero(characters == ord("-"))
    number_of = np.cumsum(is_end, dtype=np.int32)
    with_dot, with_sign = number_of[dots], number_of[signs]
    lengths = np.diff(ends, prepend=-1) - 1
    digits = lengths.copy()
    digits[with_dot] -= 1
    digits[with_sign] -= 1
    if digits.min(initial=1) < 1:
        return nothing
    is_plain = lengths.max(initial=0) <= _EXACT_DIGITS and not exponents
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what numpy < 2.4 has for an error
        try:
            if not is_plain or (np.diff(with_dot) == 0).any():
                return np.fromstring(data[:-1].translate(_AS_COMMAS), sep=","), ends, lengths
            digits_only = data[:-1].translate(_AS_COMMAS, b".")
            integers = np.fromstring(digits_only, dtype=np.int64, sep=",")
        except (DeprecationWarning, ValueError):
            return nothing
    decimals = np.zeros(len(ends), dtype=np.intp)
    decimals[with_dot] = ends[with_dot] - dots - 1
    values = integers / _POWERS_OF_TEN[decimals]
    values[with_sign] = -np.abs(values[with_sign])  # an integer has no negative zero
    return values, ends, lengths


def _split(text: str, at_most: int) -> list[str]:
    """Split at commas that are not quoted; cells keep quotes, and may have spaces around.

    Of more than `at_most` cells, the first `at_most` and the unsplit rest are returned.
    """
    if "'" not in text and '"' not in text:
        return text.replace(", ", ",").split(",", at_most)
    cells: list[str] = []
    position = 0
    while len(cells) <= at_most:
        match = _CELL.match(text, position)
        if match is None:
            raise ValueError(
                f"expected values separated by commas at {text[position : position + 40]!r}"
            )
        cells.append(match[1].rstrip())
        position = match.end()
        if match[2] is None:
            break
    return cells


def _unquote(text: str) -> str:
    """Remove quotes and escapes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPES.get(escaped, escaped)
