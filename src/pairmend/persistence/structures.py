"""Whether objects from a file stay within their own memory.

scikit-learn follows the nodes of a tree without looking whether there is such a node or such a
feature, and numpy's generators of random numbers trust their own positions. A forged file could
make them read anywhere.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import BaseDecisionTree

from pairmend._utils.typing import IntArray
from pairmend.persistence.trust import TREE


def check_structures(model: Any) -> None:
    """Refuse a model with a decision tree or a random generator that leads out of itself.

    Parameters
    ----------
    model : object
        What was read, with all that hangs on it.

    Raises
    ------
    ValueError
        If a tree has a node without children of its own, or a feature that rows lack; if a
        generator stands at a position that it does not have.
    """
    trees: list[Any] = []
    checked: list[Any] = []
    for thing in _reachable(model):
        if isinstance(thing, np.random.RandomState):
            _check_position(thing.get_state(legacy=False))
        elif isinstance(thing, np.random.Generator):
            _check_position(thing.bit_generator.state)
        elif _is_tree(thing):
            trees.append(thing)
        elif isinstance(thing, BaseDecisionTree):
            checked += [_check_tree(thing)] if "tree_" in vars(thing) else []
        elif not isinstance(thing, BaggingClassifier | BaggingRegressor):  # trees check their rows
            for member in _members(thing):
                if _n_features(member) != _n_features(thing):
                    raise ValueError("trees of an ensemble expect other features than the ensemble")
    if {id(tree) for tree in trees} != {id(tree) for tree in checked}:
        raise ValueError("nodes of a decision tree are where none belong")


def _check_position(state: Any) -> None:
    """Check a position in the numbers that a generator has drawn in advance."""
    position = state["state"].get("pos", state.get("buffer_pos", 0))
    size = len(state["state"]["key"]) if "pos" in state["state"] else len(state.get("buffer", ()))
    if not 0 <= position <= size:
        raise ValueError("a random generator stands outside of its numbers")


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
    if _depth(left, right) > tree.max_depth:
        raise ValueError("a decision tree is deeper than it declares")
    if _n_features(owner) != tree.n_features:
        raise ValueError("a decision tree expects other features than its nodes")
    return tree


def _depth(left: IntArray, right: IntArray) -> int:
    """Return the depth of a tree, level by level."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[left[level] != -1]):
        level, depth = np.unique(np.concatenate([left[level], right[level]])), depth + 1
    return depth


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
