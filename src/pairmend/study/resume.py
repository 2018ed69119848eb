"""Going on with the study of a results folder.

A results folder is data. What it names is not imported: classifiers, criteria and files come from
a study file that the user names or has run before, or from the studies of the package. Of the
folder only names and numbers are taken. With ``trust``, what the folder names is imported.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairmend.study.definition import Study
from pairmend.study.known_files import is_known_file
from pairmend.study.store import read_progress, read_study
from pairmend.study.studyfile import (
    SHIPPED,
    catalogue_source,
    load_study,
    parse_study,
    shipped_study,
)

NUMBERS = ("folds", "repeats", "seed", "split", "skip_missing", "time_limit")


@dataclass(frozen=True)
class Resumed:
    """A study to go on with, and where its sets were found.

    Attributes
    ----------
    study : Study
    data : Path or None
        Folder with sets.
    download : bool
        Whether sets are downloaded.
    """

    study: Study
    data: Path | None
    download: bool


def resumed_study(
    out: Path, file: Path | None = None, *, trust: bool = False, make: bool = True
) -> Resumed:
    """Return the study that a results folder holds.

    Parameters
    ----------
    out : Path
        The folder.
    file : Path, default=None
        The study file, or the name of a study of the package; None means the one that the folder
        names, if this user has run it before.
    trust : bool, default=False
        Whether to import and call what the folder names, without any study file.
    make : bool, default=True
        Whether classifiers are made, as in `load_study`.

    Returns
    -------
    Resumed

    Raises
    ------
    ValueError
        If no study file is known, or if it does not name what the folder holds.
    """
    held = read_progress(out)
    if held.definition is None:
        read_study(out)  # has an error for each reason
        raise AssertionError("a study without definition was read")
    start = held.start
    data = Path(start["data"]) if start and start["data"] else None
    download = bool(start and start["download"])
    named = Path(start["file"]) if start and start["file"] else None
    if trust:
        try:
            study = parse_study(held.definition, Path(), file=file or named, make=make)
        except TypeError as error:
            raise ValueError(f"{out} holds no study that can be made: {error}") from error
    else:
        study = _as_held(_study_file(out, held.definition, file, named, make), held.definition, out)
    return Resumed(study, data, download)


def _study_file(
    out: Path, definition: dict[str, Any], file: Path | None, named: Path | None, make: bool
) -> Study:
    if file is not None:
        shipped = str(file) in SHIPPED and not file.exists()
        return shipped_study(str(file), make=make) if shipped else load_study(file, make=make)
    if named is None and definition.get("name") in SHIPPED:
        return shipped_study(definition["name"], make=make)
    if named is None:
        raise ValueError(
            f"{out} names no study file: the study was started from Python, or by an earlier "
            "version. Go on from there, or name the study file. --trust imports and calls what "
            "the folder itself names: use it only for folders that you trust like a script."
        )
    if not is_known_file(named):
        raise ValueError(
            f"{out} names the study file {named}, which you have not run on this machine. Name "
            "it, if you trust it: a study file names code to import and call. --trust does the "
            "same with what the folder itself names."
        )
    return load_study(named, make=make)


def _as_held(study: Study, definition: dict[str, Any], out: Path) -> Study:
    """Choose from a study what a folder holds, by names and numbers."""
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
        unknown += [f"{key}.{name}" for name in definition[key] if name not in own]
        parts[key] = {name: own[name] for name in definition[key] if name in own}
    if unknown:
        raise ValueError(
            f"{out} has {', '.join(unknown)}, which {study.file or study.name} does not name. "
            "Name the study file that does. --trust imports and calls what the folder itself "
            "names: use it only for folders that you trust like a script."
        )
    return replace(study, **parts, **{key: definition[key] for key in NUMBERS if key in definition})
