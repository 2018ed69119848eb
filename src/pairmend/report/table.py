"""Table, Column and Cell, independent of the output format; formatting of numbers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Style = Literal["text", "code", "count", "number", "signed", "p", "bytes", "seconds"]

Mark = Literal["", "best", "differs", "incomplete"]

MISSING = "–"
_SMALLEST_P = 0.001


@dataclass(frozen=True)
class Column:
    """A column of a table; `extra` is the kind of the cells' second values."""

    title: str
    style: Style = "number"
    group: str = ""
    extra: Literal["", "sd", "p"] = ""
    digits: int = 3


@dataclass(frozen=True)
class Cell:
    """A cell of a table, with an optional second value."""

    value: float | str | None
    extra: float | None = None
    mark: Mark = ""
    style: Style | Literal[""] = ""


@dataclass(frozen=True)
class Table:
    """A table with columns, rows, rows at the foot, and notes."""

    id: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()


def text_of(value: float | str | None, style: Style = "number", digits: int = 3) -> str:
    """Format a value for readers."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if style == "count":
        return f"{value:,.0f}"
    if style == "p":
        return f"<{_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"
    if style == "bytes":
        return f"{value / 2**20:,.1f} MiB"
    if style == "seconds" and 0 < value < 10**-digits:
        digits = 1 - math.floor(math.log10(value))  # two significant digits
    if style == "signed":
        written = f"{value:+.{digits}f}"
        zero = float(written) == 0
        return written[1:] if zero else written.replace("-", "−")
    return f"{value:,.{digits}f}".replace("-", "−")


def cell_text(column: Column, cell: Cell) -> str:
    """Format a cell's value."""
    return text_of(cell.value, cell.style or column.style, column.digits)


def is_text(column: Column) -> bool:
    """Return whether a column has texts, not numbers."""
    return column.style in ("text", "code")


def extra_text(column: Column, cell: Cell) -> str:
    """Format a cell's second value, empty without one."""
    if not column.extra or cell.extra is None:
        return ""
    if column.extra == "sd":
        return f"± {text_of(cell.extra, digits=column.digits)}"
    written = text_of(cell.extra, "p")
    return f"p {written}" if written.startswith("<") else f"p = {written}"


def spans(columns: Sequence[Column]) -> Iterator[tuple[str, int]]:
    """Yield title and number of columns of each group of neighbouring columns."""
    for group, members in groupby(columns, key=lambda column: column.group):
        yield group, len(list(members))
