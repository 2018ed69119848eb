"""Reading tables: text files (.csv, .tsv, .txt), Excel workbooks and Parquet files."""

import csv
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from functools import partial
from itertools import chain, dropwhile, islice
from math import nan
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.optional import require
from pairmend._utils.text import counted, is_missing_text, quoted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.arff import parse_numbers
from pairmend.datasets.data import ChosenLabels, MultiLabelData, all_features, find_labels
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits, ReadWarning, open_text

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value in every column but those of labels."""
_CODE = re.compile(r"\n[+-]?0[0-9]+\n")
"""A whole number with a leading zero, as 00501, is a code."""
_SPACES = " \u00a0\u202f"
_CHUNK_CELLS = 2**17
_SAMPLE_ROWS = 100
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 2**16
"""Characters of the first line in which a delimiter is searched."""
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_PLACE = re.compile(rb"""\sr\s*=\s*["']([^"']*)["']""")
_CELL = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")

Rows = Iterator[tuple[int, Sequence[str]]]
"""Rows of texts, each with its number."""
Column = tuple[FloatArray, tuple[str, ...] | None]
"""Numbers; or the code of each text, NaN where it is missing, and the texts."""


def read_text_file(
    path: Path,
    limits: ReadLimits,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header_row: int | None = None,
    **reading: Any,
) -> MultiLabelData:
    """Read the columns of a text file."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
    n_above = max(0, (header_row or 0) - 1)
    file = open_text(path, limits, encoding, newline="")

    def lines() -> Iterator[str]:
        file.seek(0)
        return islice(iter(partial(file.readline, _MAX_LINE), ""), n_above, None)

    def rows() -> Rows:
        # Spaces before a quote are left out; between cells they are the delimiter.
        reader = csv.reader(lines(), delimiter=chosen, strict=True, skipinitialspace=chosen != " ")
        try:
            for row in reader:
                if row:
                    yield reader.line_num + n_above, row
        except csv.Error as error:
            raise ValueError(
                f"{path}, line {reader.line_num + n_above}: {error}; close each quote that begins "
                'a cell, with nothing after it, and write quotes inside quoted cells twice ("")'
            ) from error

    chosen = delimiter or _find_delimiter(
        path, next(filter(str.strip, lines()), ",")[:_LONGEST_HEADER]
    )
    # Without quotes each line is a row; that is known before the table takes any memory.
    content = file.buffer.getvalue()  # type: ignore[attr-defined]
    n_rows = 0 if b'"' in content else content.count(b"\n")
    return _read_table(path, limits, rows(), n_rows=n_rows, header_row=header_row, **reading)


def _find_delimiter(path: Path, header: str) -> str:
    """Return the delimiter that the first line has, the comma if it has none."""
    found = [sign for sign in _DELIMITERS if len(next(csv.reader([header], delimiter=sign))) > 1]
    if len(found) > 1:
        raise ValueError(
            f"{path}: the first line has several of the delimiters {quoted(found)}; give the "
            "character between the cells: --delimiter CHARACTER, in Python delimiter=..."
        )
    return found[0] if found else ","


def read_workbook(
    path: Path,
    limits: ReadLimits,
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    **reading: Any,
) -> MultiLabelData:
    """Read the columns of a sheet; cells have the texts of a text file."""
    require(str(path), "python_calamine")
    from python_calamine import CalamineWorkbook

    try:
        book = CalamineWorkbook.from_filelike(_checked_copy(path, limits))
        filled = [n for n in book.sheet_names if book.get_sheet_by_name(n).total_height]
        chosen = sheet or (filled or book.sheet_names)[0]
        if chosen not in book.sheet_names or (sheet is None and len(filled) > 1):
            raise ValueError(f"give one of its sheets, {quoted(book.sheet_names)}: --sheet NAME")
        cells = book.get_sheet_by_name(chosen).to_python(skip_empty_area=False)
    except (MemoryError, ReadLimitError, FileNotFoundError):
        raise
    except Exception as error:  # calamine raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: cannot read the Excel workbook: {reason}") from error

    n_above = max(0, (header_row or 0) - 1)
    rows = ((line, list(map(_text, row))) for line, row in enumerate(cells[n_above:], n_above + 1))
    return _read_table(path, limits, rows, n_rows=len(cells), header_row=header_row, **reading)


def _checked_copy(path: Path, limits: ReadLimits) -> io.BytesIO:
    """Return the XML files of a workbook, not compressed, after checks of their sizes.

    calamine allocates all cells up to the last row and column that occur.
    """
    copy = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        members = [m for m in source.infolist() if m.filename.endswith((".xml", ".rels"))]
        limits.check_bytes(path, sum(member.file_size for member in members))
        for member in members:
            content = source.read(member)  # at most the stated size
            if b"\0" in content:
                raise ValueError(f"{member.filename} is not in UTF-8")
            if b"sheetData" in content:
                limits.check_cells(path, _n_cells(content))
            target.writestr(member.filename, content)
    copy.seek(0)
    return copy


def _n_cells(content: bytes) -> int:
    """Return the largest number of cells up to the last row and column of a sheet."""
    n_rows = n_columns = 0
    for place in set(_PLACE.findall(content)):
        cell = _CELL.fullmatch(place)
        if cell is None:
            raise ValueError(f"a sheet has a cell at {place[:20]!r}")
        column = 0
        for letter in cell[1]:
            column = 26 * column + letter - ord("A") + 1
        n_rows, n_columns = max(n_rows, int(cell[2] or 0)), max(n_columns, column)
    # Cells without a place follow the one before.
    return (n_rows + content.count(b"<row")) * max(n_columns, 1)


def _text(cell: Any) -> str:
    """Return the text of a cell in a text file: dates in ISO 8601, whole numbers without point."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell).strip()


def read_parquet(
    path: Path, limits: ReadLimits, *, texts: Sequence[str], labels: ChosenLabels
) -> MultiLabelData:
    """Read the columns of a Parquet file; nulls are missing."""
    require(str(path), "pyarrow")
    from pyarrow import parquet, types

    count = CellCount(path, limits)
    try:
        with parquet.ParquetFile(path) as file:
            kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            n_rows, n_columns = max(0, file.metadata.num_rows), len(file.schema_arrow)
            count.add(n_rows * n_columns, columns=n_columns)
            # The metadata of single columns are not read: damaged ones end the process in pyarrow.
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            limits.check_bytes(path, sum(max(0, group.total_byte_size) for group in groups))
        for name, kind in kinds.items():
            if types.is_nested(getattr(kind, "storage_type", kind)):
                raise ValueError(f"column {name!r} holds {kind}; expected numbers or texts")
        # Texts stay in the dictionary that the file stores them in: a long one is not repeated.
        with parquet.ParquetFile(
            path, read_dictionary=list(kinds), pre_buffer=False, page_checksum_verification=True
        ) as file:
            table = file.read(use_threads=False)
        table.validate(full=True)
        if not n_rows or table.num_rows != n_rows or len(kinds) != n_columns:
            raise ValueError("no rows, fewer than it states, or two columns of the same name")
        frame = table.to_pandas(ignore_metadata=True, use_threads=False)
        columns = {name: _frame_column(frame[name], name in texts, count) for name in kinds}
    except (ReadLimitError, MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # pyarrow raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: not a Parquet file that can be read: {reason}") from error
    return _features(path, columns)


def _frame_column(cells: Any, is_text: bool, count: CellCount) -> Column:
    """Return a column of numbers, or of texts; dates are texts in ISO 8601 and UTC."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(cells) and not is_text:
        return cells.to_numpy(float), None
    if getattr(cells.dtype, "tz", None) is not None:
        cells = cells.dt.tz_convert(None)
    codes, values = pd.factorize(cells)
    count.add(0, texts=len(values))
    codes = np.where(codes < 0, nan, codes)
    if not is_text and all(isinstance(value, Number) for value in values):
        return _looked_up(np.array([*map(float, values), nan]), codes), None
    texts = (v.decode() if isinstance(v, bytes) else _text(v) for v in values)
    return _sorted(codes, list(texts))


class _Notation:
    """How numbers are written: the decimal sign and the separator of thousands, if any."""

    def __init__(self, decimal: str | None = None, thousands: str | None = None):
        decimal = decimal or ("," if thousands == "." else ".")
        if decimal not in (".", ",") or thousands not in (None, *".,' ’") or decimal == thousands:
            raise ValueError(
                "decimal must be '.' or ',', and thousands another one, or \"'\" or ' '; got "
                f"{decimal!r} and {thousands!r}"
            )
        gap, sign = _SPACES if thousands == " " else thousands or "", re.escape(decimal)
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{gap}]\d{{3}})+)" if gap else r"\d+"
        number = rf"(?:{whole}(?:{sign}\d*)?|{sign}\d+)(?:e[+-]?\d+)?"
        self.holds = re.compile(rf"[+-]?(?:{number}|inf)", re.ASCII | re.IGNORECASE).fullmatch
        self._plain = str.maketrans({**dict.fromkeys(gap), decimal: "."})

    def parse(self, text: str) -> float:
        """Return a text that is missing or a number in this notation as a number."""
        return nan if is_missing_text(text) else float(text.translate(self._plain))


_PLAIN = _Notation()
_UNAMBIGUOUS = (_Notation(","), _Notation(".", ","))
"""Notations that need no option where all numbers of a column fit only one of them."""
_KNOWN = (_PLAIN, *_UNAMBIGUOUS, *(_Notation(d, t) for d, t in (",.", ". ", ", ", ".'", ",'")))


def _column(
    parts: Sequence[str], missing: frozenset[str], count: CellCount, *, is_text: bool
) -> Column:
    """Return a column, of which each part is many cells joined by NUL; the texts are sorted.

    `missing` are the texts that become NaN.
    """
    if not is_text:
        blocks = [numbers for part in parts if (numbers := _numbers(part.split("\0"))) is not None]
        if len(blocks) == len(parts):
            return np.concatenate(blocks), None
    code_of: dict[str, int] = {}
    codes = []
    for part in parts:
        n_before, texts = len(code_of), map(str.strip, part.split("\0"))
        found = [nan if t in missing else code_of.setdefault(t, len(code_of)) for t in texts]
        codes.append(np.array(found, dtype=float))
        count.add(0, texts=len(code_of) - n_before)
    return _sorted(np.concatenate(codes), list(code_of))


def _sorted(codes: FloatArray, texts: Sequence[str]) -> Column:
    """Return codes of texts, of which some may be equal, as codes of the sorted texts."""
    values = tuple(sorted(set(texts)))
    place = {value: code for code, value in enumerate(values)}
    return _looked_up(np.array([*(place[text] for text in texts), nan]), codes), values


def _looked_up(numbers: FloatArray, codes: FloatArray) -> FloatArray:
    """Return the number of each code; the last number for NaN."""
    return numbers[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


def _features(path: Path, columns: dict[str, Column]) -> MultiLabelData:
    values = [values for _, values in columns.values()]
    categories = {place: each for place, each in enumerate(values) if each is not None}
    cells = np.column_stack([numbers for numbers, _ in columns.values()])
    return all_features(path, cells, tuple(columns), categories)


def _read_table(
    path: Path,
    limits: ReadLimits,
    rows: Rows,
    *,
    n_rows: int,
    header_row: int | None,
    texts: Sequence[str],
    labels: ChosenLabels,
    decimal: str | None = None,
    thousands: str | None = None,
) -> MultiLabelData:
    """Read rows as columns of which all are features.

    There are about `n_rows`. The columns of `texts` and `labels` are read as texts.
    """
    rows = dropwhile(lambda numbered: not any(map(str.strip, numbered[1])), rows)
    sample = list(islice(rows, _SAMPLE_ROWS))
    names, unnamed = _header(path, [row for _, row in sample], header_row)
    notation = None if decimal is None and thousands is None else _Notation(decimal, thousands)
    count = CellCount(path, limits)
    count.add(0, columns=len(names))
    count.check(n_rows * len(names))
    label_names = find_labels(path, names, labels)
    parts: list[list[str]] = [[] for _ in names]
    for chunk in _chunks(path, chain(sample[int(header_row != 0) :], rows), len(names)):
        count.add(len(chunk) * len(names))
        for part, cells in zip(parts, zip(*chunk, strict=True), strict=True):
            part.append("\0".join(cells))  # which takes less memory than a list
    columns = {}
    for name, part in zip(names, parts, strict=True):
        is_label, is_text = name in label_names, name in texts or name in label_names
        missing = frozenset({""}) if is_label else MISSING
        column = _column(part, missing, count, is_text=is_text or notation is not None)
        columns[name] = column if is_text else _decoded(path, name, column, notation)
    empty = {name for name in unnamed if np.isnan(columns[name][0]).all()}
    kept = [name for name in names if name not in empty] or names
    return _features(path, {name: columns[name] for name in kept})


def _header(
    path: Path, sample: Sequence[Sequence[str]], header_row: int | None
) -> tuple[list[str], set[str]]:
    """Return names of columns, and those of columns that the header does not name: numbers."""
    if not sample:
        raise ValueError(f"{path}: empty; expected a header with the names of the columns")
    first, rest = sample[0], sample[1:]
    repeats = bool(rest) and all(
        any(place < len(row) and row[place] == cell for row in rest)
        for place, cell in enumerate(first)
    )
    if header_row is None and (repeats or any(_PLAIN.holds(cell.strip()) for cell in first)):
        shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
        raise ValueError(
            f"{path}: the first line ({shown}) may hold names of columns or data; give the number "
            "of the line with the names, 0 if there is none: --header-row N, in Python header_row=N"
        )
    cells = [cell.strip(" \t\r\n\ufeff") if header_row != 0 else "" for cell in first]
    names = [cell or f"column_{place}" for place, cell in enumerate(cells, start=1)]
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(
            f"{path}: two columns are named {twice!r}; rename one of them, or give the line of the "
            "names, 0 if there is none: --header-row N, in Python header_row=N"
        )
    return names, set(names).difference(cells) if header_row != 0 else set()


def _chunks(path: Path, rows: Rows, n_columns: int) -> Iterator[list[Sequence[str]]]:
    """Yield rows of the same length, many at once, without those that have no value."""
    n_empty, is_empty = 0, True
    while block := list(islice(rows, max(1, _CHUNK_CELLS // n_columns))):
        chunk = []
        for line, row in block:
            if len(row) != n_columns and (
                len(row) < n_columns or any(map(str.strip, row[n_columns:]))
            ):
                raise ValueError(
                    f"{path}, line {line}: {counted(len(row), 'cell')} where the header has "
                    f"{n_columns}; fill the line up, quote cells that contain the delimiter, or "
                    "give the delimiter (--delimiter) or the line of the names (--header-row)"
                )
            if n_columns == 1 or any(map(str.strip, row)):
                chunk.append(row[:n_columns])
        n_empty += len(block) - len(chunk)
        if chunk:
            is_empty = False
            yield chunk
    if is_empty:
        raise ValueError(f"{path}: no rows after the header; add rows to the table")
    if n_empty:
        left_out = f"{path}: left out {counted(n_empty, 'row')} without any value"
        warnings.warn(left_out, ReadWarning, stacklevel=2)


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    """Return cells as numbers, NaN where missing; None if one is a code or no plain number."""
    present = [cell for cell in cells if cell not in MISSING]
    text = "\n".join([*present, ""])
    if not text.isascii() or _CODE.search(f"\n{text}"):
        return None
    numbers = parse_numbers(text.encode())[0]
    if len(numbers) != len(present):
        return None
    if len(present) == len(cells):
        return numbers
    found = np.full(len(cells), nan)
    found[[cell not in MISSING for cell in cells]] = numbers
    return found


def _decoded(path: Path, name: str, column: Column, given: _Notation | None) -> Column:
    """Return a column of texts as numbers if it holds nothing but numbers, else unchanged.

    Without a notation, numbers must be plain, or fit one notation only. Whole numbers with a
    leading zero are codes.
    """
    codes, values = column
    present = [text for text in values or () if not is_missing_text(text)]
    if values is None or _CODE.search("\n".join(["", *present, ""])):
        return column
    notations = (_PLAIN, *_UNAMBIGUOUS) if given is None else (given,)
    fitting = [each for each in notations if all(map(each.holds, present))]
    if len(fitting) == 1 or _PLAIN in fitting:
        return _looked_up(np.array([*map(fitting[0].parse, values), nan]), codes), None
    if all(any(each.holds(text) for each in _KNOWN) for text in present):
        examples = sorted(present, key=lambda text: (bool(_PLAIN.holds(text)), len(text)))[:2]
        raise ValueError(
            f"{path}: the numbers of column {name!r}, such as {quoted(examples)}, are ambiguous or "
            "written in different ways; give their signs (--decimal SIGN and --thousands SIGN, in "
            f"Python decimal=... and thousands=...) or read them as codes (--categorical {name})"
        )
    return column
