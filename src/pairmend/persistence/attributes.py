"""Attributes that are refused in a model file: files to read, endless loops, huge memory."""

from collections.abc import Callable, Mapping
from inspect import getattr_static
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from pairmend.persistence.arrays import read_array
from pairmend.persistence.nodes import literal
from pairmend.persistence.schema import Node, attributes, is_reference, type_name
from pairmend.persistence.trust import class_of

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
