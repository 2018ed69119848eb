r"""Tables as LaTeX, CSV and Markdown; escaping of characters.

LaTeX needs the packages booktabs and, for long tables, longtable.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pairmend._utils.text import one_line
from pairmend.report.table import Cell, Column, Table, cell_text, extra_text, is_text, spans

_LONG = 45
_WIDE = 10  # more columns hardly fit on a page in normal type

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "“": "``",
    "”": "''",
    "…": r"\dots{}",
    "[": "{[}",  # after a row's end LaTeX would read it as an optional argument
    "]": "{]}",
}
_MINUS = re.compile(r"(?<=\d) - (?=\w)")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠].")
"""Start of a cell that spreadsheets read as a formula; the last four are full-width signs."""
_MARKDOWN = re.compile(r"([\\`*_\[\]#|<>~&])")


def to_latex(table: Table) -> str:
    """Return a table as LaTeX."""
    kinds = "".join("l" if is_text(column) else "r" for column in table.columns)
    head = [
        r"\toprule",
        *_latex_groups(table),
        _latex_line([latex(column.title) for column in table.columns]),
        r"\midrule",
    ]
    rows = [_latex_row(table, row) for row in table.rows]
    foot = [r"\midrule", *(_latex_row(table, row) for row in table.foot)] if table.foot else []
    caption = (
        rf"\caption{{{latex(' '.join(filter(None, [table.title, table.caption, *table.notes])))}}}"
    )
    label = rf"\label{{tab:{table.id}}}"
    wide = len(table.columns) > _WIDE
    small = [r"\scriptsize", r"\setlength{\tabcolsep}{3pt}"] if wide else []
    hint = f"% {len(table.columns)} columns: if they do not fit, "
    if len(table.rows) > _LONG:
        lines = [
            r"% needs \usepackage{booktabs,longtable}",
            *([hint + "set the page sideways (package pdflscape)"] if wide else []),
            *([r"\begingroup"] if wide else []),
            *small,
            rf"\begin{{longtable}}{{{kinds}}}",
            caption,
            label + r" \\",
            *head,
            r"\endfirsthead",
            *head,
            r"\endhead",
            *rows,
            *foot,
            r"\bottomrule",
            r"\end{longtable}",
            *([r"\endgroup"] if wide else []),
        ]
    else:
        lines = [
            r"% needs \usepackage{booktabs}",
            *([hint + "put \\resizebox{\\textwidth}{!}{...} around the tabular"] if wide else []),
            r"\begin{table}",
            r"\centering",
            caption,
            label,
            *small,
            rf"\begin{{tabular}}{{{kinds}}}",
            *head,
            *rows,
            *foot,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


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


def latex(text: str) -> str:
    """Escape text for LaTeX."""
    signed = _MINUS.sub(" − ", one_line(text))
    return "".join(_LATEX.get(letter, letter) for letter in signed)


def flat_title(column: Column) -> str:
    """Return the title of a column with its group."""
    return one_line(f"{column.group} {column.title}")


def _latex_groups(table: Table) -> list[str]:
    if not any(column.group for column in table.columns):
        return []
    heads, rules, at = [], [], 1
    for group, width in spans(table.columns):
        if group:
            heads.append(rf"\multicolumn{{{width}}}{{c}}{{{latex(group)}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        else:
            heads += [""] * width
        at += width
    return [_latex_line(heads), "".join(rules)]


def _latex_row(table: Table, row: tuple[Cell, ...]) -> str:
    return _latex_line(
        [_latex_cell(column, cell) for column, cell in zip(table.columns, row, strict=True)]
    )


def _latex_cell(column: Column, cell: Cell) -> str:
    text = latex(cell_text(column, cell))
    if cell.mark:
        command = "textbf" if cell.mark == "best" else "textit"
        text = rf"\{command}{{{text}}}"
    extra = extra_text(column, cell)
    return rf"{text} {{\scriptsize {latex(extra)}}}" if extra else text


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


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
