"""Table: a data frame with the texts of its cells, as HTML rows, CSV, Markdown and LaTeX."""

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from pairmend._utils.text import one_line

COUNTS = dict.fromkeys(("No.", "sets", "tasks"), "count")
KINDS = {
    **COUNTS,
    **dict.fromkeys(("N", "d", "L", "won", "tied", "lost"), "count"),
    **dict.fromkeys(("difference", "low", "high", "effect", "t", "ρ"), "signed"),
    **dict.fromkeys(("p", "adjusted p", "Nemenyi p", "printed p", "p of F"), "p"),
}
"""Kinds of numbers by the title of their column; others have three digits."""
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠].")
"""Start of a cell that spreadsheets read as a formula; the last four are full-width signs."""
_MARKDOWN = re.compile(r"([\\`*_\[\]#|<>~&])")
_STARS = {"": "", "best": "**", "differs": "*"}
_COMMANDS = {"": "{}", "best": r"\textbf{{{}}}", "differs": r"\textit{{{}}}"}
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"$<$",
    ">": r"$>$", "|": r"$|$", "±": r"$\pm$", "−": r"$-$", "–": "--", "×": r"$\times$",
    "χ": r"$\chi$", "²": r"$^2$", "ρ": r"$\rho$", "∞": r"$\infty$", "≥": r"$\ge$",
    "“": "``", "”": "''", "…": r"\dots{}",
    # After the end of a row LaTeX would read a bracket as an optional argument.
    "[": "{[}", "]": "{]}",
})  # fmt: skip


class Cell(NamedTuple):
    """Text of a cell, and how it is emphasised: "", "best" or "differs"."""

    text: str
    mark: str


class Table:
    """A data frame to show; its index becomes columns.

    `style` is the kind of numbers in columns that `kinds` does not have; `marks` is a frame with
    "best" or "differs" for cells to emphasise. Adjusted p-values below `alpha` are emphasised.
    """

    def __init__(
        self,
        id: str,
        title: str,
        frame: pd.DataFrame,
        caption: str = "",
        *,
        kinds: Mapping[str, str] = KINDS,
        style: str = "number",
        marks: pd.DataFrame | None = None,
        alpha: float = 0.0,
    ) -> None:
        self.id, self.title, self.caption = id, title, caption
        self.frame = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
        self.heads = [_head(column) for column in self.frame.columns]
        groups = [(name, len(list(some))) for name, some in groupby(self.heads, lambda h: h[0])]
        self.groups = groups if len(groups) > 1 else []
        self.is_number = [
            any(not isinstance(value, str | None) for value in self.frame.iloc[:, k])
            for k in range(len(self.heads))
        ]
        self.rows: list[list[Cell]] = [[] for _ in range(len(self.frame))]
        for place, ((_, title_of), column) in enumerate(zip(self.heads, self.frame, strict=True)):
            kind = kinds.get(title_of, style)
            is_adjusted = title_of == "adjusted p" or style == "p"
            for number, value in enumerate(self.frame.iloc[:, place]):
                mark = "" if marks is None or column not in marks else marks[column].iloc[number]
                if is_adjusted and not isinstance(value, str | None) and value < alpha:
                    mark = "best"
                self.rows[number].append(Cell(text_of(value, kind), mark))

    def to_csv(self) -> str:
        """Return the table as CSV, with all digits."""
        plain = self.frame.map(lambda v: _no_formula(one_line(v)) if isinstance(v, str) else v)
        heads = [_no_formula(one_line(f"{group} {title}")) for group, title in self.heads]
        return plain.set_axis(heads, axis=1).convert_dtypes().to_csv(index=False)

    def to_markdown(self) -> str:
        """Return the table as GitHub's Markdown."""
        heads = [_escaped_markdown(f"{group} {title}") for group, title in self.heads]
        rows = [
            [f"{_STARS[mark]}{_escaped_markdown(text)}{_STARS[mark]}" for text, mark in row]
            for row in self.rows
        ]
        lines = [heads, ["---:" if number else ":---" for number in self.is_number], *rows]
        title = _escaped_markdown(f"{self.title} {self.caption}")
        return "\n".join([title, "", *(f"| {' | '.join(line)} |" for line in lines), ""])

    def to_latex(self) -> str:
        """Return the table as LaTeX, on several pages if it is long."""
        rows = [[_COMMANDS[mark].format(latex(text)) for text, mark in row] for row in self.rows]
        heads: Any = [latex(title) for _, title in self.heads]
        if self.groups:
            heads = pd.MultiIndex.from_arrays([[latex(group) for group, _ in self.heads], heads])
        style = pd.DataFrame(rows, columns=heads).style.hide(axis="index")
        text: str = style.to_latex(
            environment="longtable",
            caption=latex(f"{self.title} {self.caption}"),
            label=f"tab:{self.id}",
            column_format="".join("r" if number else "l" for number in self.is_number),
            multicol_align="c",
            hrules=True,
        )
        return f"% needs \\usepackage{{booktabs,longtable}}\n{text}"


def text_of(value: Any, kind: str = "number") -> str:
    """Format a value for readers."""
    if isinstance(value, str):
        return one_line(value)
    if value is None or value != value:
        return "–"
    if kind == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "short":
        return f"{value:,.2f}" if value >= 0.01 else f"{value:.2g}"
    digits = {"count": 0}.get(kind, 3)
    sign = "+" if kind == "signed" and round(value, digits) else ""
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}".replace("-", "−").replace("inf", "∞")


def latex(text: str) -> str:
    """Escape text for LaTeX."""
    return one_line(text).translate(_LATEX)


def _head(column: Any) -> tuple[str, str]:
    """Return group and title of a column."""
    group, title = column if isinstance(column, tuple) and column[1] else ("", column)
    return str(group), str(title[0] if isinstance(title, tuple) else title)


def _escaped_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _no_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would execute as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text
