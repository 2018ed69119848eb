"""The parts of model files, and files written from changed parts, with a valid checksum."""

import hashlib
import io
import json
import zipfile

from skops.io import dumps


def read_parts(path):
    """Return the manifest and the members of the archive of a model file."""
    manifest, content = path.read_bytes().split(b"\n", 3)[2:]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(manifest), {name: archive.read(name) for name in archive.namelist()}


def write_parts(path, manifest, files, compression=zipfile.ZIP_DEFLATED):
    """Write a model file with a valid checksum; `files` are its members, or the archive."""
    buffer = io.BytesIO(files if isinstance(files, bytes) else b"")
    if not isinstance(files, bytes):
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    body = json.dumps(manifest).encode() + b"\n" + buffer.getvalue()
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b"pairmend-model 6\n" + digest + b"\n" + body)
    return path


def members_of(thing):
    """Return the members of the archive of a model file that holds any object."""
    with zipfile.ZipFile(io.BytesIO(dumps(thing))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    root = json.loads(files.pop("schema.json"))
    for node in nodes_of(root):
        if node["__loader__"] in ("JsonNode", "TypeNode", "FunctionNode"):  # maybe there twice
            node.pop("__id__", None)
    return files | {"model.json": json.dumps(root).encode()}


def nodes_of(part):
    """Yield the nodes in a part of a description."""
    if isinstance(part, dict):
        if "__class__" in part or "__id__" in part:
            yield part
        for each in part.values():
            yield from nodes_of(each)
    elif isinstance(part, list):
        for each in part:
            yield from nodes_of(each)
