"""From the archive that skops writes to that of a model file, and back.

A model file names classes of the library without their modules. An object that skops writes again
for each reference is written once, and what is computed again or not needed to predict is left out.
"""

import json
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

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


def pack(content: bytes, *, updates: bool = False) -> bytes:
    """Return an archive of skops in the form of model files.

    It holds no numbers of training rows, and what ``partial_fit`` needs with `updates` only.
    """
    packed, files = BytesIO(), set[str]()
    with ZipFile(BytesIO(content)) as old, ZipFile(packed, "w", ZIP_DEFLATED) as new:
        root = json.loads(old.read(SCHEMA))
        _describe(root, {}, files, updates)
        new.writestr(DESCRIPTION, json.dumps(root, separators=(",", ":")))
        for name in sorted(files):
            new.writestr(name, old.read(name))
    return packed.getvalue()


def unpack(content: bytes, schema: Node) -> bytes:
    """Return the archive of a model file as skops reads it, with its own description."""
    archive = BytesIO(content)
    with ZipFile(archive, "a", ZIP_DEFLATED) as file:
        file.writestr(SCHEMA, json.dumps(schema))
    return archive.getvalue()


def _describe(node: Node, numbers: dict[int, int], files: set[str], updates: bool) -> None:
    """Give a node and all below it numbers and names of classes, and collect their files."""
    if full_name(f"{OURS}.{node['__class__']}") == type_name(node):
        node["__module__"] = OURS
    if node["__loader__"] == "ObjectNode":
        _leave_out(node, updates)
    if node["__loader__"] in WITHOUT_IDENTITY:
        node.pop("__id__", None)
        return
    node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
    if "file" in node:
        files.add(node["file"])
    for container, key in places(node):
        member: Any = container[key]
        if member.get("__id__") in numbers:
            container[key] = {"__id__": numbers[member["__id__"]]}
        elif not is_reference(member):
            _describe(member, numbers, files, updates)


def _leave_out(node: Node, updates: bool) -> None:
    """Remove attributes that are computed again, or not needed to predict."""
    own, cls = attributes(node), class_of(type_name(node))
    unneeded = {*computed(node), *getattr(cls, "_row_numbers", ())}
    unneeded |= set() if updates else {*getattr(cls, "_update_state", ())}
    for name in unneeded & set(own):
        del node["content"]["key_types"]["content"][list(own).index(name)]
        del own[name]
    if type_name(node) == "sklearn.pipeline.Pipeline" and "memory" in own:  # a folder of fits
        own["memory"] = {
            "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": "null", "is_json": True,
        }  # fmt: skip
