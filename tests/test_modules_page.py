"""docs/modules.md lists what each module contains, and CONTRIBUTING.md names existing files."""

import re

import pytest

from docs.list_modules import PACKAGE, PAGE, ROOT, first_line, page


def test_the_page_of_modules_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/list_modules.py"


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=str(p.relative_to(PACKAGE))) for p in sorted(PACKAGE.rglob("*.py"))]
)
def test_the_first_line_of_a_docstring_is_a_whole_sentence(path):
    line = first_line(path)
    assert line.endswith(".")
    assert len(line) <= 100


def test_files_named_in_the_contributing_page_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+\.(?:py|md|txt|toml))`", text))
    assert len(named) > 30
    assert [name for name in named if not any((p / name).exists() for p in (ROOT, PACKAGE))] == []
