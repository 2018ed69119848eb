"""Reading tables: text files (.csv, .tsv, .txt), Excel workbooks and Parquet files."""

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from pairmend._utils.files import replaced
from pairmend.datasets.data import MultiLabelData, quoted
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits, opened, read_text
from pairmend.datasets.table import Column, TextCodes, read_table, table_data

_DELIMITERS = ",;\t|"
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_BLOCK = 2**20


def read_text_file(
    path: Path,
    limits: ReadLimits,
    *,
    encoding: str | None,
    delimiter: str | None,
    header_row: int | None,
    **reading: Any,
) -> MultiLabelData:
    """Read the columns of a text file."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
    n_above = max(0, (header_row or 0) - 1)

    def read(file: IO[str]) -> MultiLabelData:
        def lines() -> Iterator[str]:
            file.seek(0)
            return islice(_bounded_lines(path, file), n_above, None)

        chosen = delimiter or _find_delimiter(
            path, list(islice((line for line in lines() if line.strip()), 100))
        )
        return read_table(
            path, limits, lambda: _rows(path, lines(), chosen, n_above), n_rows=n_rows,
            header_row=header_row, **reading,
        )  # fmt: skip

    n_rows = _least_rows(path, limits)
    return read_text(path, encoding, limits, read, newline="")


def _least_rows(path: Path, limits: ReadLimits) -> int:
    """Return the number of lines of a file without quotes, in which each is a row.

    It is known before the table takes any memory.
    """
    n_rows = 0
    with opened(path, limits) as file:
        while block := file.read(_BLOCK):
            if b'"' in block:
                return 0
            n_rows += block.count(b"\n")
    return n_rows


def _rows(
    path: Path, lines: Iterator[str], delimiter: str, n_above: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows, each with the number of its last line, from the first that has a value on."""
    # Spaces before a quote are left out; between cells they are the delimiter.
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    is_header = True
    try:
        for row in reader:
            if row and not (is_header and not any(row)):
                is_header = False
                yield reader.line_num + n_above, row
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num + n_above}: the cells cannot be read ({error}); close "
            "each quote that begins a cell, with nothing after it, and write quotes inside quoted "
            'cells twice (""); for long cells call csv.field_size_limit(N) in Python'
        ) from error


def _bounded_lines(path: Path, file: IO[str]) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise ValueError(f"{path}: a line of more than {_MAX_LINE} characters")
        yield line


def _find_delimiter(path: Path, lines: Sequence[str]) -> str:
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


_PLACE = re.compile(rb"""\sr\s*=\s*["']([^"']*)["']""")
_CELL = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")


def read_workbook(
    path: Path, limits: ReadLimits, *, sheet: str | None, header_row: int | None, **reading: Any
) -> MultiLabelData:
    """Read the columns of a sheet; cells have the texts of a text file."""
    try:
        import python_calamine
    except ImportError as error:
        raise ImportError(
            "Excel files need python-calamine, which is not installed: pip install 'pairmend[data]'"
        ) from error
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(_checked_copy(path, limits))
        filled = [n for n in book.sheet_names if book.get_sheet_by_name(n).total_height]
        if sheet is None and len(filled) > 1:
            raise ValueError(
                f"several sheets have cells: {quoted(filled)}; give the name of one: --sheet NAME, "
                "in Python sheet=..."
            )
        if sheet is not None and sheet not in book.sheet_names:
            raise ValueError(f"no sheet is named {sheet!r}; it has {quoted(book.sheet_names)}")
        chosen = book.get_sheet_by_name(sheet or (filled or book.sheet_names)[0])
        cells: list[list[Any]] = chosen.to_python(skip_empty_area=False)
    except (MemoryError, ReadLimitError, FileNotFoundError):
        raise
    except Exception as error:  # calamine raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: cannot read the Excel workbook: {reason}") from error

    def rows() -> Iterator[tuple[int, list[str]]]:
        is_header = True
        for line, row in islice(enumerate(cells, 1), max(0, (header_row or 0) - 1), None):
            texts = list(map(_text, row))
            if any(texts) or not is_header:
                is_header = False
                yield line, texts

    return read_table(path, limits, rows, n_rows=len(cells), header_row=header_row, **reading)


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


_BATCH_ROWS = 2**16
_TEXT_ROWS = 2**10
"""Rows of a batch of texts: with DELTA_BYTE_ARRAY each may repeat a long text stored once."""


def read_parquet(path: Path, limits: ReadLimits, texts: Sequence[str]) -> MultiLabelData:
    """Read the columns of a Parquet file; nulls are missing.

    Dates and times have the texts that text files have for them, in ISO 8601 and UTC.
    """
    parquet = require_pyarrow()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return table_data(path, _read(parquet, path, limits, texts))
    except (ReadLimitError, MemoryError):
        raise
    except Exception as error:  # pyarrow raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: not a Parquet file that can be read: {reason}") from error


def _read(parquet: Any, path: Path, limits: ReadLimits, texts: Sequence[str]) -> dict[str, Column]:
    from pyarrow import types

    count = CellCount(path, limits)
    with parquet.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        names, n_rows = schema.names, max(0, metadata.num_rows)
        count.add(n_rows * len(names), columns=len(names))
        # The metadata of single columns are not read: damaged ones end the process in pyarrow.
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        limits.check_bytes(path, sum(max(0, group.total_byte_size) for group in groups))
    if not n_rows or len(set(names)) != len(names):
        raise ValueError("no rows, or two columns of the same name")
    for name, kind in zip(names, schema.types, strict=True):
        if types.is_nested(getattr(kind, "storage_type", kind)):
            raise ValueError(f"column {name!r} holds {kind}; expected numbers or texts")
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    long = [
        n for n, kind in zip(names, schema.types, strict=True) if any(is_(kind) for is_ in is_text)
    ]
    columns: dict[str, Column] = {}
    # Texts stay in the dictionary that the file stores them in: a long one is not repeated.
    with parquet.ParquetFile(
        path, read_dictionary=long, pre_buffer=False, page_checksum_verification=True
    ) as file:
        for name in names:
            size = _TEXT_ROWS if name in long else _BATCH_ROWS
            coder, blocks = TextCodes(count, frozenset({None})), []
            for batch in file.iter_batches(size, columns=[name], use_threads=False):
                batch.validate(full=True)
                numbers = None if name in texts else _numbers(batch.column(0))
                if numbers is None:
                    coder.add(_texts(batch.column(0)))
                else:
                    blocks.append(numbers)
            columns[name] = np.concatenate(blocks) if blocks else coder.column()
            if sum(map(len, blocks or coder.blocks)) != n_rows:
                raise ValueError(f"column {name!r} does not hold the {n_rows} rows of the file")
    return columns


def _numbers(cells: Any) -> Any:
    """Return cells as numbers, None for texts, dates and the like."""
    import pyarrow
    from pyarrow import types

    kind = getattr(cells.type, "value_type", cells.type)
    is_number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal,
                 types.is_null)  # fmt: skip
    if not any(is_(kind) for is_ in is_number):
        return None
    for target in (kind, pyarrow.int8() if types.is_boolean(kind) else kind, pyarrow.float64()):
        cells = cells.cast(target, safe=False)
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=float)


def _texts(cells: Any) -> list[str | None]:
    """Return cells as texts, None where they are missing; equal ones are one object."""
    import pyarrow

    kind = getattr(cells.type, "value_type", cells.type)
    if is_date := pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind):
        cells = cells.cast(pyarrow.timestamp("us"), safe=False)  # in UTC, from any time zone
    if not pyarrow.types.is_dictionary(cells.type):
        cells = cells.cast(pyarrow.string()).dictionary_encode()
    places = cells.indices.to_numpy(zero_copy_only=False)
    used = np.unique(places[~np.isnan(places)]).astype(int)  # the dictionary may be much larger
    texts = cells.dictionary.take(pyarrow.array(used)).cast(pyarrow.string()).to_pylist()
    if is_date:
        texts = [text.removesuffix(".000000").removesuffix(" 00:00:00") for text in texts]
    text_at = dict(zip(used.tolist(), texts, strict=True))
    return [text_at.get(place) for place in places.tolist()]


def write_parquet(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Write columns, arrays or lists by name, as a Parquet file."""
    parquet = require_pyarrow()
    import pyarrow

    with replaced(path) as temporary:
        parquet.write_table(pyarrow.table(dict(columns)), temporary)


def require_pyarrow() -> Any:
    """Return pyarrow.parquet, or raise an ImportError with the command that installs it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'pairmend[parquet]'"
        ) from error
    return parquet
