"""Differences between a study and the one stored in an output folder."""

from collections.abc import Iterator
from typing import Any

from pairmend.study.objects import as_text

EXTENDABLE = ("sets", "algorithms")
"""Parts that may get new members: results of the others do not depend on them."""

WITHOUT_EFFECT = ("name", "title", "skip_missing", "time_limit")
"""Keys that results do not depend on."""


def definition_changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a line for each change that makes new results differ from the stored ones."""
    # Sets, algorithms and repeats may be added or left out: the seed of each row depends only
    # on its names. Files may be moved: sets are compared by their contents when they are loaded.
    found: list[str] = []
    for key in old:
        if key in WITHOUT_EFFECT or key == "repeats":
            continue
        if key in EXTENDABLE:
            for name in old[key].keys() & new[key].keys():
                found += _differences(f"{key}.{name}", old[key][name], new[key][name])
        else:
            found += _differences(key, old[key], new[key])
    return found


def merged_definition(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a study that has the rows of both."""
    if old is None:
        return new
    parts = {key: {**old[key], **new[key]} for key in EXTENDABLE}
    return {**new, **parts, "repeats": max(old["repeats"], new["repeats"])}


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
    if place.startswith("sets.") and place.endswith((".file", ".xml")):
        return
    if as_text(old) == as_text(new) or (isinstance(new, dict) and "uninstantiated" in new):
        return  # some parameters can be compared only when the object has been created
    if isinstance(new, dict) and str(new.get("hash", "")).startswith("id "):
        yield (
            f"{place}, of type {new['opaque']}, has no import path, so it cannot be compared with "
            "the stored one"
        )
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in old:
                yield f"{place}.{key} is new: {new[key]!r}"
            elif key not in new:
                yield f"{place}.{key} was {old[key]!r}, is removed"
            else:
                yield from _differences(f"{place}.{key}", old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{place}[{i}]", one, other)
    else:
        yield f"{place} was {old!r}, is now {new!r}"
