"""Checking indices of decision trees and random generators after loading.

scikit-learn does not check the indices of nodes and features of a tree, and numpy's generators of
random numbers do not check their positions. A forged file could make them read any memory.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import BaseDecisionTree

from pairmend._utils.typing import IntArray
from pairmend.persistence.trust import TREE


def check_structures(model: Any) -> None:
    """Raise an error for a decision tree or random generator with an index out of its range."""
    trees: list[Any] = []
    checked: list[Any] = []
    for value in reachable(model):
        if isinstance(value, np.random.RandomState):
            _check_position(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            _check_position(value.bit_generator.state)
        elif _is_tree(value):
            trees.append(value)
        elif isinstance(value, BaseDecisionTree):
            checked += [_check_tree(value)] if "tree_" in vars(value) else []
        elif not isinstance(
            value, BaggingClassifier | BaggingRegressor
        ):  # their trees check the rows
            for member in _members(value):
                if _n_features(member) != _n_features(value):
                    raise ValueError("trees of an ensemble expect other features than the ensemble")
    if {id(tree) for tree in trees} != {id(tree) for tree in checked}:
        raise ValueError("nodes of a decision tree are outside of a decision tree")


def _check_position(state: Any) -> None:
    """Check the position in the buffer of a random generator."""
    position = state["state"].get("pos", state.get("buffer_pos", 0))
    size = len(state["state"]["key"]) if "pos" in state["state"] else len(state.get("buffer", ()))
    if not 0 <= position <= size:
        raise ValueError("a random generator has a position outside of its buffer")


def _is_tree(value: Any) -> bool:
    return f"{type(value).__module__}.{type(value).__qualname__}" == TREE


def _check_tree(owner: BaseDecisionTree) -> Any:
    tree = owner.tree_
    if not _is_tree(tree) or tree.node_count < 1:
        raise ValueError("a decision tree has no nodes")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    node = np.arange(tree.node_count)
    inner = left != -1
    # Children come after their parents, so that every path ends.
    leads_down = all(
        ((child > node) & (child < tree.node_count))[inner].all() for child in (left, right)
    )
    in_range = ((feature >= 0) & (feature < tree.n_features))[inner].all()
    if not (leads_down and in_range):
        raise ValueError("a decision tree has nodes with children or features out of range")
    if _depth(left, right) > tree.max_depth:
        raise ValueError("a decision tree is deeper than it declares")
    if _n_features(owner) != tree.n_features:
        raise ValueError("a decision tree expects other features than its nodes")
    return tree


def _depth(left: IntArray, right: IntArray) -> int:
    """Return the depth of a tree."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[left[level] != -1]):
        level, depth = np.unique(np.concatenate([left[level], right[level]])), depth + 1
    return depth


def _members(value: Any) -> list[Any]:
    """Return the trees of an ensemble, which it calls without checking the features of rows."""
    members = getattr(value, "__dict__", {}).get("estimators_", ())
    flat = np.ravel(members) if isinstance(members, np.ndarray) else members
    if not isinstance(flat, list | tuple | np.ndarray):
        return []
    return [member for member in flat if isinstance(member, BaseDecisionTree)]


def _n_features(estimator: Any) -> Any:
    return vars(estimator).get("n_features_in_")


def reachable(root: Any) -> Iterator[Any]:
    """Yield every object that is reachable from another, each one once."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | type | None):
            continue
        seen[id(value)] = value
        yield value
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            waiting += value
        elif isinstance(value, np.ndarray):
            waiting += value.ravel().tolist() if value.dtype == object else []
        else:
            waiting += getattr(value, "__dict__", {}).values()
