"""Functions that read ``schema.json``, the description of an estimator by skops.

Every object is a JSON object, a node, which names a type, the loader that makes it, and the nodes
of its members. ``__id__`` identifies an object; a node with an earlier ``__id__`` is the same
object.
"""

from collections.abc import Iterator
from typing import Any

Node = dict[str, Any]

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
