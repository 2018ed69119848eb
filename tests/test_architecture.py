"""Rooms import in one direction only: from the command line down to the kernels."""

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
    "model_selection": ["_utils", "frames"],
    "explanation": ["_utils", "frames", "kernels"],
    "base_classifiers": ["_logistic_solver", "_utils", "frames"],
    "forests": ["_utils", "base_classifiers"],
    "thresholds": ["_base", "_utils", "kernels", "model_selection"],
    "_base": ["_utils", "frames", "kernels"],
    "baselines": ["_base", "_utils", "frames", "kernels", "naive_bayes"],
    "pairwise": [
        "_base", "_utils", "baselines", "explanation", "frames", "kernels",
        "model_selection", "naive_bayes", "neighbourhoods", "thresholds",
    ],
    "mended": [
        "_base", "_logistic_solver", "_utils", "base_classifiers", "explanation", "forests",
        "frames", "kernels", "metrics", "model_selection", "neighbourhoods", "thresholds",
    ],
    "distributed": [
        "_base", "_logistic_solver", "_utils", "base_classifiers", "forests",
        "frames", "kernels", "mended", "model_selection", "naive_bayes", "pairwise", "thresholds",
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
PROGRESS = PACKAGE / "_utils" / "progress.py"
PRIVATE_METHODS = {
    name
    for name in dir(BaseEstimator)
    if name.startswith("_") and not name.startswith("__") and name != "_repr_html_"
}
"""Private methods that estimators inherit from scikit-learn."""


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_what_a_module_may_use(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not any(node.level for node in froms), "imports are absolute"
    modules = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    modules |= {node.module for node in froms if node.module != "pairmend"}
    # "from pairmend import x" is "import pairmend.x"
    modules |= {
        f"pairmend.{each.name}" for n in froms if n.module == "pairmend" for each in n.names
    }
    ours = {name.split(".")[1] for name in modules if name.startswith("pairmend.")}
    assert ours <= {room, *ALLOWED_IMPORTS[room]}, "imports go down only"
    if room in WITHOUT_SCIKIT_LEARN:
        assert not any(name.split(".")[0] == "sklearn" for name in modules)
    if room != "plots":
        assert not any(name.split(".")[0] == "matplotlib" for name in modules)
    if path != PRIVATE_SCIKIT_LEARN:
        of_sklearn = [node for node in froms if node.module.startswith("sklearn")]
        names = {alias.name for node in of_sklearn for alias in node.names}
        parts = {part for node in of_sklearn for part in node.module.split(".")}
        assert not any(name.startswith("_") for name in names | parts)
        assert not PRIVATE_METHODS & {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    if room != "cli" and path != PROGRESS:
        called = {node.func for node in nodes if isinstance(node, ast.Call)}
        assert "print" not in {each.id for each in called if isinstance(each, ast.Name)}
    # On Python 3.11 a cached_property locks its class, and a fork beside threads waits forever.
    assert "cached_property" not in {alias.name for node in froms for alias in node.names}
