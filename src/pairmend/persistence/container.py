"""Layout, size on disk and checksum of a model file; ModelFileError, ModelVersionWarning.

Three lines of text, then the estimator as skops writes it:

1. ``pairmend-model`` and the version of the format;
2. the SHA-256 of everything after this line, in hexadecimal;
3. the manifest, as JSON: versions, names of features and labels, categories, types of columns.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmend._utils.files import replaced

MAGIC = b"pairmend-model"
FORMAT = 3


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or has invalid content."""


class ModelVersionWarning(UserWarning):
    """A model was saved with another version of a library."""


@dataclass(frozen=True)
class Container:
    """The manifest of a model, as plain data, and the estimator as skops writes it."""

    manifest: dict[str, Any]
    content: bytes

    @property
    def body(self) -> bytes:
        """The bytes that the checksum is computed from."""
        return json.dumps(self.manifest).encode("ascii") + b"\n" + self.content


def write_container(container: Container, path: str | Path) -> str:
    """Write a model file and return the SHA-256 that identifies the model."""
    body = container.body
    digest = hashlib.sha256(body).hexdigest()
    head = b"%s %d\n%s\n" % (MAGIC, FORMAT, digest.encode("ascii"))
    with replaced(path) as temporary:
        temporary.write_bytes(head + body)
    return digest


def read_container(path: str | Path, max_bytes: int | None = None) -> tuple[Container, str]:
    """Read a model file of at most `max_bytes`; return its content and its SHA-256."""
    size = Path(path).stat().st_size
    if max_bytes is not None and size > max_bytes:
        raise ModelFileError(f"{path}: has {size} bytes, more than max_bytes={max_bytes}")
    name, *rest = Path(path).read_bytes().split(b"\n", 2)
    magic, _, found = name.partition(b" ")
    if magic != MAGIC or len(rest) != 2:
        raise ModelFileError(f"{path}: not a model file of pairmend")
    if found != b"%d" % FORMAT:
        raise ModelFileError(
            f"{path}: a model file of format {found.decode('ascii', 'replace')[:20]!r}; this "
            f"version of pairmend reads format {FORMAT}. Load it with {_writer(rest[1])}, or fit "
            "and save the model again."
        )
    stored, body = rest
    digest = hashlib.sha256(body).hexdigest()
    if stored != digest.encode("ascii"):
        raise ModelFileError(
            f"{path}: damaged or changed since it was saved: its SHA-256 is {digest}, expected "
            f"{stored.decode('ascii', 'replace')[:64]}. Copy the file or fit the model again."
        )
    line, _, content = body.partition(b"\n")
    try:
        manifest = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: the manifest in its third line is not JSON") from error
    if not isinstance(manifest, dict):
        raise ModelFileError(f"{path}: the manifest in its third line is not a JSON object")
    return Container(manifest, content), digest


def _writer(body: bytes) -> str:
    """Return the name of the version that wrote a file of another format."""
    try:
        version = json.loads(body.partition(b"\n")[0])["versions"]["pairmend"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return "the version that wrote it"
    return f"pairmend {version!s:.40}"
