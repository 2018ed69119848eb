"""Checking a model file: before any object is created its types, sizes and arrays, then values.

skops describes each object by a JSON object, a node, which names a type, the loader that makes it,
and the nodes of its members. ``__id__`` identifies an object; a node that has nothing else is the
object that has had this ``__id__``.

Sizes that a file declares may be forged. scikit-learn and scipy do not check indices: a forged file
could make them read any memory.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import getattr_static
from io import BytesIO
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import BaseDecisionTree

from pairmend.frames.kinds import TOKENS
from pairmend.persistence.trust import BY_USER, full_name, is_trusted

Node = dict[str, Any]

SCHEMA = "schema.json"
"""The description of the objects that skops reads and writes."""
DESCRIPTION = "model.json"
"""The same in a model file, with names of classes of the library in place of modules."""
PROTOCOL = 2
"""Protocol of skops that is supported."""
SCHEMA_FACTOR = 10
"""Bytes of Python objects for a byte of the description."""
NODE_BYTES = 400
"""Smallest number of bytes that a node needs."""
MAX_NODES = 20_000_000
"""Largest number of nodes, each counted as often as it is referenced."""
MAX_JOBS = 1024
TOKEN_PATTERNS = (
    r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"\w+", r"\b\w+\b", r"\w\w+", r"\S+", TOKENS, None,
)  # fmt: skip
"""Patterns whose time is linear in the length of any text."""


class TooLargeError(ValueError):
    """An archive holds more than allowed."""


def type_name(node: Node) -> str:
    """Return the full name of a node's type."""
    return f"{node['__module__']}.{node['__class__']}"


@dataclass
class Audit:
    """Checks the description of a model, and counts its bytes up to `max_bytes`.

    `types` are the full names of all types, and `untrusted` those that are not trusted.
    """

    archive: ZipFile
    trusted: frozenset[str]
    max_bytes: int
    used: int = 0
    types: set[str] = field(default_factory=set)
    untrusted: set[str] = field(default_factory=set)
    sizes: dict[int, int | None] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    def spend(self, n_bytes: int) -> None:
        """Count bytes; more than the limit is an error."""
        self.used += n_bytes
        if self.used > self.max_bytes:
            limit = f"max_bytes={self.max_bytes} ({self.max_bytes / 2**30:.3g} GiB)"
            raise TooLargeError(f"unpacked, it takes more than {limit}")

    def read(self, archive: ZipFile, name: str) -> bytes:
        """Unpack a member of an archive, and count its bytes."""
        size = archive.getinfo(name).file_size
        self.spend(size)
        with archive.open(name) as file:
            return file.read(size)

    def schema(self) -> Node:
        """Check the description, and return it with the full names of all types."""
        if SCHEMA in self.archive.namelist():
            raise ValueError(f"it holds {SCHEMA}, which is made when it is loaded")
        text = self.read(self.archive, DESCRIPTION)
        self.spend(SCHEMA_FACTOR * len(text))
        root: Node = json.loads(text)
        if type(root["protocol"]) is not int or root["protocol"] != PROTOCOL:
            raise ValueError(f"it is not written in protocol {PROTOCOL} of skops")
        self.visit(root)
        return root

    def visit(self, part: Any) -> int:
        """Check all nodes in a part of the description; return their number."""
        if not isinstance(part, dict):
            return self._sum(part) if isinstance(part, list) else 0
        number = part.get("__id__")
        if number is not None and (type(number) is not int or number < 1):
            raise ValueError("an object has an impossible number")
        if "__loader__" not in part:
            if number is None:
                return self._sum(part.values())
            size = self.sizes.get(number)
            if size is None or len(part) != 1:
                raise ValueError("a reference to no object, or to one that contains the reference")
            return size
        if number in self.sizes:
            raise ValueError("two objects have the same number")
        self._check_node(part)
        if number is not None:
            self.sizes[number] = None  # until its members are counted
        size = 1 + self._sum(part.values())
        if number is not None:
            self.sizes[number] = size
        part["__module__"] = full_name(type_name(part)).rpartition(".")[0]
        return size

    def _sum(self, parts: Iterable[Any]) -> int:
        size = 0
        for part in parts:
            size += self.visit(part)
            if size > MAX_NODES:
                raise TooLargeError(f"it holds more than {MAX_NODES} objects")
        return size

    def _check_node(self, node: Node) -> None:
        """Check the type of a node, and what compiled code would not check."""
        if not all(type(node[key]) is str for key in ("__class__", "__module__", "__loader__")):
            raise ValueError("an object has no type")
        self.spend(NODE_BYTES)
        if "file" in node:
            if node["file"] in self.files:
                raise ValueError("two objects are in the same file")
            self.files.add(node["file"])
        loader, name = node["__loader__"], type_name(node)
        self.types.add(full_name(name))
        if not (is_trusted(loader, name) or (name in self.trusted and loader in BY_USER)):
            self.untrusted.add(name)
        match loader:
            case "JsonNode":
                literal(node)
            case "DictNode":
                if any(kind["__loader__"] != "TypeNode" for kind in node["key_types"]["content"]):
                    raise ValueError("a dict has keys that are neither texts nor numbers")
            case "NdArrayNode" if node["type"] != "json":
                self._array(node)
            case "SparseMatrixNode":
                self._check_sparse(node)
            case "TreeNode":
                self._check_tree(node)

    def _array(self, node: Node) -> NDArray[Any]:
        if (node["__loader__"], node["type"]) != ("NdArrayNode", "numpy"):
            raise ValueError("an array is not in a file of numpy")
        return read_array(self.read(self.archive, node["file"]))

    def _check_sparse(self, node: Node) -> None:
        """Check a CSR matrix in a ``.npz`` file in full."""
        packed = self.read(self.archive, node["file"])
        with open_archive(packed) as archive:
            for name in archive.namelist():
                self.read(archive, name)
        matrix = sparse.load_npz(BytesIO(packed))
        if matrix.format != "csr" or matrix.ndim != 2 or matrix.dtype.kind not in "biufc":
            raise ValueError("a sparse array is not CSR, or holds no numbers")
        self.spend(8 * matrix.shape[1])  # the size of a sum over its rows
        n_cells = matrix.indptr[-1]
        if (
            not n_cells == len(matrix.indices) == len(matrix.data)
            or (np.diff(matrix.indptr) < 0).any()
        ):
            raise ValueError("a sparse array has other values than one number for each index")
        matrix.check_format(full_check=True)  # for indices; rows only of matrices with cells

    def _check_tree(self, node: Node) -> None:
        """Check sizes, indices and depth of a decision tree."""
        n_features, classes, n_outputs = node["__reduce__"]["args"]["content"]
        state = node["content"]["content"]
        n_classes, nodes = (self._array(part) for part in (classes, state["nodes"]))
        n_nodes, depth = (literal(state[name]) for name in ("node_count", "max_depth"))
        is_sound = n_classes.dtype.kind == "i" and n_classes.shape == (literal(n_outputs),)
        if not (is_sound and len(n_classes) and n_classes.min() > 0 and type(depth) is int):
            raise ValueError("a decision tree has impossible numbers of outputs or classes")
        if nodes.shape != (n_nodes,) or not n_nodes:
            raise ValueError("a decision tree has another number of nodes than it declares")
        left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
        inner, leaf = np.flatnonzero(left != -1), np.full(n_nodes, -1)
        for index, limit, above in (
            # Children come after their parents, so that every path ends.
            (left, n_nodes, np.arange(n_nodes)), (right, n_nodes, np.arange(n_nodes)),
            (feature, literal(n_features), leaf),
        ):  # fmt: skip
            if not ((index > above) & (index < limit))[inner].all():
                raise ValueError("a decision tree has nodes with children or features out of range")
        level = np.zeros(1, dtype=np.intp)
        while len(level := level[left[level] != -1]):
            level, depth = np.unique(np.concatenate([left[level], right[level]])), depth - 1
        if depth < 0:
            raise ValueError("a decision tree is deeper than it declares")


def open_archive(content: bytes) -> ZipFile:
    """Open an archive; repeated names and unknown compression are errors."""
    archive = ZipFile(BytesIO(content))
    names = archive.namelist()
    if len(set(names)) != len(names):
        raise BadZipFile("two members have the same name")
    for entry in archive.infolist():
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or entry.flag_bits & 0x1:
            raise BadZipFile(f"{entry.filename} has an unknown compression or is encrypted")
    return archive


def read_array(data: bytes) -> NDArray[Any]:
    """Read an array of numbers or texts; numpy checks that the cells follow which it declares."""
    array = np.load(BytesIO(data), allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.itemsize == 0:
        raise ValueError("an array has an impossible type")
    return array


def literal(node: Any) -> Any:
    """Return the number, text, bool or None that a node holds; anything else is an error."""
    value = json.loads(node["content"])
    if node["__loader__"] != "JsonNode" or isinstance(value, list | dict):
        raise ValueError("expected a number or a text, got something else")
    return value


def reachable(root: Any) -> Iterator[Any]:
    """Yield every object that is reachable from another, each one once."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        value = waiting.pop()
        plain = str | bytes | int | float | type | FunctionType | np.ufunc | None
        if id(value) in seen or isinstance(value, plain):
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


def check_values(model: Any, trusted: frozenset[str]) -> None:
    """Raise an error for created objects whose values could do harm: sizes, and attributes.

    Attributes of types that the user trusts are not checked.
    """
    for value in reachable(model):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        if name.startswith(("pairmend.", "sklearn.")) and name not in trusted:
            _check_attributes(value)
        own = getattr(value, "__dict__", {})
        n_features = own.get("n_features_in_")
        if isinstance(value, np.random.RandomState):
            if not 0 <= value.get_state(legacy=False)["state"]["pos"] <= 624:
                raise ValueError("a random generator has a position outside of its buffer")
        elif isinstance(value, BaseDecisionTree):
            if "tree_" in own and value.tree_.n_features != n_features:
                raise ValueError("a decision tree expects other features than its nodes")
        elif not isinstance(value, BaggingClassifier | BaggingRegressor):  # its trees check rows
            members = own.get("estimators_", ())
            for member in members.ravel() if isinstance(members, np.ndarray) else members:
                is_tree = isinstance(member, BaseDecisionTree)
                if is_tree and vars(member).get("n_features_in_") != n_features:
                    raise ValueError("trees of an ensemble expect other features than the ensemble")


def is_computed(cls: type | None, name: str) -> bool:
    """Return whether an attribute is one that its class computes, such as a cached property."""
    found = getattr_static(cls, name, None)
    stored = callable(found) or isinstance(found, MemberDescriptorType | GetSetDescriptorType)
    return hasattr(found, "__get__") and not stored


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "memory": (lambda value: value is None, "a cache of fits is not read from a model file"),
    "n_jobs": (
        lambda value: value is None or (type(value) is int and abs(value) <= MAX_JOBS),
        f"expected None or at most {MAX_JOBS}",
    ),
    "input": (lambda value: value == "content", "it would read files named in the data"),
    "token_pattern": (lambda value: value in TOKEN_PATTERNS, "it may run without end"),
    "vocabulary_": (
        lambda value: sorted(value.values()) == list(range(len(value))),
        "its columns are not 0, 1, ...",
    ),
}
"""Values that attributes of trusted classes may have, and why not others."""


def _check_attributes(value: Any) -> None:
    """Raise an error for attributes with which a trusted class could do harm."""
    cls = type(value)
    for name, held in getattr(value, "__dict__", {}).items():
        if name.startswith("__") or callable(getattr(cls, name, None)) or is_computed(cls, name):
            raise ValueError(f"{cls.__name__} has the attribute {name!r}, which its class defines")
        is_allowed, reason = RULES.get(name, (lambda held: True, ""))
        if not is_allowed(held):
            raise ValueError(
                f"{cls.__name__} has {name}={str(held)[:60]!r}; {reason}. If you trust the "
                f"source of the file, pass {cls.__module__}.{cls.__name__} as trusted."
            )
