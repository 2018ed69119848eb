"""The package itself."""

import ast
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pairmend
from pairmend._utils.defaults import LOSS_NAMES
from pairmend.metrics import LOSSES

ROOT = Path(__file__).parents[1]


LIGHT = """
import contextlib, io, sys
import pairmend
from pairmend.cli import main

HEAVY = {"sklearn", "scipy", "pandas", "numpy", "joblib"}

def imported(part):
    print(part, *sorted(HEAVY & set(sys.modules)))

print("dir", len(dir(pairmend)))
imported("import")
commands = ("fit", "predict", "evaluate", "explain", "study", "report", "datasets")
for words in (["--version"], ["--help"], *([command, "--help"] for command in commands)):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
        main(words)
    assert "pairmend" in shown.getvalue()
    imported(words[0])
print("pairmend.plots" in sys.modules, pairmend.plots.__name__)
from pairmend import *
print(PairwiseClassifier is pairmend.PairwiseClassifier, MendedClassifier.__module__)
"""


def test_classes_and_modules_are_imported_at_first_access():
    """Importing the package and showing help need neither scikit-learn nor numpy."""
    shown = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert shown == [
        f"dir {len(dir(pairmend))}",
        *("import", "--version", "--help"),
        *("fit", "predict", "evaluate", "explain", "study", "report", "datasets"),
        "False pairmend.plots",
        "True pairmend.mended.estimator",
    ]
    with pytest.raises(AttributeError, match="module 'pairmend' has no attribute 'nothing'"):
        _ = pairmend.nothing


def test_names_are_imported_from_the_modules_that_type_checkers_see():
    tree = ast.parse(Path(pairmend.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module.removeprefix("pairmend.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pairmend.")
        for alias in node.names
    }
    assert seen == pairmend._MODULES
    assert sorted(seen) == pairmend.__all__
    for name in pairmend.__all__:
        assert pickle.loads(pickle.dumps(getattr(pairmend, name))) is getattr(pairmend, name)


def test_the_command_line_offers_all_losses():
    assert sorted(LOSSES) == list(LOSS_NAMES)


def test_every_requirement_has_a_pinned_oldest_version():
    """``make constraints`` renews them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    groups = [*project["optional-dependencies"].values(), settings["dependency-groups"]["test"]]
    lines = [*project["dependencies"], *(line for group in groups for line in group)]
    needed = {re.split(r"[^\w.-]", line)[0] for line in lines} - {"pairmend", "river"}
    pinned = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    assert needed <= {line.split("==")[0] for line in pinned}
