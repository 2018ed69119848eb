"""The HTML page of a report, built from its sections (contents.py) by templates."""

import math
import re
from collections.abc import Mapping
from typing import Any

from pairmend._utils import pages
from pairmend.published import DOI
from pairmend.report.contents import Section
from pairmend.report.figures import Styles
from pairmend.report.table import Cell, Column, Table, cell_text, extra_text, is_text, spans

FILTERED_FROM = 8
"""Number of rows from which a table has a filter."""

WIDE = 12
"""Number of columns above which a table is set in small type."""

LONG = 32
"""Number of letters above which a text may be broken into lines."""


def render(summary: Mapping[str, Any], sections: list[Section]) -> str:
    """Return a report as an HTML page."""
    environment = pages.environment("pairmend.report", "a report")
    styles = Styles()
    environment.filters["drawing"] = lambda svg: _markup(styles.extract(svg))
    environment.filters["view"] = view
    environment.filters["unbroken"] = _unbroken
    environment.filters["linked"] = _linked
    # The body first: its drawings add rules to the style sheet.
    body = environment.get_template("body.html.jinja").render(summary=summary, sections=sections)
    return pages.page(summary["title"], body, style=styles.rules)


def view(table: Table) -> dict[str, Any]:
    """Return a table as plain data for the template."""
    return {
        "groups": list(spans(table.columns)) if any(c.group for c in table.columns) else [],
        "columns": [{"title": c.title, "kind": _kind(c)} for c in table.columns],
        "rows": [_cells(table, row) for row in table.rows],
        "foot": [_cells(table, row) for row in table.foot],
        "sorted": len(table.rows) > 1,
        "filtered": len(table.rows) >= FILTERED_FROM,
        "wide": len(table.columns) > WIDE,
    }


def _cells(table: Table, row: tuple[Cell, ...]) -> list[dict[str, Any]]:
    starts = _group_starts(table.columns)
    return [
        {
            "text": cell_text(column, cell),
            "extra": extra_text(column, cell),
            "value": _script_number(cell.value),
            "classes": " ".join(
                filter(
                    None,
                    [
                        _kind(column),
                        "start" if place in starts else "",
                        cell.mark,
                        "stacked" if column.extra == "p" else "",
                        "long" if isinstance(cell.value, str) and len(cell.value) > LONG else "",
                    ],
                )
            ),
        }
        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
    ]


def _script_number(value: float | str | None) -> float | str | None:
    """Return a number as JavaScript reads it, None for anything else."""
    if value is None or isinstance(value, str) or math.isnan(value):
        return None
    return str(value).replace("inf", "Infinity") if math.isinf(value) else value


def _kind(column: Column) -> str:
    return column.style if is_text(column) else "number"


def _group_starts(columns: tuple[Column, ...]) -> set[int]:
    """Return the columns at which a group begins."""
    return {
        place
        for place in range(1, len(columns))
        if columns[place].group != columns[place - 1].group
    }


def _unbroken(text: str) -> str:
    """Prevent line breaks in names such as FCM-O and differences such as 1 - F1."""
    joined = re.sub(r"(?<=\w)-(?=\w)", "\u2060-\u2060", text)
    return re.sub(r"(?<=\w) - (?=\w)", "\u00a0-\u2060\u00a0", joined)


def _linked(text: str) -> Any:
    """Return the paper's DOI a link; the policy allows links."""
    from markupsafe import escape

    link = f'<a href="https://doi.org/{DOI}">{DOI}</a>'
    return _markup(str(escape(text)).replace(DOI, link))


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
