"""Whether decision trees from a file stay within their own memory.

scikit-learn follows the nodes of a tree without looking whether there is such a node or such a
feature. A forged file could make it read anywhere.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import BaseDecisionTree

from pairmend.models.trust import TREE


def check_trees(model: Any) -> None:
    """Refuse a model with a decision tree that leads nowhere.

    Parameters
    ----------
    model : object
        What was read, with all that hangs on it.

    Raises
    ------
    ValueError
        If a tree has a node without children of its own, or a feature that rows lack.
    """
    trees: list[Any] = []
    checked: list[Any] = []
    for thing in _reachable(model):
        if _is_tree(thing):
            trees.append(thing)
        elif isinstance(thing, BaseDecisionTree):
            checked += [_check_tree(thing)] if "tree_" in vars(thing) else []
        elif not isinstance(thing, BaggingClassifier | BaggingRegressor):  # trees check their rows
            for member in _members(thing):
                if _n_features(member) != _n_features(thing):
                    raise ValueError("trees of an ensemble expect other features than the ensemble")
    if {id(tree) for tree in trees} != {id(tree) for tree in checked}:
        raise ValueError("nodes of a decision tree are where none belong")


def _is_tree(thing: Any) -> bool:
    return f"{type(thing).__module__}.{type(thing).__qualname__}" == TREE


def _check_tree(owner: BaseDecisionTree) -> Any:
    tree = owner.tree_
    if not _is_tree(tree) or tree.node_count < 1:
        raise ValueError("a decision tree has no nodes")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    node = np.arange(tree.node_count)
    inner = left != -1
    # Children come after their parents, so that no path is without end.
    leads_down = all(
        ((child > node) & (child < tree.node_count))[inner].all() for child in (left, right)
    )
    known = ((feature >= 0) & (feature < tree.n_features))[inner].all()
    if not (leads_down and known):
        raise ValueError("a decision tree has nodes that lead out of it")
    if _n_features(owner) != tree.n_features:
        raise ValueError("a decision tree expects other features than its nodes")
    return tree


def _members(thing: Any) -> list[Any]:
    """Return the trees of an ensemble that may be asked without a look at the rows."""
    members = getattr(thing, "__dict__", {}).get("estimators_", ())
    flat = np.ravel(members) if isinstance(members, np.ndarray) else members
    if not isinstance(flat, list | tuple | np.ndarray):
        return []
    return [member for member in flat if isinstance(member, BaseDecisionTree)]


def _n_features(estimator: Any) -> Any:
    return vars(estimator).get("n_features_in_")


def _reachable(root: Any) -> Iterator[Any]:
    """Yield everything that hangs on an object, each thing once."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | None):
            continue
        seen[id(thing)] = thing
        yield thing
        if isinstance(thing, dict):
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset):
            waiting += thing
        elif isinstance(thing, np.ndarray):
            waiting += thing.ravel().tolist() if thing.dtype == object else []
        else:
            waiting += getattr(thing, "__dict__", {}).values()
