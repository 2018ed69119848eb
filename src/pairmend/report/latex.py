r"""Tables as LaTeX, not wider than the text; escaping of characters.

The packages are array, booktabs, graphicx and, for long tables, longtable. Long texts are wrapped,
and a table that is still too wide is scaled down, or cut into parts if its type would be too small.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pairmend._utils.text import one_line
from pairmend.report.table import Cell, Column, Table, cell_text, extra_text, is_text, spans

MOST_ROWS = 45
"""Number of rows of a table on one page."""

TEXT_WIDTH = 345.0
"""Points, the width of the text of LaTeX's article class, for which columns are laid out."""

SMALLEST = 0.5
"""Scale below which a table is cut into parts."""

SIZES = {1.0: "normalsize", 0.93: "small", 0.85: "footnotesize", 0.8: "scriptsize", 0.68: "tiny"}
"""Sizes of type by the width of their digits, for tables over several pages: none can be scaled."""

LETTER, GAP = 5.3, 12.0
"""Points, the estimated widths of a letter and of the gap between columns."""

LONG_TEXT = 24
"""Number of letters above which the texts of a column are wrapped."""

LONG_WORD = 12
"""Number of letters above which a word of a wrapped text may be broken."""

NARROWEST = 80.0
"""Points, the least width of a column of wrapped texts."""

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
_PIECE = re.compile(rf"[^\W_]{{1,{LONG_WORD}}}[\W_]*|[\W_]+")
"""Parts of a long word between which it may be broken."""


def to_latex(table: Table) -> str:
    """Return a table as LaTeX: one table, or several of its columns."""
    parts = [_narrowed(table, columns) for columns in _blocks(table)]
    head = r"% needs \usepackage{array,booktabs,graphicx,longtable}"
    made = [_environment(table, part, at, len(parts)) for at, part in enumerate(parts, 1)]
    return "\n".join([head, *made]) + "\n"


def latex(text: str, *, breakable: bool = False) -> str:
    """Escape text for LaTeX; long words of `breakable` text get places to break a line."""
    signed = _MINUS.sub(" − ", one_line(text))
    if not breakable:
        return _escaped(signed)
    words = (
        r"\allowbreak{}".join(map(_escaped, _PIECE.findall(word)))
        if len(word) > LONG_WORD
        else _escaped(word)
        for word in signed.split(" ")
    )
    return " ".join(words)


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _blocks(table: Table) -> list[list[int]]:
    """Return the columns of each part: those before the first group, and some of the others."""
    widths = [layout.width for layout in _layouts(table)]
    most = TEXT_WIDTH / (min(SIZES) if len(table.rows) > MOST_ROWS else SMALLEST)
    if sum(widths) <= most:
        return [list(range(len(table.columns)))]
    groups = list(spans(table.columns))
    n_lead = groups[0][1] if len(groups) > 1 and not groups[0][0] else 1
    lead, at = list(range(n_lead)), n_lead
    blocks: list[list[int]] = [[]]
    room = most - sum(widths[:n_lead])
    for _, width in spans(table.columns[n_lead:]):
        members = list(range(at, at + width))
        at += width
        whole = sum(widths[place] for place in members) <= room
        for some in [members] if whole else [[place] for place in members]:
            used = sum(widths[place] for place in [*blocks[-1], *some])
            if blocks[-1] and used > room:
                blocks.append([])
            blocks[-1] += some
    return [[*lead, *block] for block in blocks]


def _narrowed(table: Table, columns: Sequence[int]) -> Table:
    def of(row: Sequence[Cell]) -> tuple[Cell, ...]:
        return tuple(row[place] for place in columns)

    kept = tuple(table.columns[place] for place in columns)
    return replace(
        table, columns=kept, rows=tuple(map(of, table.rows)), foot=tuple(map(of, table.foot))
    )


@dataclass(frozen=True)
class _Layout:
    """Estimated width of a column in points, and whether its texts are wrapped."""

    width: float
    wrapped: bool


def _layouts(table: Table) -> list[_Layout]:
    """Estimate the widths of columns; wrapped ones share the room that the others leave."""
    letters = [
        max(
            len(column.title),
            *(
                len(cell_text(column, row[place])) + len(extra_text(column, row[place]))
                for row in (*table.rows, *table.foot)
            ),
            0,
        )
        for place, column in enumerate(table.columns)
    ]
    wrapped = [is_text(c) and n > LONG_TEXT for c, n in zip(table.columns, letters, strict=True)]
    each = list(zip(letters, wrapped, strict=True))
    room = TEXT_WIDTH - sum(LETTER * n + GAP for n, is_wrapped in each if not is_wrapped)
    total = sum(n**0.5 for n, is_wrapped in each if is_wrapped)
    widths = [
        max(NARROWEST, room * n**0.5 / total) if is_wrapped else LETTER * n + GAP
        for n, is_wrapped in each
    ]
    at = -1
    for group, n_columns in spans(table.columns):
        at += n_columns
        # The title of a group that is wider than its columns widens the last of them.
        own = sum(widths[at - n_columns + 1 : at + 1])
        widths[at] += max(0.0, LETTER * len(group) + GAP - own) if group else 0.0
    return list(map(_Layout, widths, wrapped))


def _kind(column: Column, layout: _Layout) -> str:
    """Return LaTeX's specification of a column."""
    if not layout.wrapped:
        return "l" if is_text(column) else "r"
    share = (layout.width - GAP) / TEXT_WIDTH
    return rf">{{\raggedright\arraybackslash}}p{{{share:.3f}\linewidth}}"


def _environment(table: Table, part: Table, number: int, n_parts: int) -> str:
    layouts = _layouts(part)
    kinds = "".join(map(_kind, part.columns, layouts))
    head = [
        r"\toprule",
        *_groups(part),
        _line([latex(column.title) for column in part.columns]),
        r"\midrule",
    ]
    rows = [_row(part, row, layouts) for row in part.rows]
    foot = [r"\midrule", *(_row(part, row, layouts) for row in part.foot)] if part.foot else []
    title = f"{table.title} Part {number} of {n_parts}." if n_parts > 1 else table.title
    notes = [table.caption, *table.notes] if number == 1 else []
    caption = rf"\caption{{{latex(' '.join(filter(None, [title, *notes])))}}}"
    label = rf"\label{{tab:{table.id}{f'-{number}' if number > 1 else ''}}}"
    if len(part.rows) > MOST_ROWS:
        scale = TEXT_WIDTH / sum(layout.width for layout in layouts)
        size = next((name for step, name in SIZES.items() if step <= scale), "tiny")
        lines = [
            rf"\begingroup\{size}\setlength{{\tabcolsep}}{{3pt}}",
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
            r"\endgroup",
        ]
    else:
        lines = [
            r"\begin{table}",
            r"\centering",
            caption,
            label,
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{kinds}}}",
            *head,
            *rows,
            *foot,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
    return "\n".join(lines)


def _groups(table: Table) -> list[str]:
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
    return [_line(heads), "".join(rules)]


def _row(table: Table, row: tuple[Cell, ...], layouts: Sequence[_Layout]) -> str:
    return _line(
        [
            _cell(column, cell, layout.wrapped)
            for column, cell, layout in zip(table.columns, row, layouts, strict=True)
        ]
    )


def _cell(column: Column, cell: Cell, wrapped: bool) -> str:
    text = latex(cell_text(column, cell), breakable=wrapped)
    if cell.mark:
        command = "textbf" if cell.mark == "best" else "textit"
        text = rf"\{command}{{{text}}}"
    extra = extra_text(column, cell)
    return rf"{text} {{\scriptsize {latex(extra)}}}" if extra else text


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
