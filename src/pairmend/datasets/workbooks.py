"""Reading Excel workbooks (.xlsx) by calamine, behind checks of their size."""

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.limits import ReadLimitError, ReadLimits
from pairmend.datasets.table import read_table

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
    cells: list[list[Any]] = []
    problem = ""
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(_checked_copy(path, limits))
        filled = [n for n in book.sheet_names if book.get_sheet_by_name(n).total_height]
        if sheet is None and len(filled) > 1:
            problem = (
                f"several sheets have cells: {', '.join(map(repr, filled[:20]))}; give the name of "
                "one: --sheet NAME, in Python sheet=..."
            )
        elif sheet is not None and sheet not in book.sheet_names:
            problem = f"no sheet is named {sheet!r}; it has {book.sheet_names[:20]}"
        elif sheet is not None or filled:
            found = book.get_sheet_by_name(sheet or filled[0])
            cells = found.to_python(skip_empty_area=False)
    except (MemoryError, ReadLimitError, FileNotFoundError):
        raise
    except Exception as error:  # calamine raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        problem = f"not an Excel workbook that can be read ({reason}); save it as .xlsx or .csv"
    if problem:
        raise ValueError(f"{path}: {problem}")

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
