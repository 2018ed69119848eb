"""The package itself."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pairmend

ROOT = Path(__file__).parents[1]


def test_modules_are_imported_at_first_access():
    program = (
        "import sys, pairmend; print('pairmend.plots' in sys.modules, pairmend.plots.__name__)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == ["False", "pairmend.plots"]
    with pytest.raises(AttributeError, match="module 'pairmend' has no attribute 'nothing'"):
        _ = pairmend.nothing


def test_every_requirement_has_a_pinned_oldest_version():
    """``make constraints`` renews them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tested = {name for name in extras if name != "soak"}
    lines = [*project["dependencies"], *(line for name in tested for line in extras[name])]
    needed = {re.split(r"[^\w.-]", line)[0] for line in lines} - {"pairmend", "river"}
    pinned = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    assert needed <= {line.split("==")[0] for line in pinned}
