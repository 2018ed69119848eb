"""Rows of an Excel workbook (.xlsx) as texts, with openpyxl."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from pairmend.datasets.limits import TEXT_CELLS, ReadLimitError, ReadLimits

MAX_ROWS = 2**20
"""Largest number of rows of a sheet in Excel."""
_SAMPLE_ROWS = 100
"""Rows of a sheet in which a table is looked for."""
_BYTES_OF_A_TEXT = len("<si><t>a</t></si>")
"""Bytes that the shortest text takes in a workbook."""


@contextmanager
def excel_rows(
    path: Path, limits: ReadLimits, sheet: str
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Open a workbook and return its rows, each with its number, from 1 on.

    Cells have the texts that a CSV file would have: dates in ISO 8601, numbers without a point if
    they are whole, formulas as their stored results.
    """
    with _opened(path, limits) as book:
        yield _rows(path, _worksheet(path, book, sheet))


@contextmanager
def _opened(path: Path, limits: ReadLimits) -> Iterator[Any]:
    openpyxl = _require_openpyxl()
    try:
        _check_size(path, limits)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except (ReadLimitError, FileNotFoundError):
        raise
    except Exception as error:  # openpyxl raises many kinds on damaged files
        raise ValueError(_damaged(path, error)) from error
    try:
        yield book
    finally:
        book.close()


def choose_sheet(path: Path, limits: ReadLimits) -> tuple[str, str]:
    """Return the first sheet of a workbook that holds a table, and a note if there are others.

    A table has two rows with at least two cells; without any, it is the first sheet.
    """
    with _opened(path, limits) as book:  # once: opening reads the texts of all sheets
        n_filled = {sheet.title: _filled_cells(path, sheet) for sheet in book.worksheets}
    if not n_filled:
        raise ValueError(f"{path}: the workbook has no sheet with cells")
    tables = [sheet for sheet, filled in n_filled.items() if sum(n > 1 for n in filled) > 1]
    chosen = tables[0] if tables else next(iter(n_filled))
    others = ", ".join(repr(s) for s, filled in n_filled.items() if s != chosen and any(filled))
    if not others:
        return chosen, ""
    return chosen, (
        f"{path}: the sheet {chosen!r} is read, and {others} not; to read another sheet, give its "
        "name: --sheet NAME, in Python sheet=..."
    )


def _filled_cells(path: Path, sheet: Any) -> list[int]:
    """Return how many cells the first rows of a sheet have that are not empty."""
    return [sum(map(bool, cells)) for _, cells in islice(_rows(path, sheet), _SAMPLE_ROWS)]


def _check_size(path: Path, limits: ReadLimits) -> None:
    """Raise an error for a workbook that unpacks to too many bytes; zipfile reads no more."""
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename: member.file_size for member in archive.infolist()}
    limits.check_bytes(path, sum(sizes.values()))
    # openpyxl keeps all texts of the workbook in memory.
    texts = sizes.get("xl/sharedStrings.xml", 0) // _BYTES_OF_A_TEXT
    limits.check_cells(path, texts * TEXT_CELLS)


def _worksheet(path: Path, book: Any, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name not in sheets:
        raise ValueError(f"{path}: no sheet is named {name!r}; it has {list(sheets)[:20]}")
    return sheets[name]


def _rows(path: Path, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    sheet.reset_dimensions()  # rows are not filled up to the width that the file states
    try:
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            # openpyxl returns an empty row for each number that a file leaves out.
            if number > MAX_ROWS:
                raise ReadLimitError(f"{path}: more than {MAX_ROWS:,} rows, the limit of Excel")
            yield number, [_text(cell) for cell in row]
    except ReadLimitError:
        raise
    except Exception as error:
        raise ValueError(_damaged(path, error)) from error


def _damaged(path: Path, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    return f"{path}: not an Excel workbook that can be read ({reason}); save it as .xlsx or .csv"


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        is_day = (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0)
        return cell.date().isoformat() if is_day else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def _require_openpyxl() -> Any:
    """Return openpyxl, or raise an ImportError with the command that installs it."""
    try:
        # openpyxl expands entities of XML files, in memory without bound, unless it finds this.
        import defusedxml  # noqa: F401
        import openpyxl
    except ImportError as error:
        raise ImportError(
            "Excel files need openpyxl and defusedxml, which are not installed: "
            "pip install 'pairmend[excel]'"
        ) from error
    if not openpyxl.DEFUSEDXML:
        raise ImportError(
            "openpyxl does not use defusedxml; unset the environment variable OPENPYXL_DEFUSEDXML"
        )
    return openpyxl
