"""Writes the pages of the API reference: an overview, and a page for each public module.

The names are those of docs/api_groups.py, which a test compares with the package. autosummary
writes the page of each name.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from api_groups import GROUPS
from sphinx.application import Sphinx
from sphinx.config import Config

TITLE = "API reference"


def _module(name: str) -> ModuleType:
    return import_module("pairmend" if name == "pairmend" else f"pairmend.{name}")


def _summary(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").partition("\n")[0]


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _module_page(module: ModuleType, groups: dict[str, list[str]]) -> Iterator[str]:
    yield f".. _{module.__name__}:\n"
    yield _heading(module.__name__, "=")
    yield f".. py:module:: {module.__name__}\n\n.. currentmodule:: {module.__name__}\n"
    yield (inspect.getdoc(module) or "") + "\n"
    for title, names in groups.items():
        if title:
            yield _heading(title, "-")
        yield ".. autosummary::\n   :toctree: objects\n   :nosignatures:\n"
        yield from (f"   {name}" for name in names)
        yield ""


def _overview() -> Iterator[str]:
    yield _heading(TITLE, "=")
    yield "All public names by module; those of the first are imported from `pairmend`.\n"
    yield ".. list-table::\n   :widths: 30 70\n"
    for name in GROUPS:
        module = _module(name)
        yield f"   * - :ref:`{module.__name__} <{module.__name__}>`"
        yield f"     - {_summary(module)}"
    yield "\n.. toctree::\n   :hidden:\n"
    yield from (f"   {_module(name).__name__}" for name in GROUPS)


def _write(path: Path, lines: Iterator[str]) -> None:
    """Write a page unless it is the same: Sphinx reads changed pages only."""
    text = "\n".join(lines) + "\n"
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_pages(app: Sphinx, _: Config) -> None:
    """Write all pages before Sphinx looks for them."""
    folder = Path(app.srcdir) / "generated"
    _write(folder / "index.rst", _overview())
    for name, groups in GROUPS.items():
        module = _module(name)
        _write(folder / f"{module.__name__}.rst", _module_page(module, groups))


# References to pages of other projects, as in docstrings of scikit-learn: `:ref:`text <label>``.
_REFERENCE = re.compile(r":(ref|term):`([^`<]*?)\s*(<[^>`]*>)?`")


def without_references(
    _: Sphinx, kind: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace references to pages of scikit-learn by their text, in inherited docstrings."""
    module = getattr(obj, "__module__", None) or ""
    if module.startswith("pairmend"):
        return
    lines[:] = [_REFERENCE.sub(r"\2", line) for line in lines]


_FULL_NAMES = {
    name: f"{_module(module).__name__}.{name}"
    for module, groups in GROUPS.items()
    for names in groups.values()
    for name in names
}
"""Public names with their modules, by the names alone."""


def find_name(app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """Return a reference to a public name that a docstring of another module names alone."""
    full = _FULL_NAMES.get(node.get("reftarget"))
    if full is None:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, content)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the start of a build, to the reading of docstrings and to missing references."""
    app.connect("config-inited", write_pages)
    app.connect("missing-reference", find_name)
    # Before numpydoc, whose priority is the default, 500.
    app.connect("autodoc-process-docstring", without_references, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
