"""Parsing the rows of an ARFF file: rows of plain numbers many at once, others cell by cell."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.datasets.limits import CellCount

# Possessive, so that a quote which never ends takes linear time and no memory.
QUOTED = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\""
_CELL = re.compile(rf"\s*+({QUOTED}|(?:[^\s,'\"][^,]*+)?)\s*+(?:(,)|$)", re.DOTALL)
_SPARSE = re.compile(rf"\{{([^{{}}'\"]*+(?:(?:{QUOTED})[^{{}}'\"]*+)*+)\}}", re.DOTALL)
_SPARSE_CELL = re.compile(rf"\s*+([0-9]++)\s++({QUOTED}|[^\s,'\"][^,]*+)\s*+(?:,|$)", re.DOTALL)
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?|nan)", re.I
)
_NOT_OF_NUMBERS = re.compile(r"[^-+.0-9EINFATYeinfaty? \t]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_QUOTING = re.compile(r"['\"\\]")
_PLAIN_CELL = r"[0-9]{1,9}+ [-+.0-9Ee]++"
_PLAIN_SPARSE = re.compile(
    rf"(?:\{{(?:{_PLAIN_CELL}(?:,{_PLAIN_CELL})*+)?\}}\n)*+".encode(), re.DOTALL
)
_EXACT_DIGITS = 15
_POWERS_OF_TEN = 10.0 ** np.arange(_EXACT_DIGITS + 1)
_OF_INTEGERS = b"0123456789.,-\n"
_AS_COMMAS = bytes.maketrans(b" \n", b",,")
_LONG = 2**20
"""Characters of many lines; a line as long may hold too many cells."""
_SHORT_NUMBER = re.compile(r"0|[1-9][0-9]?")


class LineError(ValueError):
    """What is wrong in a line of an ARFF file."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class ArffAttribute:
    """One attribute of an ARFF file: strings and dates are texts, real and integer numeric."""

    name: str
    kind: Literal["numeric", "nominal", "text"]
    values: tuple[str, ...] = ()


class Rows:
    """Collects the data rows of a file; `texts` holds the code of each text by column."""

    def __init__(self, attributes: Sequence[ArffAttribute], count: CellCount):
        self.attributes, self.count = attributes, count
        self.texts: dict[int, dict[str, int]] = {}
        # Columns of a group are converted together: all of numbers, and those of the same values.
        keys: list[Any] = [c if a.kind == "text" else a.values for c, a in enumerate(attributes)]
        groups = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        self._group_of_column = np.array([groups[key] for key in keys])
        self._codes_of_numbers = [_codes_of_numbers(values) for values in groups]
        self._is_plain = all(codes is not None for codes in self._codes_of_numbers)
        self._codes_of_values: dict[int, tuple[dict[str, float], dict[str, float]]] = {}
        self._is_sparse: bool | None = None
        self._blocks: list[tuple[IntArray, FloatArray, IntArray]] = []
        self._n_rows = self._line = 0

    def add(self, number: int, text: str) -> None:
        """Add the rows of a text, whose first line has a number."""
        self._line = number
        if self._is_sparse is None:
            first = next(text_lines(number, text), None)
            if first is None:
                return
            self._is_sparse = first[1].startswith("{")
        block = None
        if self._is_plain and text.isascii():
            bare = text.strip("\n")
            data = (bare.replace(", ", ",") if " " in bare else bare).encode() + b"\n"
            block = self._plain_sparse(data) if self._is_sparse else self._plain_dense(data)
        columns, values, counts = block or self._cell_by_cell(number, text)
        self.count.add(2 * len(values) + len(counts) if self._is_sparse else len(values))
        self._blocks.append((columns.astype(np.int32), values, counts))
        self._n_rows += len(counts)

    def finish(self) -> Matrix:
        """Return the cells of all rows."""
        if not self._n_rows:
            raise LineError(max(self._line - 1, 1), "no data rows after @data")
        shape = (self._n_rows, len(self.attributes))
        if self._is_sparse:
            columns, values, counts = map(np.concatenate, zip(*self._blocks, strict=True))
            indptr = np.concatenate([[0], np.cumsum(counts)])
            # Trees of scikit-learn accept 32-bit indices only.
            small = max(len(columns), *shape) <= np.iinfo(np.int32).max
            places = (part.astype(np.int32 if small else np.int64) for part in (columns, indptr))
            return sparse.csr_array((values, *places), shape=shape)
        cells, end = np.empty(shape), self._n_rows
        while self._blocks:  # each block is freed as soon as it is copied
            _, values, counts = self._blocks.pop()
            cells[end - len(counts) : end] = values.reshape(-1, shape[1])
            end -= len(counts)
        return cells

    def _plain_dense(self, data: bytes) -> tuple[IntArray, FloatArray, IntArray] | None:
        """Parse lines of plain numbers between commas; return None for other lines."""
        n_columns = len(self.attributes)
        is_long = len(data) > _LONG and data.count(b",") > data.count(b"\n") * n_columns
        if is_long:
            return None
        values, ends, lengths = parse_numbers(data)
        is_newline = np.frombuffer(data, dtype=np.uint8) == ord("\n")
        n_lines, last = np.count_nonzero(is_newline), ends[n_columns - 1 :: n_columns]
        if len(values) != n_lines * n_columns or not is_newline[last].all():
            return None
        table = values.reshape(n_lines, n_columns)
        lengths = lengths.reshape(n_lines, n_columns)
        for group, columns in _places(self._group_of_column):
            if not self._to_codes(group, table, lengths, np.s_[:, columns]):
                return None
        return ends[:0], values, np.full(n_lines, n_columns)

    def _plain_sparse(self, data: bytes) -> tuple[IntArray, FloatArray, IntArray] | None:
        """Parse lines like ``{3 1,17 0.5}``; return None for other lines."""
        is_long = len(data) > _LONG and data.count(b" ") > data.count(b"\n") * len(self.attributes)
        if is_long or not _PLAIN_SPARSE.fullmatch(data):
            return None
        characters = np.frombuffer(data, dtype=np.uint8)
        line_ends, spaces = (np.flatnonzero(characters == ord(sign)) for sign in "\n ")
        counts = np.diff(np.searchsorted(spaces, line_ends), prepend=0)
        numbers, _, lengths = parse_numbers(data.replace(b"{}\n", b"").translate(_AS_COMMAS, b"{}"))
        columns, values = numbers[::2].astype(np.int64), numbers[1::2].copy()
        if len(numbers) != 2 * len(spaces) or not self._ascend(columns, counts):
            return None
        for group, mine in _places(self._group_of_column[columns]):
            if not self._to_codes(group, values, lengths[1::2], mine):
                return None
        return columns, values, counts

    def _to_codes(self, group: int, values: FloatArray, lengths: IntArray, mine: Any) -> bool:
        """Turn numbers of a group into codes of its values; return whether all are values.

        Values are at most 99: no other text of the same number is as long, such as 01 or 1.0.
        """
        codes = self._codes_of_numbers[group]
        if codes is None or not len(codes):
            return codes is not None
        found = values[mine]
        if not ((found >= 0) & (found < len(codes)) & (lengths[mine] == 1 + (found >= 10))).all():
            return False
        values[mine] = found = codes[found.astype(np.intp)]
        return not np.isnan(found).any()

    def _ascend(self, columns: IntArray, counts: IntArray) -> bool:
        """Return whether indices of columns are small enough and ascend within their rows."""
        starts = np.zeros(len(columns) + 1, dtype=bool)
        starts[np.cumsum(counts)] = True
        ascend = (np.diff(columns) > 0) | starts[1:-1]
        return bool(ascend.all() and (columns < len(self.attributes)).all())

    def _cell_by_cell(self, number: int, text: str) -> tuple[IntArray, FloatArray, IntArray]:
        """Parse lines of any kind."""
        columns: list[int] = []
        texts: list[str] = []
        counts: list[int] = []
        lines: list[int] = []
        parse = self._sparse_row if self._is_sparse else self._dense_row
        for place, line in text_lines(number, text):
            if line.startswith("{") != self._is_sparse:
                raise LineError(place, "dense and sparse rows in one file")
            try:
                found, cells = parse(line)
            except ValueError as error:
                raise LineError(place, str(error)) from None
            if self._is_sparse:
                columns += found
            texts += cells
            counts.append(len(cells))
            lines.append(place)
        places, values = np.array(columns, dtype=np.int64), np.empty(len(texts))
        groups = _places(self._group_of_column[places])
        if texts and not self._is_sparse:
            starts = np.arange(0, len(texts), len(self.attributes))[:, np.newaxis]
            groups = ((c, (starts + mine).ravel()) for c, mine in _places(self._group_of_column))
        line_of_cell = np.repeat(lines, counts)
        for _, mine in groups:
            column = int(places[mine[0]] if self._is_sparse else mine[0])
            own = list(map(texts.__getitem__, mine.tolist()))
            values[mine] = self._convert(column, own, line_of_cell[mine])
        return places, values, np.array(counts, dtype=np.int64)

    def _dense_row(self, line: str) -> tuple[Sequence[int], list[str]]:
        n_columns = len(self.attributes)
        cells = split(line, n_columns)
        if len(cells) != n_columns:
            raise ValueError(f"{len(cells)} values where {n_columns} attributes are declared")
        return range(n_columns), cells

    def _sparse_row(self, line: str) -> tuple[Sequence[int], list[str]]:
        match = _SPARSE.fullmatch(line)
        if match is None:
            raise ValueError("a sparse row must be '{index value, ...}' without a weight")
        columns: list[int] = []
        cells: list[str] = []
        text, position = match[1].strip(), 0
        while position < len(text):
            cell = _SPARSE_CELL.match(text, position)
            if cell is None or len(cell[1]) > 18 or int(cell[1]) >= len(self.attributes):
                raise ValueError(
                    f"expected 'index value' with an index below {len(self.attributes)}, got "
                    f"{text[position : position + 40].split(',')[0].strip()!r}"
                )
            if columns and int(cell[1]) <= columns[-1]:
                raise ValueError(f"index {cell[1]} after {columns[-1]}: indices must ascend")
            columns.append(int(cell[1]))
            cells.append(cell[2].rstrip())
            position = cell.end()
        if text.endswith(","):
            raise ValueError("a comma without a cell after it")
        return columns, cells

    def _convert(self, column: int, texts: list[str], lines: IntArray) -> Any:
        """Turn cells of a column, or of several of its group, into numbers."""
        attribute = self.attributes[column]
        if attribute.kind == "numeric":
            codes: Any = _read_numbers(texts)
            expected = "a number"
        elif attribute.kind == "nominal":
            codes = self._read_values(column, texts)
            more = ", ..." if len(attribute.values) > 8 else ""
            expected = f"one of {{{', '.join(map(repr, attribute.values[:8]))}{more}}}"
        else:
            codes = self._read_texts(column, texts)
            expected = "a value"
        if isinstance(codes, list) and None in codes:
            place = codes.index(None)
            text = texts[place].strip()[:40]
            problem = f"attribute {attribute.name!r}: expected {expected}, got {text!r}"
            raise LineError(int(lines[place]), problem)
        return codes

    def _read_values(self, column: int, texts: list[str]) -> list[float | None]:
        """Return codes of values, None for other texts."""
        values, group = self.attributes[column].values, int(self._group_of_column[column])
        if group not in self._codes_of_values:
            exact = {value: float(code) for code, value in enumerate(values)}
            bare = {v: code for v, code in exact.items() if not _QUOTING.search(v)}
            self._codes_of_values[group] = (bare | {"?": np.nan}, exact)
        bare, exact = self._codes_of_values[group]
        codes = list(map(bare.get, texts))
        if None in codes:
            pairs = zip(codes, texts, strict=True)
            codes = [
                exact.get(unquote(text)) if code is None else code
                for code, text in ((c, t.strip()) for c, t in pairs)
            ]
        return codes

    def _read_texts(self, column: int, texts: list[str]) -> list[float | None]:
        """Return codes of texts, None for empty cells."""
        codes = self.texts.setdefault(column, {})
        n_texts = len(codes)
        found: list[float | None] = []
        for text in map(str.strip, texts):
            empty = np.nan if text else None
            found.append(
                empty if text in ("", "?") else codes.setdefault(unquote(text), len(codes))
            )
        self.count.add(0, texts=len(codes) - n_texts)
        return found


def _codes_of_numbers(values: Any) -> FloatArray | None:
    """Return the code of each number, empty for numeric columns, None for texts and bags."""
    if not isinstance(values, tuple) or not all(map(_SHORT_NUMBER.fullmatch, values)):
        return None
    codes = np.full(100 if values else 0, np.nan)
    codes[[int(value) for value in values]] = np.arange(len(values))
    return codes


def parse_numbers(data: bytes) -> tuple[FloatArray, IntArray, IntArray]:
    """Parse numbers, each before a comma or newline; return none if one is no number.

    Also return the places of these signs, and the lengths of the numbers.

    A number of at most 15 digits is an integer divided by a power of ten, both exact in double
    precision, so the division gives the same float as parsing it would, and sooner.
    """
    exponents = data.translate(None, _OF_INTEGERS)
    if exponents.translate(None, b"+eE"):
        nothing = np.empty(0, dtype=np.intp)
        return np.empty(0), nothing, nothing
    characters = np.frombuffer(data, dtype=np.uint8)
    is_end = (characters == ord(",")) | (characters == ord("\n"))
    ends = np.flatnonzero(is_end)
    dots, signs = np.flatnonzero(characters == ord(".")), np.flatnonzero(characters == ord("-"))
    number_of = np.cumsum(is_end, dtype=np.int32)
    with_dot, with_sign = number_of[dots], number_of[signs]
    lengths = np.diff(ends, prepend=-1) - 1
    digits = lengths.copy()
    digits[with_dot] -= 1
    digits[with_sign] -= 1
    if digits.min(initial=1) < 1:
        return np.empty(0), ends, lengths
    is_plain = lengths.max(initial=0) <= _EXACT_DIGITS and not exponents
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what numpy < 2.4 has for an error
        try:
            if not is_plain or (np.diff(with_dot) == 0).any():
                return np.fromstring(data[:-1].translate(_AS_COMMAS), sep=","), ends, lengths
            digits_only = data[:-1].translate(_AS_COMMAS, b".")
            integers = np.fromstring(digits_only, dtype=np.int64, sep=",")
        except (DeprecationWarning, ValueError):
            return np.empty(0), ends, lengths
    decimals = np.zeros(len(ends), dtype=np.intp)
    decimals[with_dot] = ends[with_dot] - dots - 1
    values = integers / _POWERS_OF_TEN[decimals]
    values[with_sign] = -np.abs(values[with_sign])  # an integer has no negative zero
    return values, ends, lengths


def _read_numbers(texts: list[str]) -> FloatArray | list[float | None]:
    """Parse numbers and ?, None for other texts."""
    if not _NOT_OF_NUMBERS.search("".join(texts)):
        with suppress(ValueError):
            return np.array(["nan" if text == "?" else text for text in texts], dtype=float)
    cells = map(str.strip, texts)
    return [
        np.nan if text == "?" else float(text) if _NUMBER.fullmatch(text) else None
        for text in cells
    ]


def _places(numbers: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each number with its positions."""
    if not len(numbers):
        return
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def text_lines(number: int, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, without spaces around them."""
    for place, line in enumerate(text.split("\n"), number):
        line = line.strip()
        if line and not line.startswith("%"):
            yield place, line


def split(text: str, at_most: int) -> list[str]:
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


def unquote(text: str) -> str:
    """Remove quotes and escapes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPES.get(escaped, escaped)
