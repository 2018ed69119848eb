"""What a table is, whatever it is written as."""

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
    """A column of a table.

    Attributes
    ----------
    title : str
        What stands above it.
    style : str
        How its values are written: "text", "code" (text for machines), "count" (whole),
        "number", "signed" (a difference), "p" (a p-value), "bytes" or "seconds" (with more digits
        where they are few).
    group : str
        What stands above it and its neighbours of the same group; empty for none.
    extra : {"", "sd", "p"}
        What the second, smaller value of its cells is.
    digits : int
        Digits behind the point.
    """

    title: str
    style: Style = "number"
    group: str = ""
    extra: Literal["", "sd", "p"] = ""
    digits: int = 3


@dataclass(frozen=True)
class Cell:
    """An entry of a table.

    Attributes
    ----------
    value : float, str or None
        What it holds; None where there is nothing.
    extra : float or None
        The second value.
    mark : {"", "best", "differs", "incomplete"}
        What sets it apart: the best of its kind, unlike the published one, or from a part of the
        folds.
    style : str
        How its value is written; empty for as its column says.
    """

    value: float | str | None
    extra: float | None = None
    mark: Mark = ""
    style: Style | Literal[""] = ""


@dataclass(frozen=True)
class Table:
    """A table, ready to be written as HTML, LaTeX, CSV or Markdown.

    Attributes
    ----------
    id : str
        Its name in file names and links.
    title, caption : str
        What it is about, and what it shows.
    columns : tuple of Column
        Its columns.
    rows : tuple of tuple of Cell
        Its rows, sorted and filtered in the page.
    foot : tuple of tuple of Cell
        Rows that stay below the others, such as average ranks.
    notes : tuple of str
        Sentences below it.
    """

    id: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()


def text_of(value: float | str | None, style: Style = "number", digits: int = 3) -> str:
    """Write a value for readers.

    Parameters
    ----------
    value : float, str or None
        The value; None and NaN are written as a dash.
    style : str
        See `Column`.
    digits : int, default=3
        Digits behind the point.

    Returns
    -------
    str

    Examples
    --------
    >>> text_of(0.12345), text_of(-0.02, "signed"), text_of(0.0004, "p"), text_of(None)
    ('0.123', '−0.020', '<0.001', '–')
    >>> text_of(12345, "count"), text_of(3 * 2**20, "bytes")
    ('12,345', '3.0 MiB')
    >>> text_of(1.234, "seconds", digits=2), text_of(0.00123, "seconds", digits=2)
    ('1.23', '0.0012')
    """
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
        digits = 1 - math.floor(math.log10(value))  # two that say something
    if style == "signed":
        written = f"{value:+.{digits}f}"
        zero = float(written) == 0
        return written[1:] if zero else written.replace("-", "−")
    return f"{value:,.{digits}f}".replace("-", "−")


def cell_text(column: Column, cell: Cell) -> str:
    """Write a cell's value.

    Parameters
    ----------
    column : Column
        Its column.
    cell : Cell
        The cell.

    Returns
    -------
    str

    Examples
    --------
    >>> cell_text(Column("FCM", "signed"), Cell(0.5)), cell_text(Column("FCM"), Cell(None))
    ('+0.500', '–')
    """
    return text_of(cell.value, cell.style or column.style, column.digits)


def is_text(column: Column) -> bool:
    """Tell whether a column holds words, not numbers."""
    return column.style in ("text", "code")


def extra_text(column: Column, cell: Cell) -> str:
    """Write a cell's second value, or nothing.

    Parameters
    ----------
    column : Column
        Its column.
    cell : Cell
        The cell.

    Returns
    -------
    str

    Examples
    --------
    >>> extra_text(Column("FCM", extra="sd"), Cell(0.25, 0.0125)), extra_text(Column("N"), Cell(3))
    ('± 0.013', '')
    """
    if not column.extra or cell.extra is None:
        return ""
    if column.extra == "sd":
        return f"± {text_of(cell.extra, digits=column.digits)}"
    written = text_of(cell.extra, "p")
    return f"p {written}" if written.startswith("<") else f"p = {written}"


def spans(columns: Sequence[Column]) -> Iterator[tuple[str, int]]:
    """Give each run of columns of one group: its title and how many they are.

    Parameters
    ----------
    columns : sequence of Column
        The columns of a table.

    Yields
    ------
    tuple of str and int

    Examples
    --------
    >>> list(spans([Column("set"), Column("A", group="Hamming"), Column("B", group="Hamming")]))
    [('', 1), ('Hamming', 2)]
    """
    for group, members in groupby(columns, key=lambda column: column.group):
        yield group, len(list(members))
