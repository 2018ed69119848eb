"""Checking values and array shapes of decision trees in the description of an estimator."""

import json
from collections.abc import Callable
from typing import Any

from pairmend.persistence.arrays import ArrayHead, read_array, read_head
from pairmend.persistence.schema import Node, attributes

MAX_CLASSES = 2**31


def literal(node: Any) -> Any:
    """Return the number, text, bool or None that a node holds; anything else is an error."""
    text = node.get("content") if isinstance(node, dict) else None
    if not isinstance(text, str) or node.get("__loader__") != "JsonNode":
        raise ValueError("expected a number or a text, got something else")
    value = json.loads(text)
    if value is not None and not isinstance(value, str | bool | int | float):
        raise ValueError("expected a number or a text, got a list or a dict")
    return value


def check_tree(node: Node, read: Callable[[Node], bytes]) -> None:
    """Check the sizes of a decision tree, which scikit-learn does not check; `read` reads files."""
    reduced, state = node.get("__reduce__"), attributes(node)
    args = reduced.get("args") if isinstance(reduced, dict) else None
    sizes = args.get("content") if isinstance(args, dict) else None
    if not isinstance(sizes, list) or len(sizes) != 3:
        raise ValueError("a decision tree has no sizes")
    n_features, n_outputs = literal(sizes[0]), literal(sizes[2])
    if type(n_features) is not int or type(n_outputs) is not int:
        raise ValueError("a decision tree has sizes that are no integers")
    if _file_kind(sizes[1]) != "numpy":
        raise ValueError("a decision tree has no numbers of classes")
    n_classes = read_array(read(sizes[1]))
    if n_classes.ndim != 1 or n_classes.dtype.kind != "i" or not 1 <= n_outputs == len(n_classes):
        raise ValueError("a decision tree has numbers of classes that do not match its outputs")
    if n_features < 1 or (n_classes < 1).any() or (n_classes >= MAX_CLASSES).any():
        raise ValueError("a decision tree has impossible numbers of features or classes")
    heads = {name: _head(state.get(name), read) for name in ("nodes", "values")}
    shape = (*heads["nodes"].shape, n_outputs, int(n_classes.max()))
    n_nodes = literal(state.get("node_count"))
    if len(heads["nodes"].shape) != 1 or heads["values"].shape != shape:
        raise ValueError("a decision tree has values whose shape does not match its nodes")
    if type(n_nodes) is not int or not 1 <= n_nodes == shape[0]:
        raise ValueError("a decision tree has another number of nodes than it declares")
    if type(literal(state.get("max_depth"))) is not int:
        raise ValueError("a decision tree has no depth")


def _file_kind(node: Any) -> Any:
    is_array = isinstance(node, dict) and node.get("__loader__") == "NdArrayNode"
    return node.get("type") if is_array else None


def _head(node: Any, read: Callable[[Node], bytes]) -> ArrayHead:
    if _file_kind(node) != "numpy":
        raise ValueError("a decision tree has no nodes or values")
    return read_head(read(node))
