"""The package itself: public names, imports when they are first used, requirements."""

import inspect
import pickle
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import pairmend
from pairmend._utils.defaults import LOSS_NAMES
from pairmend.metrics import LOSSES

SUBMODULES = [name for name, _ in inspect.getmembers(pairmend, inspect.ismodule)]
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


def test_a_module_whose_requirement_is_not_installed(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pairmend.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(pairmend, "distributed", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"pairmend.distributed needs .*pip install 'dask\[array,dataframe,distributed\]'"
    assert "distributed" not in dict(inspect.getmembers(pairmend))
    with pytest.raises(AttributeError, match=message):
        _ = pairmend.distributed
    with pytest.raises(ImportError, match=message):
        import_module("pairmend.distributed")


def test_public_names():
    """Each is in the list of one module, can be pickled, and has a docstring with an example."""
    listed = [*pairmend.__all__, *SUBMODULES]
    assert dir(pairmend) == sorted([*listed, "__all__", "__doc__", "__version__"])
    tree = Path(pairmend.__file__).read_text(encoding="utf-8").partition("TYPE_CHECKING:")[2]
    assert sorted(re.findall(r"(\w+) as \1\b", tree)) == pairmend.__all__  # for type checkers
    paths = {}
    for module in (pairmend, *(import_module(f"pairmend.{name}") for name in SUBMODULES)):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                paths.setdefault(value, []).append(f"{module.__name__}.{name}")
                assert pickle.loads(pickle.dumps(value)) is value
    assert [found for found in paths.values() if len(found) > 1] == []
    assert sorted(LOSSES) == list(LOSS_NAMES)  # which the command line offers
    for name in pairmend.__all__:
        assert "Examples\n    --------" in getattr(pairmend, name).__doc__, name


def test_the_extra_of_everything_has_all_others_but_dask():
    path = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(path.read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"\w+", extras["all"][0])) == {"pairmend", *extras} - {"all", "dask"}
