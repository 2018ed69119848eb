"""The description of an estimator by skops: its nodes, and checks of values and of decision trees.

Every object is a JSON object, a node, which names a type, the loader that makes it, and the nodes
of its members. ``__id__`` identifies an object; a node with an earlier ``__id__`` is the same
object.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from pairmend.persistence.archive import ArrayHead, read_array, read_head

Node = dict[str, Any]

SCHEMA = "schema.json"
DESCRIPTION = "model.json"
"""Holds in a model file what skops writes to its schema: names of classes are other ones."""

SEQUENCES = ("ListNode", "SetNode", "TupleNode")
REDUCED = ("TreeNode", "LossNode")
STATEFUL = ("ObjectNode", "ConstructorFromReduceNode", "RandomStateNode", "DTypeNode")
LEAVES = ("JsonNode", "TypeNode", "FunctionNode", "SliceNode", "SparseMatrixNode")
FIELDS = {"MaskedArrayNode": ("data", "mask"), "RandomGeneratorNode": ("bit_generator", "seed_seq")}
LOADERS = {*SEQUENCES, *REDUCED, *STATEFUL, *LEAVES, *FIELDS, "DictNode", "NdArrayNode"}
"""Loaders of skops that are supported."""
WITHOUT_IDENTITY = ("JsonNode", "TypeNode", "FunctionNode")
"""Loaders of immutable values: whether two of them are one object makes no difference."""


def type_name(node: Node) -> str:
    """Return the full name of a node's type."""
    return f"{node['__module__']}.{node['__class__']}"


def is_reference(node: Node) -> bool:
    """Return whether a node only refers to an earlier one."""
    return "__loader__" not in node


def places(node: Node) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of each member of a node, in skops' order of reading."""
    loader = node["__loader__"]
    if loader in LEAVES or (loader == "NdArrayNode" and node["type"] == "numpy"):
        return
    if loader in REDUCED:
        yield node, "content"
        yield node["__reduce__"], "args"
    elif loader == "DictNode":
        yield node, "key_types"
        yield from ((node["content"], key) for key in node["content"])
    elif loader in SEQUENCES or loader == "NdArrayNode":
        yield from ((node["content"], place) for place in range(len(node["content"])))
        if loader == "NdArrayNode":
            yield node, "shape"
    elif loader in FIELDS:
        yield from ((node["content"], part) for part in FIELDS[loader])
    elif loader in STATEFUL and node.get("content") is not None:
        yield node, "content"


def members(node: Node) -> Iterator[Node]:
    """Yield the members of a node."""
    return (container[key] for container, key in places(node))


def attributes(node: Node) -> dict[str, Node]:
    """Return the attributes of an object whose state is a dict, else an empty dict."""
    state = node.get("content")
    if isinstance(state, dict) and state.get("__loader__") == "DictNode":
        content: dict[str, Node] = state["content"]
        return content
    return {}


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
