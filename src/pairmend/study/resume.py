"""The sets, algorithms and numbers of a results folder, to continue its study.

A results folder is data: nothing that it names is imported or called. Classifiers, metrics and
files come from the study file that the user names, or from a study of the package.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES
from pairmend.study.definition import Study
from pairmend.study.store import read_progress, read_study
from pairmend.study.studyfile import catalogue_source, load_study, shipped_study

NUMBERS = ("folds", "repeats", "seed", "split", "skip_missing", "time_limit", "device")


def resumed_study(out: Path, file: Path | None = None) -> Study:
    """Return the study of a file, or of the package, with the parts that a folder has."""
    definition = read_progress(out).definition
    if definition is None:
        read_study(out)  # raises an error for each possible reason
        raise AssertionError("a study without definition was read")
    if file is None and definition.get("name") not in SHIPPED_STUDIES:
        raise ValueError(
            f"name the study file of the study in {out}: pairmend study FILE --resume --out {out}. "
            "A results folder is data, so no file that it names is imported."
        )
    name = definition["name"] if file is None else str(file)
    if name in SHIPPED_STUDIES and not (file and file.exists()):
        study = shipped_study(name)
    else:
        study = load_study(name)
    return _as_stored(study, definition, out)


def _as_stored(study: Study, definition: dict[str, Any], out: Path) -> Study:
    """Choose the parts of a study that a folder has, by their names."""
    added = {
        name: catalogue_source(name, plain)  # by --sets
        for name, plain in definition["sets"].items()
        if name not in study.sets and isinstance(plain, dict) and "catalogue" in plain
    }
    parts: dict[str, Any] = {}
    for key in ("sets", "algorithms", "criteria"):
        own = {**getattr(study, key), **(added if key == "sets" else {})}
        left_out = study.left_out if key == "algorithms" else ()
        if unknown := [n for n in definition[key] if n not in own and n not in left_out]:
            raise ValueError(
                f"{out} has {key}.{f', {key}.'.join(unknown)}, which {study.file or study.name} "
                "does not have. Name the study file that has them."
            )
        parts[key] = {name: own[name] for name in definition[key] if name in own}
    return replace(study, **parts, **{key: definition[key] for key in NUMBERS if key in definition})
