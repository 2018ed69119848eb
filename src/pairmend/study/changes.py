"""What changed between a study and the one that an output folder holds."""

from collections.abc import Iterator
from typing import Any

from pairmend.study.objects import as_text

GROWING = ("sets", "algorithms")
"""Parts that may grow: rows of other sets and algorithms do not depend on them."""

FREE = ("name", "title", "skip_missing", "time_limit")
"""Keys that results do not depend on."""


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Say what makes new results differ from those a folder holds.

    Sets, algorithms and repeats may be added, and old ones left out: every row's seed comes
    from its names, so the others stay as they are. Files may be moved: sets are compared by
    their contents when they are loaded.

    Parameters
    ----------
    old, new : dict
        Definitions of the study in the folder, and of the one to be run.

    Returns
    -------
    list of str
        A line for each change; empty if the folder can be gone on with.

    Examples
    --------
    >>> old = {"folds": 10, "sets": {}, "algorithms": {"BR": {"class": "a.B"}}}
    >>> changes(old, {**old, "folds": 5, "algorithms": {"BR": {"class": "a.C"}}})
    ['folds was 10, is now 5', "algorithms.BR.class was 'a.B', is now 'a.C'"]
    """
    found: list[str] = []
    for key in old:
        if key in FREE or key == "repeats":
            continue
        if key in GROWING:
            for name in old[key].keys() & new[key].keys():
                found += _differences(f"{key}.{name}", old[key][name], new[key][name])
        else:
            found += _differences(key, old[key], new[key])
    return found


def united(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a study that holds the rows of both.

    Examples
    --------
    >>> parts = {"algorithms": {}, "repeats": 1}
    >>> united({**parts, "sets": {"a": {}}}, {**parts, "sets": {"b": {}}})["sets"]
    {'a': {}, 'b': {}}
    """
    if old is None:
        return new
    grown = {key: {**old[key], **new[key]} for key in GROWING}
    return {**new, **grown, "repeats": max(old["repeats"], new["repeats"])}


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
    if place.startswith("sets.") and place.endswith((".file", ".xml")):
        return
    if as_text(old) == as_text(new) or (isinstance(new, dict) and "unmade" in new):
        return  # what only an instance could show is not compared before it is made
    if isinstance(new, dict) and str(new.get("hash", "")).startswith("id "):
        yield (
            f"{place}, of type {new['opaque']}, has no import path, and whether it is the same as "
            "before cannot be seen"
        )
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in old:
                yield f"{place}.{key} is new: {new[key]!r}"
            elif key not in new:
                yield f"{place}.{key} was {old[key]!r}, is gone"
            else:
                yield from _differences(f"{place}.{key}", old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{place}[{i}]", one, other)
    else:
        yield f"{place} was {old!r}, is now {new!r}"
