"""The definition of the study in a results folder, to continue it (tasks left: tasks.py).

A results folder is data. Import paths in it are not imported: classifiers, metrics and files come
from a study file that the user names or has run before, or from the studies of the package. Only
names and numbers are read from the folder. With ``trust``, its import paths are imported.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES
from pairmend.study.definition import Study
from pairmend.study.store import read_progress, read_study
from pairmend.study.studyfile import (
    catalogue_source,
    load_study,
    parse_study,
    shipped_study,
)
from pairmend.study.trusted_files import is_trusted_file

NUMBERS = ("folds", "repeats", "seed", "split", "skip_missing", "time_limit", "device")


@dataclass(frozen=True)
class Resumed:
    """A study to continue, and where its sets were found."""

    study: Study
    data: Path | None
    download: bool


def resumed_study(
    out: Path, file: Path | None = None, *, trust: bool = False, instantiate: bool = True
) -> Resumed:
    """Return the study of a results folder."""
    stored = read_progress(out)
    if stored.definition is None:
        read_study(out)  # raises an error for each possible reason
        raise AssertionError("a study without definition was read")
    start = stored.start
    data = Path(start["data"]) if start and start["data"] else None
    download = bool(start and start["download"])
    named = Path(start["file"]) if start and start["file"] else None
    if trust:
        try:
            study = parse_study(
                stored.definition, Path(), file=file or named, instantiate=instantiate
            )
        except TypeError as error:
            raise ValueError(f"the study stored in {out} is not valid: {error}") from error
    else:
        whole = _study_file(out, stored.definition, file, named, instantiate)
        study = _as_stored(whole, stored.definition, out)
    return Resumed(study, data, download)


def _study_file(
    out: Path, definition: dict[str, Any], file: Path | None, named: Path | None, instantiate: bool
) -> Study:
    if file is not None:
        shipped = str(file) in SHIPPED_STUDIES and not file.exists()
        return (
            shipped_study(str(file), instantiate=instantiate)
            if shipped
            else load_study(file, instantiate=instantiate)
        )
    if named is None and definition.get("name") in SHIPPED_STUDIES:
        return shipped_study(definition["name"], instantiate=instantiate)
    if named is None:
        raise ValueError(
            f"{out} names no study file: the study was started from Python, or by an earlier "
            "version. Continue from Python, or name the study file. --trust imports and calls "
            "the classes that the folder names: use it only for folders that you trust like a "
            "script."
        )
    if not is_trusted_file(named):
        raise ValueError(
            f"{out} names the study file {named}, which you have not run on this machine. Name "
            "it, if you trust it: a study file names code to import and call. --trust imports and "
            "calls the classes that the folder names."
        )
    return load_study(named, instantiate=instantiate)


def _as_stored(study: Study, definition: dict[str, Any], out: Path) -> Study:
    """Choose the parts of a study that a folder has, by their names."""
    sets, unknown = {}, []
    for name, plain in definition["sets"].items():
        if name in study.sets:
            sets[name] = study.sets[name]
        elif isinstance(plain, dict) and "catalogue" in plain:  # added by --sets
            sets[name] = catalogue_source(name, plain)
        else:
            unknown.append(f"sets.{name}")
    parts: dict[str, Any] = {"sets": sets}
    for key in ("algorithms", "criteria"):
        own = getattr(study, key)
        unknown += [
            f"{key}.{name}"
            for name in definition[key]
            if name not in own and not (key == "algorithms" and name in study.left_out)
        ]
        parts[key] = {name: own[name] for name in definition[key] if name in own}
    if unknown:
        raise ValueError(
            f"{out} has {', '.join(unknown)}, which {study.file or study.name} does not have. "
            "Name the study file that has them. --trust imports and calls the classes that the "
            "folder names: use it only for folders that you trust like a script."
        )
    return replace(study, **parts, **{key: definition[key] for key in NUMBERS if key in definition})
