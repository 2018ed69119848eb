"""Reading text files with delimiters (.csv, .tsv, .txt) by pandas, behind checks of each row."""

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.columns import (
    CODE,
    MISSING,
    PLAIN,
    Column,
    Notation,
    TextCodes,
    decoded,
    may_have_points_of_thousands,
    note_of_points,
)
from pairmend.datasets.files import opened, read_csv, require_pandas
from pairmend.datasets.limits import CellCount, ReadLimits
from pairmend.datasets.warning import ReadWarning

_DELIMITERS = ",;\t|"
_BLOCK = 2**20
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_SAMPLE_ROWS = 100
_CHUNK_CELLS = 2**19
_OTHER_FORMATS = {
    b"PK\x03\x04": "a ZIP archive, as Excel files are; if it is one, rename it to .xlsx",
    b"PAR1": "a Parquet file; rename it to .parquet",
    b"\x1f\x8b": "a gzip file; rename it to .csv.gz",
    b"BZh": "a bzip2 file; rename it to .csv.bz2",
    b"\xfd7zXZ": "an xz file; rename it to .csv.xz",
    b"\xd0\xcf\x11\xe0": "a file of Excel 97; save it as .xlsx or .csv",
    b"%PDF": "a PDF file; export the table as .csv",
}
"""First bytes of files that are no text, and what to do."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark; that of UTF-32 begins with that of UTF-16."""


class TextFile:
    """A text file with delimiters, whose rows have been checked: all have as many cells.

    Attributes
    ----------
    header : Header
        Names of the columns.
    """

    def __init__(
        self,
        path: Path,
        limits: ReadLimits,
        *,
        encoding: str | None,
        delimiter: str | None,
        notation: Notation | None,
        header_row: int | None,
    ):
        require_pandas()
        self.path, self._limits, self._notation = path, limits, notation
        self._encoding = _guess_encoding(path, limits) if encoding is None else encoding
        self._n_above = max(0, (header_row or 0) - 1)
        with self._opened() as file:
            lines = list(islice((line for line in file if line.strip()), _SAMPLE_ROWS))
        self._delimiter = _guess_delimiter(path, lines) if delimiter is None else delimiter
        if len(self._delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        sample: list[list[str]] = []
        try:
            sample.extend([cell.strip() for cell in row] for _, row in self._rows(iter(lines)))
        except ValueError:  # the last of the lines may end inside a cell
            if not sample:
                raise
        if not sample:
            raise ValueError(f"{path}: empty; expected a header with the names of the columns")
        self._has_header = header_row != 0
        self._sample = sample[1:] if self._has_header else sample
        if header_row is None:
            refuse_numbers_as_names(path, sample)
        self.header = Header(path, sample[0], is_header=self._has_header)
        self.names = self.header.names
        self.count = CellCount(path, limits)
        self.count.add_columns(len(self.names))
        self._has_codes, self._width = self._check_rows()

    def columns(
        self, texts: Sequence[str], labels: Sequence[str], notes: list[str]
    ) -> dict[str, Column]:
        """Read all columns; those of `texts` and `labels` as texts. Add notes about columns.

        Columns are numbers if all chunks of rows are numbers for pandas, and else read again as
        texts.
        """
        empty_only = frozenset({""})
        coders = {
            name: TextCodes(self.count, empty_only if name in labels else MISSING)
            for name in self.names
            if name in texts or name in labels
        }
        with_points: set[str] = set()  # or with missing cells
        numbers: dict[str, list[FloatArray]] = {n: [] for n in self.names if n not in coders}
        for chunk in self._chunks(self.names, coders):
            for name, column in chunk.items():
                if name in coders:
                    coders[name].add(column.str.strip())
                elif name in numbers:
                    if column.dtype.kind == "f":
                        with_points.add(name)
                    if column.dtype.kind in "iuf":
                        numbers[name].append(column.to_numpy(dtype=float))
                    else:
                        del numbers[name]
        read = {name: np.concatenate(parts) for name, parts in numbers.items()}
        others = [
            name
            for name in self.names
            if name not in coders
            and self._needs_texts(name, read.get(name), may_have_points=name in with_points)
        ]
        again = {name: TextCodes(self.count, MISSING) for name in others}
        for chunk in self._chunks(others, again) if others else ():
            for name, column in chunk.items():
                again[name].add(column.str.strip())
        found: dict[str, Column] = {**read, **{n: each.column() for n, each in coders.items()}}
        for name in others:
            column = again[name].column()
            if name in found and not any(map(CODE.fullmatch, column.values)):
                notes += note_of_points(name, column.values)
            else:
                found[name] = decoded(self.path, name, column, self._notation, notes)
        return {name: found[name] for name in self.names}

    def _needs_texts(self, name: str, numbers: FloatArray | None, *, may_have_points: bool) -> bool:
        """Return whether a column is no number, or numbers whose texts have to be looked at."""
        if numbers is None:
            return True
        if self._has_codes and bool((numbers == np.floor(numbers)).any()):
            return True
        if self._notation is not None or not may_have_points:
            return False
        place = self.names.index(name)
        cells = [row[place] for row in self._sample if place < len(row)]
        return may_have_points_of_thousands(cells, numbers)

    def _chunks(self, names: Sequence[str], texts: Any) -> Iterator[Any]:
        """Yield frames of some columns, those of `texts` as texts."""
        width = len(self.names)
        all_names = [*self.names, *range(self._width - width)]
        with self._opened() as file:
            if self._has_header:
                self._next_row(file)
            reader = read_csv(
                file, sep=self._delimiter, header=None, names=all_names, index_col=False,
                usecols=names, dtype=dict.fromkeys(texts, str), keep_default_na=False,
                na_values={n: sorted(MISSING) for n in all_names if n not in texts},
                decimal="." if self._notation is None else self._notation.decimal,
                skipinitialspace=self._delimiter != " ", low_memory=False,
                chunksize=max(1, _CHUNK_CELLS // width),
            )  # fmt: skip
            with reader:
                yield from reader

    def _check_rows(self) -> tuple[bool, int]:
        """Read all rows; return whether cells begin as codes do, and the width of the file.

        pandas, which reads them afterwards, fills short rows up without a warning.
        """
        codes = [re.compile(f"{re.escape(sign)}0[0-9]") for sign in (self._delimiter, '"', " ")]
        codes.append(re.compile(r"^0[0-9]"))
        width, n_columns, n_rows, has_codes = 0, len(self.names), 0, False

        def observed(lines: Iterator[str]) -> Iterator[str]:
            nonlocal has_codes
            for line in lines:
                has_codes = has_codes or any(code.search(line) for code in codes)
                yield line

        n_headers = int(self._has_header)
        with self._opened() as file:
            for line, row in self._rows(observed(_bounded_lines(self.path, file))):
                if not any(row) and (n_columns > 1 or not row):
                    continue
                if n_headers:
                    n_headers, width = 0, len(row)
                    continue
                n_rows += 1
                self.count.add(n_columns)
                if len(row) != n_columns:
                    width = max(width, len(row))
                    self._check_width(row, line)
        if not n_rows:
            raise ValueError(
                f"{self.path}: no rows after the header; add rows to the table, or, if its only "
                "line holds data, a first line with the names of the columns"
            )
        return has_codes, width

    def _check_width(self, row: list[str], line: int) -> None:
        """Raise an error for a row with other than empty cells beyond the header, or with fewer."""
        n_columns = len(self.names)
        if len(row) > n_columns and not any(map(str.strip, row[n_columns:])):
            return
        advice = "put cells that contain the delimiter in quotes, or give the delimiter"
        if len(row) < n_columns:
            advice = "fill the line up, remove it if it is no row, or give the delimiter"
        raise ValueError(
            f"{self.path}, line {line}: {counted(len(row), 'cell')} where the header has "
            f"{n_columns}; {advice} (--delimiter), or, if the names stand in another line, its "
            "number: --header-row N, in Python header_row=N"
        )

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        """Open the file below the lines above the header; errors of the encoding name the file."""
        try:
            with io.TextIOWrapper(
                opened(self.path, self._limits), encoding=self._encoding, newline=""
            ) as file:
                for _ in islice(_bounded_lines(self.path, file), self._n_above):
                    pass
                yield file
        except (LookupError, UnicodeError) as error:
            raise ValueError(
                f"{self.path}: not a text file in {self._encoding}: {error}; give another "
                "encoding: --encoding NAME, in Python encoding=..."
            ) from error

    def _next_row(self, file: IO[str]) -> list[str]:
        """Return the first row that is not empty; the file is then at the end of this row."""
        return next(row for _, row in self._rows(_bounded_lines(self.path, file)) if any(row))

    def _rows(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield rows, each with the number of its last line."""
        # Spaces before a quote are left out; between cells they are the delimiter.
        reader = csv.reader(
            lines, delimiter=self._delimiter, strict=True, skipinitialspace=self._delimiter != " "
        )
        line = self._n_above
        try:
            for row in reader:
                line = reader.line_num + self._n_above
                yield line, row
        except csv.Error as error:
            advice = (
                "close each quote that begins a cell, with nothing after it, and write quotes "
                'inside quoted cells twice ("")'
            )
            if "field larger" in str(error):
                advice = (
                    "shorten the cell, or, if it is meant to be so long, raise the limit: "
                    "csv.field_size_limit(N) in Python"
                )
            raise ValueError(
                f"{self.path}, line {line + 1}: the cells cannot be read ({error}); {advice}"
            ) from error


class Header:
    """The names of columns; a column without a name is named by its number.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    unnamed : set of str
        Those of columns whose cell in the header is empty.
    """

    def __init__(self, path: Path, cells: Sequence[str], *, is_header: bool):
        cells = [cell.strip() if is_header else "" for cell in cells]
        cells[0] = cells[0].strip("\ufeff")  # a byte order mark that was written twice
        numbered = [f"column_{n}" for n in range(1, len(cells) + 1)]
        self.names = [name or number for name, number in zip(cells, numbered, strict=True)]
        self.unnamed = {
            number for name, number in zip(cells, numbered, strict=True) if is_header and not name
        }
        if len(set(self.names)) != len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise ValueError(
                f"{path}: two columns are named {twice!r}; rename one of them, or, if the names "
                "stand in another line, or in none, give its number or 0: --header-row N, in "
                "Python header_row=N"
            )


def refuse_numbers_as_names(path: Path, sample: Sequence[Sequence[str]]) -> None:
    """Raise an error for a first row that may hold data.

    It does if one of its cells is a number, or each occurs again in its column.
    """
    first, rest = sample[0], sample[1:]
    repeats = bool(rest) and all(
        any(place < len(row) and row[place] == cell for row in rest)
        for place, cell in enumerate(first)
    )
    if repeats or any(map(PLAIN.holds, first)):
        shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
        raise ValueError(
            f"{path}: the first line ({shown}) may hold names of columns or data; give the number "
            "of the line with the names, 0 if there is none: --header-row N, in Python header_row=N"
        )


def _bounded_lines(path: Path, file: IO[str]) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise ValueError(f"{path}: a line of more than {_MAX_LINE} characters")
        yield line


def _guess_delimiter(path: Path, lines: Sequence[str]) -> str:
    """Return the delimiter that the first line has, the comma if it has none.

    If it has several, the only one that cuts all lines into equally many cells.
    """
    widths = {}
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):
            rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
            widths[delimiter] = [len(row) for row in rows]
    found = [delimiter for delimiter, each in widths.items() if each and each[0] > 1]
    if len(found) > 1:
        found = [delimiter for delimiter in found if len(set(widths[delimiter])) == 1]
    if len(found) > 1 or (not found and any(each and each[0] > 1 for each in widths.values())):
        raise ValueError(
            f"{path}: the cells may be separated in several ways; give the character between "
            "them: --delimiter CHARACTER, in Python delimiter=..."
        )
    return found[0] if found else ","


def _guess_encoding(path: Path, limits: ReadLimits) -> str:
    """Return the encoding of a file: that of its byte order mark, UTF-8, or cp1252 with a warning.

    charset-normalizer looks at the first block of other files.
    """
    with opened(path, limits) as file:
        start = block = file.read(_BLOCK)
        for magic, advice in _OTHER_FORMATS.items():
            if start.startswith(magic):
                raise ValueError(f"{path}: not a text file, but {advice}")
        for mark, encoding in _MARKS.items():
            if start.startswith(mark):
                return encoding
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while block:
                decoder.decode(block)
                block = file.read(_BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            pass
        else:
            if b"\0" not in start:
                return "utf-8"
    from charset_normalizer import from_bytes

    best = from_bytes(start).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        raise ValueError(f"{path}: not a text file: it holds zero bytes; export it as .csv")
    if b"\0" in start or "cp1252" not in best.could_be_from_charset:
        raise ValueError(
            f"{path}: not in UTF-8; give its encoding: --encoding NAME, in Python encoding=..., "
            f"such as {best.encoding}"
        )
    warnings.warn(
        f"{path}: not in UTF-8, read as cp1252 (Western European, a superset of latin-1); if "
        "letters look wrong, give the encoding: --encoding NAME, in Python encoding=...",
        ReadWarning,
        stacklevel=2,
    )
    return "cp1252"
