"""The manifest of a model file: names, versions and columns, checked."""

from pathlib import Path
from typing import Any

from pairmend._utils.columns import NUMBER_TEXT, FrameColumns
from pairmend.persistence.container import ModelFileError
from pairmend.persistence.training_rows import TagColumn, TrainingRows

LIBRARIES = ("pandas", "polars")
KINDS = ("number", "boolean", "date", "text", NUMBER_TEXT, "category", "other")


def read_manifest(path: str | Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Check all parts of a manifest and return them as arguments of SavedModel."""
    try:
        names, labels = (_names(manifest[part]) for part in ("feature_names", "label_names"))
        facts = {
            "feature_names": names,
            "label_names": labels,
            "categories": _categories(manifest["categories"], len(names)),
            "versions": {key: _text(value) for key, value in _object(manifest["versions"]).items()},
            "frame": _frame(manifest["frame"], len(names)),
            # Models of earlier versions lack these.
            "tags": _tags(manifest.get("tags")),
            "training_rows": TrainingRows.from_json(manifest.get("training_rows")),
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


def _frame(part: Any, n_features: int) -> FrameColumns | None:
    if part is None:
        return None
    kinds, values = _texts(_object(part)["kinds"]), _list(part["values"])
    library = _text(part["library"])
    if library not in LIBRARIES or not set(kinds) <= set(KINDS):
        raise ValueError("a frame of an unknown library, or with unknown columns")
    if not len(kinds) == len(values) == n_features:
        raise ValueError(f"types of {len(kinds)} columns, of {n_features}")
    return FrameColumns(library, kinds, tuple(None if v is None else _values(v) for v in values))


def _tags(part: Any) -> TagColumn | None:
    if part is None:
        return None
    separator = _object(part).get("separator")
    return TagColumn(_text(part["column"]), None if separator is None else _text(separator))


def _values(part: Any) -> tuple[str | float, ...]:
    values = _list(part)
    if all(isinstance(value, str) for value in values):
        return tuple(values)
    if all(type(value) in (int, float) for value in values):
        return tuple(map(float, values))
    raise TypeError("expected texts or numbers, got other values")


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
