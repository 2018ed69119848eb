"""Reading Excel workbooks (.xlsx) by pandas and calamine, behind checks of their size."""

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from pairmend.datasets.columns import MISSING, Column, Notation, TextCodes, decoded
from pairmend.datasets.files import require_pandas
from pairmend.datasets.label_columns import ChosenLabels, find_labels
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits
from pairmend.datasets.text_files import Header, refuse_numbers_as_names

_PLACE = re.compile(rb"""\sr\s*=\s*["']([^"']*)["']""")
_CELL = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")


class _WorkbookError(ValueError):
    """What is wrong with a workbook that can be read."""


def read_excel(
    path: Path,
    limits: ReadLimits,
    *,
    sheet: str | None,
    notation: Notation | None,
    header_row: int | None,
    texts: Sequence[str],
    labels: ChosenLabels,
    notes: list[str],
) -> tuple[Header, dict[str, Column]]:
    """Read the columns of a sheet; cells of `texts` and `labels` have the texts of a CSV file."""
    pandas = _require_calamine()
    try:
        copy = _checked_copy(path, limits)
        with pandas.ExcelFile(copy, engine="calamine") as book:
            frame = pandas.read_excel(
                book, _chosen_sheet(path, book, sheet), header=None, dtype=object, na_filter=False
            )
    except (_WorkbookError, ReadLimitError, FileNotFoundError):
        raise
    except Exception as error:  # calamine raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path}: not an Excel workbook that can be read ({reason}); save it as .xlsx or .csv"
        ) from error
    cells = frame.to_numpy(dtype=object)[max(0, (header_row or 0) - 1) :]
    filled = np.flatnonzero((cells != "").any(axis=1)).tolist() if cells.size else []
    if not filled:
        raise ValueError(f"{path}: empty; expected a header with the names of the columns")
    cells = cells[filled[0] :]
    sample = [[_text(cell) for cell in row] for row in cells[:100]]
    if header_row is None:
        refuse_numbers_as_names(path, sample)
    header = Header(path, sample[0], is_header=header_row != 0)
    rows = cells[1:] if header_row != 0 else cells
    if not len(rows):
        raise ValueError(f"{path}: no rows after the header; add rows to the table")
    count = CellCount(path, limits)
    count.add_columns(len(header.names))
    count.add(rows.size)
    as_labels = find_labels(path, header.names, labels)
    columns: dict[str, Column] = {}
    for place, name in enumerate(header.names):
        values = rows[:, place]
        as_text = name in as_labels or name in texts
        if not as_text and all(_is_number(value) for value in values):
            columns[name] = np.array([np.nan if v == "" else v for v in values], dtype=float)
            continue
        coder = TextCodes(count, frozenset({""}) if name in as_labels else MISSING)
        coder.add(map(_text, values))
        column = coder.column()
        columns[name] = column if as_text else decoded(path, name, column, notation, notes)
    return header, columns


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
                raise _WorkbookError(f"{path}: {member.filename} is not in UTF-8")
            if b"sheetData" in content:
                _check_cells(path, content, limits)
            target.writestr(member.filename, content)
    return copy


def _check_cells(path: Path, content: bytes, limits: ReadLimits) -> None:
    """Raise an error if a sheet has too many cells up to the last row and column."""
    n_rows = n_columns = 0
    for place in set(_PLACE.findall(content)):
        cell = _CELL.fullmatch(place)
        if cell is None:
            raise _WorkbookError(f"{path}: a sheet has a cell at {place[:20]!r}")
        column = 0
        for letter in cell[1]:
            column = 26 * column + letter - ord("A") + 1
        n_rows, n_columns = max(n_rows, int(cell[2] or 0)), max(n_columns, column)
    # Cells without a place follow the one before.
    n_rows += content.count(b"<row")
    limits.check_cells(path, n_rows * max(n_columns, 1))


def _chosen_sheet(path: Path, book: Any, sheet: str | None) -> str:
    """Return the name of a sheet: the given one, or the only one that has cells."""
    names = book.sheet_names
    if sheet is not None:
        if sheet not in names:
            raise _WorkbookError(f"{path}: no sheet is named {sheet!r}; it has {names[:20]}")
        return sheet
    filled = [name for name in names if book.book.get_sheet_by_name(name).total_height]
    if len(filled) > 1:
        raise _WorkbookError(
            f"{path}: several sheets have cells: {', '.join(map(repr, filled[:20]))}; give the "
            "name of one: --sheet NAME, in Python sheet=..."
        )
    if not filled:
        raise _WorkbookError(f"{path}: empty; expected a header with the names of the columns")
    return filled[0]


def _is_number(value: Any) -> bool:
    return value == "" or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(cell: Any) -> str:
    """Return the text of a cell in a CSV file: dates in ISO 8601, whole numbers without point."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell).strip()


def _require_calamine() -> Any:
    """Return pandas, or raise an ImportError with the command that installs calamine."""
    try:
        import python_calamine  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Excel files need python-calamine, which is not installed: pip install 'pairmend[data]'"
        ) from error
    return require_pandas()
