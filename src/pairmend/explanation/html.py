"""Explanations as HTML: a page in one file, and an output of a notebook."""

from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING
from uuid import uuid4

from pairmend._utils import pages
from pairmend.explanation import view

if TYPE_CHECKING:
    from pairmend.explanation.data import Explanation


def page_of(explanations: Sequence["Explanation"], *, title: str | None = None) -> str:
    """Return explanations as a page."""
    title = title or "Explanations of predictions"
    return pages.page(title, _render(explanations, title=title, prefix="row"), style=_style())


def cell_of(explanations: Sequence["Explanation"]) -> str | None:
    """Return explanations as an output of a notebook; None without jinja2."""
    # A notebook may show the same explanation twice, and outputs of an earlier process.
    try:
        body = _render(explanations, title="", prefix=f"pairmend-{uuid4().hex}")
    except ImportError:
        return None
    return pages.cell(body, style=_style())


def _render(explanations: Sequence["Explanation"], *, title: str, prefix: str) -> str:
    environment = pages.environment("pairmend.explanation", "an explanation as HTML")
    rows = [(f"{prefix}-{number}", row) for number, row in enumerate(explanations)]
    template = environment.get_template("explanations.html.jinja")
    return str(template.render(title=title, rows=rows, view=view))


def _style() -> str:
    folder = resources.files("pairmend.explanation") / "templates"
    return (folder / "style.css").read_text(encoding="utf-8")
