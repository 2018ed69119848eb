"""Write docs/modules.md: every module of the package with the first line of its docstring."""

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pairmend"
PAGE = ROOT / "docs" / "modules.md"
HEAD = """\
# Modules

Every module of `src/pairmend` with the first line of its docstring. `make format` writes this page.
"""


def first_line(path: Path) -> str:
    """Return the first line of the docstring of a module."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def page() -> str:
    """Return the page, with a table for each package."""
    return "\n".join([HEAD, *_tables()])


def _tables() -> Iterator[str]:
    paths = sorted(PACKAGE.rglob("*.py"), key=lambda path: (path.parent, path.name))
    for folder, modules in groupby(paths, key=lambda path: path.parent):
        yield f"## {folder.relative_to(PACKAGE.parent).as_posix()}\n"
        yield "| file | content |\n|---|---|"
        for path in modules:
            text = first_line(path).replace("``", "`").replace("|", r"\|")
            yield f"| `{path.name}` | {text} |"
        yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
