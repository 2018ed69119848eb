"""Packages import in one direction only: from the command line down to the kernels."""

import ast
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import pairmend

PACKAGE = Path(pairmend.__file__).parent

# Each package may import from itself and from those it lists.
ALLOWED_IMPORTS = {
    "_utils": [],
    "kernels": ["_utils"],
    "frames": ["_utils"],
    "naive_bayes": ["_utils", "frames", "kernels"],
    "neighbourhoods": ["_utils", "frames", "kernels"],
    "_logistic_solver": ["_utils"],
    "model_selection": ["_utils"],
    "explanation": ["_utils", "frames", "kernels"],
    "base_classifiers": ["_logistic_solver", "_utils", "frames"],
    "forests": ["_utils", "base_classifiers"],
    "thresholds": ["_base", "_utils", "kernels", "model_selection"],
    "_base": ["_utils", "frames", "kernels", "naive_bayes"],
    "baselines": ["_base", "_utils", "frames", "kernels", "naive_bayes"],
    "pairwise": [
        "_base", "_utils", "baselines", "explanation", "frames", "kernels",
        "model_selection", "naive_bayes", "neighbourhoods",
    ],
    "mended": [
        "_base", "_logistic_solver", "_utils", "base_classifiers", "explanation", "forests",
        "frames", "kernels", "metrics", "model_selection", "neighbourhoods", "thresholds",
    ],
    "distributed": [
        "_base", "_utils", "baselines", "frames", "kernels", "mended", "model_selection",
        "naive_bayes", "pairwise", "thresholds",
    ],
    "metrics": ["_utils"],
    "plots": ["_utils", "explanation", "metrics"],
    "datasets": ["_utils"],
    "published": [],
    "stats": [],
    "study": ["_utils", "datasets", "metrics", "model_selection", "published"],
    "report": ["_utils", "datasets", "plots", "published", "stats", "study"],
    "persistence": ["_base", "_utils", "datasets", "explanation", "frames", "kernels"],
    "cli": [
        "_utils", "base_classifiers", "datasets", "frames", "metrics", "model_selection",
        "naive_bayes", "persistence", "plots", "report", "study",
    ],
    "__main__": ["cli"],
    "__init__": [
        "baselines", "mended", "naive_bayes", "neighbourhoods", "pairwise", "thresholds",
    ],
}  # fmt: skip
WITHOUT_SCIKIT_LEARN = {"kernels", "explanation", "plots", "published", "stats"}
PRIVATE_SCIKIT_LEARN = PACKAGE / "_utils" / "sklearn_private.py"
WITHOUT_PRINT = set(ALLOWED_IMPORTS) - {"cli"}
PROGRESS = PACKAGE / "_utils" / "progress.py"


MODULES = [
    pytest.param(path, id=str(path.relative_to(PACKAGE))) for path in sorted(PACKAGE.rglob("*.py"))
]


def package_of(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [node.module]
            if node.module == "pairmend":  # "from pairmend import x" is "import pairmend.x"
                names = [f"pairmend.{alias.name}" for alias in node.names]
            yield from names


@pytest.mark.parametrize("path", MODULES)
def test_imports_go_down_only(path):
    package = package_of(path)
    allowed = {package, *ALLOWED_IMPORTS[package]}
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("pairmend.")}
    assert ours <= allowed


@pytest.mark.parametrize("path", MODULES)
def test_the_mathematics_needs_no_scikit_learn(path):
    if package_of(path) in WITHOUT_SCIKIT_LEARN:
        assert not any(name.split(".")[0] == "sklearn" for name in imported(path))


@pytest.mark.parametrize("path", MODULES)
def test_private_parts_of_scikit_learn_are_used_in_one_file(path):
    if path == PRIVATE_SCIKIT_LEARN:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn"):
            assert not any(part.startswith("_") for part in node.module.split("."))
            assert not any(alias.name.startswith("_") for alias in node.names)
        if isinstance(node, ast.Attribute):
            assert node.attr not in PRIVATE_METHODS


PRIVATE_METHODS = {
    name
    for name in dir(BaseEstimator)
    if name.startswith("_") and not name.startswith("__") and name != "_repr_html_"
}
"""Private methods that estimators inherit from scikit-learn."""


@pytest.mark.parametrize("path", MODULES)
def test_only_the_command_line_and_verbose_classifiers_print(path):
    if package_of(path) in WITHOUT_PRINT and path != PROGRESS:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not any(isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls)


@pytest.mark.parametrize("path", MODULES)
def test_no_attribute_locks_its_class(path):
    """On Python 3.11 a cached_property does, and a fork beside threads then waits forever."""
    assert "cached_property" not in imported_names(path)


def imported_names(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in froms for alias in node.names}
