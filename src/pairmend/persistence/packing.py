"""From the archive that skops writes to that of a model file, and back.

A model file names classes of the library without their modules. An object that skops writes again
for each reference is written once, and what is computed again or not needed to predict is left out.
"""

import json
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend.persistence.audit import computed
from pairmend.persistence.schema import (
    DESCRIPTION,
    SCHEMA,
    WITHOUT_IDENTITY,
    Node,
    attributes,
    is_reference,
    places,
    type_name,
)
from pairmend.persistence.structures import reachable
from pairmend.persistence.trust import OURS, class_of, full_name


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


SCALED_ROWS = ("points_", "rows_")
"""Attributes with rows that were scaled: of neighbourhoods and of the kernel ridge."""
GIVEN_ROWS = ("_fit_X", "X_fit_", "X_train_", "support_vectors_")
"""Attributes with rows as they were given: of nearest neighbours and of kernels."""


def describe_contents(model: Any, n_labels: int, *, updates: bool) -> str:
    """Return how many rows, names of categories and words the file of a model holds.

    Parameters and sums of base classifiers, which every model holds, are not listed.
    """
    rows: dict[str, dict[int, int]] = {"scaled": {}, "as they were given": {}}
    categories: set[str] = set()
    words: set[str] = set()
    state = ""
    for value in reachable(model):
        own = getattr(value, "__dict__", {})
        for how, names in zip(rows, (SCALED_ROWS, GIVEN_ROWS), strict=True):
            for held in (own[name] for name in names if _is_matrix(own.get(name))):
                n_rows, n_columns = held.shape
                rows[how][n_rows] = max(n_columns, rows[how].get(n_rows, 0))
        words |= set(own.get("vocabulary_", ()))
        for listed in (own.get("keys"), *own.get("categories_", ())):
            named = listed if isinstance(listed, np.ndarray | list | tuple) else ()
            categories |= {str(each) for each in named if isinstance(each, str)}
        if updates and type(value).__name__ == "IncrementalState":
            state = f"{counted(len(value.Y), 'row')} as given for partial_fit"
    parts = [
        f"{counted(n_rows, 'row')} of {counted(n_columns, 'feature')} {how}, with labels"
        for how, sizes in rows.items()
        for n_rows, n_columns in sizes.items()
    ]
    parts += [state] if state else []
    parts += [counted(len(categories), "name") + " of categories"] if categories else []
    parts += [counted(len(words), "word")] if words else []
    return "; ".join([*(parts or ["no rows"]), counted(n_labels, "name") + " of labels"])


def _is_matrix(value: Any) -> bool:
    return (isinstance(value, np.ndarray) and value.ndim == 2) or sparse.issparse(value)
