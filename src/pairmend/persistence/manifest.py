"""The manifest of a model file: names, versions and columns, checked."""

from pathlib import Path
from typing import Any

from pairmend.persistence.container import ModelFileError
from pairmend.persistence.saved import TagColumn

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
