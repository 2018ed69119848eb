"""docs/modules.md lists what each module contains."""

import pytest

from docs.list_modules import PACKAGE, PAGE, first_line, page


def test_the_page_of_modules_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/list_modules.py"


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=str(p.relative_to(PACKAGE))) for p in sorted(PACKAGE.rglob("*.py"))]
)
def test_the_first_line_of_a_docstring_is_a_whole_sentence(path):
    line = first_line(path)
    assert line.endswith(".")
    assert len(line) <= 100
