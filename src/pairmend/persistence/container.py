"""Layout, size, checksum and manifest of a model file; ModelFileError, ModelVersionWarning.

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
from pairmend.persistence.saved import TagColumn

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


KINDS = ("number", "boolean", "date", "text", "category", "other")


def read_manifest(path: str | Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Check all parts of a manifest and return them as arguments of SavedModel."""
    try:
        names, labels = (_names(manifest[part]) for part in ("feature_names", "label_names"))
        facts = {
            "feature_names": names,
            "label_names": labels,
            "categories": _categories(manifest["categories"], len(names)),
            "versions": {key: _text(value) for key, value in _object(manifest["versions"]).items()},
            "kinds": _kinds(manifest["kinds"], len(names)),
            "tags": _tags(manifest["tags"]),
            "left_out": _names(manifest["left_out"]),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path}: a part of its manifest is missing or invalid: {error}"
        ) from error
    return facts


def _categories(part: Any, n_features: int) -> dict[int, tuple[str, ...]]:
    found = {int(f): _texts(values) for f, values in _object(part).items()}
    if outside := [f for f in found if not 0 <= f < max(n_features, 1)]:
        raise ValueError(f"categories of the features {outside[:5]}, of {n_features}")
    return found


def _kinds(part: Any, n_features: int) -> tuple[str, ...] | None:
    if part is None:
        return None
    kinds = _texts(part)
    if not set(kinds) <= set(KINDS):
        raise ValueError("columns of unknown kinds")
    if len(kinds) != n_features:
        raise ValueError(f"kinds of {len(kinds)} columns, of {n_features}")
    return kinds


def _tags(part: Any) -> TagColumn | None:
    if part is None:
        return None
    separator = _object(part).get("separator")
    return TagColumn(_text(part["column"]), None if separator is None else _text(separator))


def _names(part: Any) -> tuple[str, ...]:
    names = _texts(part)
    if len(set(names)) != len(names):
        raise ValueError(f"a name occurs twice, of {list(names[:10])}")
    return names


def _texts(part: Any) -> tuple[str, ...]:
    return tuple(map(_text, _list(part)))


def _text(part: Any) -> str:
    if not isinstance(part, str):
        raise TypeError(f"expected a text, got {type(part).__name__}")
    return part


def _list(part: Any) -> list[Any]:
    if not isinstance(part, list):
        raise TypeError(f"expected a list, got {type(part).__name__}")
    return part


def _object(part: Any) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise TypeError(f"expected an object, got {type(part).__name__}")
    return part
