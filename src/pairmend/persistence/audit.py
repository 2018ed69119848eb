"""Checking the description in a model file before any object is created: types, sizes, values."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import getattr_static
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any
from zipfile import ZipFile

from pairmend.persistence.archive import (
    ArrayHead,
    Budget,
    TooLargeError,
    check_sparse,
    open_archive,
    read_array,
    read_head,
    read_member,
)
from pairmend.persistence.schema import (
    DESCRIPTION,
    LOADERS,
    SCHEMA,
    Node,
    attributes,
    check_tree,
    is_reference,
    literal,
    members,
    type_name,
)
from pairmend.persistence.trust import class_of, full_name, is_missing, is_scalar, is_trusted

MAX_JOBS = 1024
MAX_HASHES = 2**31 - 1
TOKEN_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"\w+", r"\b\w+\b", r"\w\w+", r"\S+", None)
"""Patterns whose time is linear in the length of any text."""
VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")


def check_attributes(node: Node, nodes: Mapping[int, Node], read: Callable[[Node], bytes]) -> None:
    """Raise an error for attributes with which a trusted class could do harm.

    `nodes` are the nodes that were read before, by number; `read` reads the file of an array.
    """
    state = node.get("content")
    if state is not None and (not isinstance(state, dict) or state.get("__loader__") != "DictNode"):
        raise ValueError(f"{type_name(node)} has a state that is not a dict")
    own = attributes(node)
    kinds = state["key_types"]["content"] if own and state is not None else []
    if any(type_name(kind) != "builtins.str" for kind in kinds):
        raise ValueError(f"{type_name(node)} has attributes whose names are not texts")
    cls = class_of(type_name(node))
    for name in own:
        if name.startswith("__") or callable(getattr(cls, name, None)) or name in computed(node):
            raise ValueError(
                f"{type_name(node)} has the attribute {name!r}, which its class defines"
            )

    def value(name: str) -> Any:
        """Return a plain value, or the node of any other value."""
        found = own[name]
        if isinstance(found, dict) and is_reference(found):
            found = nodes.get(found.get("__id__", 0), found)
        is_plain = isinstance(found, dict) and found.get("__loader__") == "JsonNode"
        return literal(found) if is_plain else found

    for name, (is_allowed, reason) in RULES.items():
        if name in own and not is_allowed(value(name)):
            raise ValueError(f"{type_name(node)} has {name}={_shown(value(name))}; {reason}")
    if node["__class__"] in VECTORIZERS and node["__module__"].startswith("sklearn."):
        for name, (is_allowed, reason) in TEXT_RULES.items():
            if name in own and not is_allowed(value(name)):
                raise ValueError(
                    f"{type_name(node)} has {name}={_shown(value(name))}; {reason}. If you "
                    f"trust the source of the file, pass {type_name(node)} as trusted."
                )
        _check_vocabulary(own.get("vocabulary_"), nodes, read)


def computed(node: Node) -> list[str]:
    """Return the attributes of an object that its class computes, such as cached properties."""
    cls = class_of(type_name(node))
    if cls is None:
        return []
    found = ((name, getattr_static(cls, name, None)) for name in attributes(node))
    return [
        name
        for name, attribute in found
        if hasattr(attribute, "__get__") and not callable(attribute)
        and not isinstance(attribute, MemberDescriptorType | GetSetDescriptorType)
    ]  # fmt: skip


def _shown(value: Any) -> str:
    return repr(value)[:60] if not isinstance(value, dict) else f"a {value.get('__class__')}"


Rule = tuple[Callable[[Any], bool], str]
RULES: dict[str, Rule] = {
    "memory": (
        lambda value: value is None,
        "a cache of fits is not read from a model file; expected None",
    ),
    "n_jobs": (
        lambda value: value is None or (type(value) is int and abs(value) <= MAX_JOBS),
        f"expected None or at most {MAX_JOBS}",
    ),
}
TEXT_RULES: dict[str, Rule] = {
    "input": (
        lambda value: value == "content",
        "it would read files named in the data; expected 'content'",
    ),
    "token_pattern": (
        lambda value: value in TOKEN_PATTERNS,
        "such a pattern may run without end",
    ),
    "analyzer": (lambda value: value in ("word", "char", "char_wb"), "expected a name"),
    "preprocessor": (lambda value: value is None, "expected None"),
    "tokenizer": (lambda value: value is None, "expected None"),
    "n_features": (
        lambda value: type(value) is int and 1 <= value <= MAX_HASHES,
        f"expected 1 to {MAX_HASHES}",
    ),
    "encoding": (lambda value: value in ("utf-8", "latin-1", "ascii", "utf8"), "expected utf-8"),
}


def _check_vocabulary(node: Any, nodes: Mapping[int, Node], read: Callable[[Node], bytes]) -> None:
    """Check that words have the columns 0, 1, ...: scipy does not check them."""
    if isinstance(node, dict) and is_reference(node):
        node = nodes.get(node.get("__id__", 0))
    if node is None:
        return
    columns = node.get("content") if isinstance(node, dict) else None
    if not isinstance(columns, dict):
        raise ValueError("a vocabulary is not a dict")
    numbers = [_column(column, read) for column in columns.values()]
    if sorted(numbers) != list(range(len(numbers))):
        raise ValueError("a vocabulary has words whose columns are not 0, 1, ...")


def _column(node: Any, read: Callable[[Node], bytes]) -> int:
    is_array = isinstance(node, dict) and node.get("__loader__") == "NdArrayNode"
    number = read_array(read(node)).tolist() if is_array else literal(node)
    if type(number) is not int:
        raise ValueError("a vocabulary has words whose columns are not integers")
    return number


PROTOCOL = 2
"""Protocol of skops that is supported."""
SCHEMA_FACTOR = 10
"""Bytes of Python objects for a byte of the description."""
NODE_BYTES = 400
"""Smallest number of bytes that a node needs."""
MAX_NODES = 20_000_000
"""Largest number of nodes, each counted as often as it is referenced."""
KEYS = ("builtins.str", "builtins.int", "builtins.float", "builtins.bool")
ARRAYS = ("NdArrayNode", "SparseMatrixNode", "MaskedArrayNode", "DTypeNode", "TreeNode")
"""Loaders whose types cannot be trusted by the user."""


@dataclass
class Audit:
    """Names of all types in a file, of those that are not trusted, and of missing classes.

    `schema` is the description with the full names of all types, as skops reads it.
    """

    types: set[str] = field(default_factory=set)
    untrusted: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    schema: Node = field(default_factory=dict)


def audit(content: bytes, trusted: frozenset[str], max_bytes: int) -> Audit:
    """Check everything that an archive of `pack` (``persistence/packing.py``) describes.

    Anything that skops would not write, or that is larger than `max_bytes`, is a ValueError.
    """
    budget = Budget(max_bytes)
    with open_archive(content) as archive:
        if SCHEMA in archive.namelist():
            raise ValueError(f"it holds {SCHEMA}, which is made when it is loaded")
        text = read_member(archive, DESCRIPTION, budget)
        budget.spend(SCHEMA_FACTOR * len(text))
        root = json.loads(text)
        if not isinstance(root, dict) or type(root.get("protocol")) is not int:
            raise ValueError("its description is not a JSON object with a protocol")
        if root["protocol"] != PROTOCOL:
            raise ValueError(
                f"it is written in protocol {root['protocol']} of skops, expected {PROTOCOL}"
            )
        auditor = _Auditor(archive, trusted, budget)
        auditor.visit(root)
        auditor.found.schema = root
    return auditor.found


class _Auditor:
    """Visits the nodes of a description in skops' order of reading."""

    def __init__(self, archive: ZipFile, trusted: frozenset[str], budget: Budget):
        self.archive, self.trusted, self.budget = archive, trusted, budget
        self.found = Audit()
        self.sizes: dict[int, int | None] = {}
        self.nodes: dict[int, Node] = {}
        self.heads: dict[Any, ArrayHead] = {}
        self.sparse: dict[tuple[Any, bool], int] = {}
        self.checks: dict[str, Callable[[Node], None]] = {
            "JsonNode": self._check_json,
            "DictNode": self._check_dict,
            "NdArrayNode": self._check_array,
            "SparseMatrixNode": self._check_sparse,
            "SliceNode": self._check_slice,
            "TreeNode": self._check_tree,
            "ObjectNode": self._check_object,
        }

    def visit(self, node: Any) -> int:
        """Check a node and all below it; return their number."""
        if not isinstance(node, dict):
            raise ValueError(f"expected the description of an object, got {type(node).__name__}")
        number = node.get("__id__")
        if number is not None and (type(number) is not int or number < 1):
            raise ValueError("an object has an impossible number")
        if is_reference(node):
            size = None if number is None else self.sizes.get(number)
            if size is None or len(node) != 1:
                raise ValueError(
                    "a reference to an object that does not exist, or that contains the reference"
                )
            return size
        if number in self.sizes:
            raise ValueError("two objects have the same number")
        if number is not None:
            self.sizes[number] = None
            self.nodes[number] = node
        self.budget.spend(NODE_BYTES)
        self._check_type(node)
        if check := self.checks.get(node["__loader__"]):
            check(node)
        size = 1
        for member in members(node):
            size += self.visit(member)
            if size > MAX_NODES:
                raise TooLargeError(f"it holds more than {MAX_NODES} objects")
        if number is not None:
            self.sizes[number] = size
        node["__module__"] = full_name(type_name(node)).rpartition(".")[0]
        return size

    def _check_type(self, node: Node) -> None:
        for key in ("__class__", "__module__", "__loader__"):
            if not isinstance(node.get(key), str):
                raise ValueError("an object has no type")
        loader, name = node["__loader__"], type_name(node)
        if is_missing(name):
            self.found.missing.add(name)
        if loader == "MethodNode" and isinstance(content := node.get("content"), dict):
            name = f"{name}.{content.get('func')}"
        self.found.types.add(full_name(name))
        by_user = name in self.trusted and loader in LOADERS and loader not in ARRAYS
        if not (by_user or is_trusted(loader, name)):
            self.found.untrusted.add(name)

    def _check_json(self, node: Node) -> None:
        literal(node)

    def _check_dict(self, node: Node) -> None:
        content, types = node.get("content"), node.get("key_types")
        if not isinstance(content, dict) or not isinstance(types, dict):
            raise ValueError("a dict has no keys or values")
        kinds = types.get("content")
        if types.get("__loader__") != "ListNode" or not isinstance(kinds, list):
            raise ValueError("a dict has no types of keys")
        if len(kinds) != len(content):
            raise ValueError("a dict has another number of keys than of values")
        for kind in kinds:
            is_type = isinstance(kind, dict) and kind.get("__loader__") == "TypeNode"
            if not is_type or not (type_name(kind) in KEYS or is_scalar(type_name(kind))):
                raise ValueError("a dict has keys that are neither texts nor numbers")

    def _check_array(self, node: Node) -> None:
        if node.get("type") == "numpy":
            head = self._head(node)
            self.budget.spend(head.n_bytes)
            if type_name(node) != "numpy.ndarray" and head.shape != ():
                raise ValueError("a scalar is saved as an array of several numbers")
        elif node.get("type") == "json" and type_name(node) == "numpy.ndarray":
            if not isinstance(node.get("content"), list):
                raise ValueError("an array has no cells")
        else:
            raise ValueError("an array is of an unknown kind")

    def _head(self, node: Node) -> ArrayHead:
        name = node.get("file")
        if name not in self.heads:
            self.heads[name] = read_head(self._read(node))
        return self.heads[name]

    def _read(self, node: Node) -> bytes:
        name = node.get("file")
        if not isinstance(name, str):
            raise ValueError("an object has no file")
        return read_member(self.archive, name, self.budget)

    def _check_sparse(self, node: Node) -> None:
        if node.get("type") != "scipy":
            raise ValueError("a sparse array is of an unknown kind")
        key = node.get("file"), node["__class__"].endswith("array")
        if key in self.sparse:
            self.budget.spend(self.sparse[key])
            return
        before = self.budget.used
        packed = self._read(node)
        self.budget.spend(len(packed))
        check_sparse(packed, is_array=key[1], budget=self.budget)
        self.sparse[key] = self.budget.used - before

    def _check_slice(self, node: Node) -> None:
        content = node.get("content")
        if not isinstance(content, dict) or set(content) != {"start", "stop", "step"}:
            raise ValueError("a slice has other parts than start, stop and step")
        if not all(value is None or type(value) is int for value in content.values()):
            raise ValueError("a slice has parts that are not integers")

    def _check_tree(self, node: Node) -> None:
        check_tree(node, self._read)

    def _check_object(self, node: Node) -> None:
        name = type_name(node)
        if name not in self.trusted and is_trusted("ObjectNode", name):
            check_attributes(node, self.nodes, self._read)
