"""Imports go one way: from what people call down to the mathematics."""

import ast
from pathlib import Path

import pytest

import pairmend

PACKAGE = Path(pairmend.__file__).parent

# Each room may import from its own and from those it lists.
ROOMS = {
    "_typing": [],
    "_columns": [],
    "_pairs": ["_typing"],
    "_weights": ["_typing"],
    "_lazy": [],
    "_products": ["_typing"],
    "compiled": ["_products", "_typing"],
    "_compiled": ["compiled"],
    "kernels": ["_compiled", "_pairs", "_products", "_threads", "_typing"],
    "_frames": ["_typing"],
    "frames": ["_frames", "_typing", "_validation"],
    "_cells": ["_typing"],
    "_threads": [],
    "_survey": ["_cells", "_compiled", "_streaming", "_threads", "_typing", "frames"],
    "_basis": ["_cells", "_lazy", "_survey", "_typing"],
    "_validation": ["_columns", "_frames", "_products", "_typing", "_weights"],
    "_streaming": ["_typing"],
    "naive_bayes": [
        "_cells", "_frames", "_survey", "_typing", "_validation", "_weights", "frames",
    ],
    "neighbourhoods": [
        "_cells", "_frames", "_typing", "_validation", "_weights", "frames", "kernels",
    ],
    "learners": [
        "_basis", "_cells", "_compiled", "_frames", "_lazy", "_pairs", "_products",
        "_streaming", "_threads", "_typing", "_validation", "_weights", "frames", "kernels",
        "naive_bayes",
    ],
    "model_selection": ["_typing"],
    "_parameters": ["_validation"],
    "_base": [
        "_pairs", "_parameters", "_streaming", "_typing", "_validation", "kernels", "learners",
        "naive_bayes",
    ],
    "pairwise": ["_base", "_typing", "_validation", "learners"],
    "calibrated": ["_validation", "pairwise"],
    "_watching": ["_pairs", "_streaming", "_typing", "_validation", "kernels", "learners"],
    "explanation": ["_typing", "kernels"],
    "_explaining": ["_typing", "_validation", "explanation", "kernels"],
    "_growing": ["_base", "_frames", "_typing", "_validation", "learners", "naive_bayes"],
    "corrected": [
        "_base", "_explaining", "_growing", "_pairs", "_watching", "_typing", "_validation",
        "_weights", "explanation", "kernels", "learners", "model_selection", "neighbourhoods",
    ],
    "thresholds": ["_typing", "_validation", "_weights", "kernels"],
    "_cross_fitting": ["_typing", "_validation", "model_selection"],
    "thresholded": ["_cross_fitting", "_typing", "_validation", "_weights", "thresholds"],
    "mending": [
        "_frames", "_streaming", "_typing", "_validation", "_weights", "explanation", "frames",
        "kernels",
        "neighbourhoods", "thresholds",
    ],
    "bases": ["_frames", "_typing", "_validation", "frames"],
    "mended": [
        "_cross_fitting", "_parameters", "_typing", "_validation", "_weights", "bases",
        "explanation", "frames", "kernels", "mending", "rivals", "thresholds",
    ],
    "family": [
        "_base", "_pairs", "_streaming", "_typing", "_validation", "_weights", "_watching",
        "calibrated", "frames", "kernels", "learners", "model_selection", "neighbourhoods",
        "rivals",
    ],
    "rivals": [
        "_frames", "_parameters", "_typing", "_validation", "_weights", "frames", "kernels",
        "naive_bayes",
    ],
    "distributed": [
        "_base", "_basis", "_cells", "_frames", "_pairs", "_streaming", "_survey", "_typing",
        "_validation", "corrected", "frames", "learners", "naive_bayes", "pairwise",
    ],
    "metrics": ["_typing", "_validation"],
    "plots": ["_typing", "explanation", "metrics"],
    "datasets": ["_typing", "_validation", "plots"],
    "published": [],
    "stats": [],
    "study": ["_cross_fitting", "_typing", "_validation", "datasets", "metrics", "model_selection"],
    "report": ["datasets", "plots", "published", "stats", "study"],
    "models": ["_columns", "_typing", "datasets", "kernels"],
    "cli": [
        "_typing", "bases", "datasets", "metrics", "model_selection", "models", "naive_bayes",
        "plots", "report", "study",
    ],
    "__main__": ["cli"],
    "__init__": [
        "calibrated", "corrected", "family", "mended", "naive_bayes", "neighbourhoods", "pairwise",
        "rivals", "thresholded",
    ],
}  # fmt: skip
WITHOUT_SCIKIT_LEARN = {
    "_typing", "_pairs", "_weights", "_cells", "_compiled", "compiled", "kernels", "_frames",
    "_survey", "explanation", "plots", "published", "stats",
}  # fmt: skip
WITHOUT_PRINT = set(ROOMS) - {"cli"}


MODULES = [
    pytest.param(path, id=str(path.relative_to(PACKAGE))) for path in sorted(PACKAGE.rglob("*.py"))
]


def room_of(path):
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
    room = room_of(path)
    allowed = {room, *ROOMS[room]}
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("pairmend.")}
    assert ours <= allowed


@pytest.mark.parametrize("path", MODULES)
def test_the_mathematics_needs_no_scikit_learn(path):
    if room_of(path) in WITHOUT_SCIKIT_LEARN:
        assert not any(name.split(".")[0] == "sklearn" for name in imported(path))


@pytest.mark.parametrize("path", MODULES)
def test_private_parts_of_scikit_learn_are_met_in_one_place(path):
    if room_of(path) == "_validation":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn"):
            assert not any(part.startswith("_") for part in node.module.split("."))
            assert not any(alias.name.startswith("_") for alias in node.names)


@pytest.mark.parametrize("path", MODULES)
def test_only_the_command_line_prints(path):
    if room_of(path) in WITHOUT_PRINT:
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
