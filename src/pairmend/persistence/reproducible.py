"""Making the archive of skops reproducible: objects are numbered, the time is a constant.

skops names objects and files by their addresses in memory, and stores the time of writing. Here
they are numbered in the order of reading, and the time is a constant. An object that skops writes
again for each reference is written once.
"""

import json
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pairmend.persistence.attributes import computed
from pairmend.persistence.schema import (
    WITHOUT_IDENTITY,
    Node,
    attributes,
    is_reference,
    places,
    type_name,
)
from pairmend.persistence.trust import OURS, class_of, full_name

SCHEMA = "schema.json"
DESCRIPTION = "model.json"
"""Holds in a model file what skops writes to its schema: names of classes are other ones."""
CACHE = "memory"
"""Parameter of scikit-learn's pipelines: a folder where fits are cached."""
ADDRESS = "_stop_words_id"
"""Attribute of scikit-learn's vectorizers: an address in memory, not needed to predict."""


def pack(content: bytes, *, updates: bool = False) -> bytes:
    """Return an archive of skops in the form of model files.

    It holds no numbers of training rows, and what ``partial_fit`` needs with `updates` only.
    """
    packed = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(packed, "w") as new:
        root = json.loads(old.read(SCHEMA))
        numbering = _Numbering(updates)
        numbering.visit(root)
        _write(new, DESCRIPTION, json.dumps(root, separators=(",", ":")).encode("ascii"))
        for old_name, new_name in numbering.files.items():
            _write(new, new_name, old.read(old_name))
    return packed.getvalue()


def unpack(content: bytes, schema: dict[str, Any]) -> bytes:
    """Return the archive of a model file as skops reads it, with its own description."""
    archive = BytesIO(content)
    with ZipFile(archive, "a") as file:
        _write(file, SCHEMA, json.dumps(schema).encode("ascii"))
    return archive.getvalue()


def _write(archive: ZipFile, name: str, data: bytes) -> None:
    entry = ZipInfo(name)  # dated 1 January 1980, the earliest date of the format
    entry.create_system = 3  # the same on every system
    archive.writestr(entry, data, compress_type=ZIP_DEFLATED)


class _Numbering:
    """Numbers objects and files in the order in which they are read."""

    def __init__(self, updates: bool) -> None:
        self.updates = updates
        self.objects: dict[int, int] = {}
        self.files: dict[str, str] = {}

    def visit(self, node: Node) -> None:
        """Assign numbers to a node and all below it."""
        if full_name(f"{OURS}.{node['__class__']}") == type_name(node):
            node["__module__"] = OURS
        if node["__loader__"] == "ObjectNode":
            _leave_out(node, self.updates)
        if node["__loader__"] in WITHOUT_IDENTITY:
            node.pop("__id__", None)
            return
        node["__id__"] = self.objects.setdefault(node["__id__"], len(self.objects) + 1)
        if "file" in node:
            old = node["file"]
            suffix = old.rpartition(".")[2]
            node["file"] = self.files.setdefault(old, f"{len(self.files) + 1}.{suffix}")
        if node["__loader__"] == "SetNode":
            node["content"].sort(key=_order)  # the order of texts in a set differs between runs
        for container, key in places(node):
            member = container[key]
            if member.get("__id__") in self.objects and not is_reference(member):
                container[key] = {"__id__": self.objects[member["__id__"]]}
            elif not is_reference(member):
                self.visit(member)


def _leave_out(node: Node, updates: bool) -> None:
    """Remove attributes that are computed again, or not needed to predict."""
    own, cls = attributes(node), class_of(type_name(node))
    unneeded = {*computed(node), *getattr(cls, "_row_numbers", ())}
    unneeded |= set() if updates else {*getattr(cls, "_update_state", ())}
    for name in unneeded & set(own):
        _remove(node, name)
    if type_name(node) == "sklearn.pipeline.Pipeline" and CACHE in own:
        own[CACHE] = _null()
    if node["__module__"].startswith("sklearn.") and ADDRESS in own:
        _remove(node, ADDRESS)


def _remove(node: Node, name: str) -> None:
    own = attributes(node)
    del node["content"]["key_types"]["content"][list(own).index(name)]
    del own[name]


def _null() -> Node:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": "null",
        "is_json": True,
    }


def _order(node: Node) -> str:
    """Return a text without addresses in memory, to sort the members of a set."""
    return json.dumps(_without_identity(node), sort_keys=True)


def _without_identity(part: Any) -> Any:
    if isinstance(part, dict):
        kept = {name: value for name, value in part.items() if name not in ("__id__", "file")}
        return {name: _without_identity(value) for name, value in kept.items()}
    return [_without_identity(each) for each in part] if isinstance(part, list) else part
