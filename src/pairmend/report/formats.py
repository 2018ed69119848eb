"""Tables as CSV and Markdown, and all formats by suffix (LaTeX: latex.py)."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pairmend._utils.text import one_line
from pairmend.report.latex import to_latex
from pairmend.report.table import Cell, Column, Table, cell_text, extra_text, is_text

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠].")
"""Start of a cell that spreadsheets read as a formula; the last four are full-width signs."""
_MARKDOWN = re.compile(r"([\\`*_\[\]#|<>~&])")


def to_csv(table: Table) -> str:
    """Return a table as CSV, with all digits; second values have separate columns."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    heads: list[str] = []
    for column in table.columns:
        heads.append(_no_formula(flat_title(column)))
        if column.extra:
            heads.append(_no_formula(f"{flat_title(column)} {column.extra}"))
    writer.writerow(heads)
    for row in (*table.rows, *table.foot):
        cells: list[float | str] = []
        for column, cell in zip(table.columns, row, strict=True):
            cells.append(_raw(column, cell.value))
            if column.extra:
                cells.append(_raw(column, cell.extra))
        writer.writerow(cells)
    return file.getvalue()


def to_markdown(table: Table) -> str:
    """Return a table as GitHub's Markdown."""
    lines = [
        _markdown(" ".join(filter(None, [table.title, table.caption]))),
        "",
        _markdown_line([_markdown(flat_title(column)) for column in table.columns]),
        "|" + "|".join(":---" if is_text(c) else "---:" for c in table.columns) + "|",
        *(
            _markdown_line(
                [_markdown_cell(c, cell) for c, cell in zip(table.columns, row, strict=True)]
            )
            for row in (*table.rows, *table.foot)
        ),
    ]
    for note in table.notes:
        lines += ["", _markdown(note)]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"tex": to_latex, "csv": to_csv, "md": to_markdown}
)
"""Functions that write a table, by the suffix of the file."""


def flat_title(column: Column) -> str:
    """Return the title of a column with its group."""
    return one_line(f"{column.group} {column.title}")


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _markdown_cell(column: Column, cell: Cell) -> str:
    text = _markdown(cell_text(column, cell))
    if cell.mark:
        star = "**" if cell.mark == "best" else "*"
        text = f"{star}{text}{star}"
    extra = extra_text(column, cell)
    return f"{text} {_markdown(extra)}" if extra else text


def _markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _raw(column: Column, value: float | str | None) -> float | str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _no_formula(one_line(value))
    return int(value) if column.style in ("count", "bytes") and value == int(value) else value


def _no_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would execute as a formula."""
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
