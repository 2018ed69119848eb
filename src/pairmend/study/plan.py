"""Plan of a study: available sets, finished tasks, and what has changed since these were stored."""

import hashlib
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmend.study.criteria import own_names
from pairmend.study.definition import Study
from pairmend.study.execution import Task, batches_of
from pairmend.study.objects import as_text, describe, importable, modules_of, own_file
from pairmend.study.store import StudyRecord, read_record, require_extra

if TYPE_CHECKING:
    import pandas as pd

PACKAGES = ("pairmend", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "river")
"""Packages that results of all studies depend on."""
WITHOUT_EFFECT = ("name", "title", "alpha", "skip_missing", "time_limit", "repeats", "predictions")
"""Keys that results do not depend on."""


@dataclass(frozen=True)
class Plan:
    """Remaining work of a study.

    Attributes
    ----------
    sets : DataFrame
        A row for each set: ``name``, ``missing`` (why it cannot be loaded; empty if it can),
        ``done`` and ``tasks`` (numbers of tasks that are done, and of all), ``fits`` (number of
        remaining fits).
    changes : tuple of str
        Differences from the study in the folder that make results incomparable.
    code_changes : tuple of str
        Code, versions of packages and data files that differ from those of the results in the
        folder.
    done : frozenset
        Tasks that are done and are not computed again.
    prediction_bytes : int
        Size of the predictions to be stored, before they are compressed, on sets of the catalogue.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, plan_study
    >>> plan_study(Study(["simplehc"], {"LPW": PairwiseClassifier()}, folds=5)).n_tasks
    5
    """

    sets: "pd.DataFrame"
    changes: tuple[str, ...] = ()
    code_changes: tuple[str, ...] = ()
    done: frozenset[Task] = field(default=frozenset(), repr=False)
    prediction_bytes: int = 0

    @property
    def n_tasks(self) -> int:
        """Number of tasks on sets that can be loaded."""
        return int(self.sets.tasks[self.sets.missing == ""].sum())

    @property
    def n_done(self) -> int:
        """Number of these tasks that are done."""
        return int(self.sets.done[self.sets.missing == ""].sum())


def plan_study(
    study: Study,
    out: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    download: bool = False,
    rerun: Iterable[str] = (),
) -> Plan:
    """Return what a study would do, without running it.

    Parameters
    ----------
    study : Study
        The study.
    out : path, default=None
        Its output folder, which may have results of an earlier run.
    data_dir : path, default=None
        Folder with sets of the catalogue; None means that of PAIRMEND_DATA, if it is set.
    download : bool, default=False
        Whether sets of the catalogue may be downloaded.
    rerun : iterable of str, default=()
        Sets, algorithms and metrics of the study whose results are computed again.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> study = Study(["simplehc", "azotobacter"], {"LPW": PairwiseClassifier()}, folds=5)
    >>> plan = plan_study(study)
    >>> plan.sets[["name", "fits", "missing"]]
             name  fits                   missing
    0    simplehc     5
    1  azotobacter     5  no public copy was found
    """
    require_extra()
    import pandas as pd

    stored = None if out is None else read_record(Path(out))
    again, folder = names_of(study, rerun), Path(data_dir) if data_dir is not None else None
    done: frozenset[Task] = frozenset()
    if stored is not None:
        rows = stored.tasks.loc[stored.tasks.status == "done", list(Task._fields)]
        tasks = (Task(*row) for row in rows.itertuples(index=False))
        done = frozenset(task for task in tasks if not again & {task.set, task.algorithm})
    with importable(study.folder):
        planned = [_planned(study, name, done, folder, download) for name in study.sets]
        size = sum(_prediction_bytes(study, each) for each in planned)
        changes, different = [], []
        if stored is not None and done:
            places = {f"sets.{task.set}" for task in done}
            places |= {f"algorithms.{task.algorithm}" for task in done}
            changes = [*_definition_changes(study, stored, places, again)]
            places |= {f"criteria.{name}" for name in study.criteria if name not in again}
            different = file_changes(stored, files_of(study), places)
            if any(each["fits"] and not each["missing"] for each in planned):
                different += _version_changes(stored, versions(study))
    return Plan(pd.DataFrame(planned), tuple(changes), tuple(different), done, size)


def names_of(study: Study, names: Iterable[str]) -> set[str]:
    """Return names of sets, algorithms and metrics as the study has them."""
    own = (*study.criteria, *study.sets, *study.algorithms)
    return set(own_names(own, names, "set, algorithm or metric"))


def _planned(
    study: Study, name: str, done: frozenset[Task], data_dir: Path | None, download: bool
) -> dict[str, Any]:
    left = list(batches_of(study, name, done))
    n_tasks, source = study.n_tasks // len(study.sets), study.sets[name]
    missing = source.missing(data_dir)  # an error if a file is not that of the catalogue
    can_be_downloaded = source.entry is not None and source.entry.status == "files"
    return {
        "name": name,
        "missing": "" if not left or (download and can_be_downloaded) else missing,
        "done": n_tasks - sum(len(batch.tasks) for batch in left),
        "tasks": n_tasks,
        "fits": len(left),
    }


def _prediction_bytes(study: Study, each: dict[str, Any]) -> int:
    """Return the size of the remaining predictions on a set, 0 if its size is not known."""
    source = study.sets[each["name"]]
    if not source.entry or each["missing"] or study.predictions == "none":
        return 0
    n_cells = source.table.get("rows", source.entry.rows) * source.entry.labels
    n_tests = (each["tasks"] - each["done"]) / study.folds  # each row is tested once a repeat
    return round(n_tests * n_cells * (2 / 8 + 4 * (study.predictions == "scores")))


def _definition_changes(
    study: Study, stored: StudyRecord, places: set[str], again: set[str]
) -> Iterator[str]:
    """Yield a line for each change that makes new results differ from the stored ones."""
    # Sets, algorithms and repeats may be added or left out: the seed of each row depends only
    # on its names. Metrics may be added if they can be computed from predictions.
    old, new = _texts(stored.definition), _texts(study.definition())
    rows = stored.tasks[stored.tasks.status == "done"]
    for place in {**old, **new}:
        kind, _, name = place.partition(".")
        if kind in ("sets", "algorithms") and place not in old.keys() & new.keys() & places:
            continue
        is_added = place in new and kind == "criteria" and (place not in old or name in again)
        if is_added and rows["stored"].isin({study.criteria[name].needs, "scores"}).all():
            continue
        before, after = (texts.get(place, "absent") for texts in (old, new))
        if before != after:
            yield f"{place} was {before}, is now {after}"


def _texts(definition: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a definition as text by place; files by name, as they may be moved."""
    tables = ("sets", "algorithms", "criteria")
    found = {key: as_text(definition[key]) for key in {*definition} - {*tables, *WITHOUT_EFFECT}}
    for key in tables:
        for name, part in definition[key].items():
            files = {k: Path(part[k]).name for k in ("file", "xml") if key == "sets" and k in part}
            found[f"{key}.{name}"] = as_text({**part, **files})
    return found


def file_changes(
    stored: StudyRecord, files: dict[str, dict[str, str]], places: set[str]
) -> list[str]:
    """Return a line for each file of some parts of a study that is not as it was."""
    return [
        f"{place}: {name} changed since results were stored"
        for place in sorted(places & set(stored.files))
        for name, sha256 in files.get(place, {}).items()
        if stored.files[place].get(name) != sha256
    ]


def changed_sets(folder: Path) -> list[str]:
    """Return a line for each set of a results folder whose file is at hand, but has changed."""
    stored = read_record(folder)
    if stored is None:
        return []
    files = {
        f"sets.{name}": digests(Path(table[key]) for key in ("file", "xml") if key in table)
        for name, table in stored.definition["sets"].items()
    }
    return file_changes(stored, files, set(files))


def files_of(study: Study) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of the user's own files that sets, algorithms and metrics depend on.

    Those of sets are by name of the file, because files may be moved; those of algorithms and
    metrics by module. The latter are the files that define their classes and functions, and base
    classes, as far as they are not in installed packages. What these import is not followed.
    """
    found = {f"sets.{name}": digests(source.files()) for name, source in study.sets.items()}
    for key, parts in (("algorithms", study.algorithms), ("criteria", study.criteria)):
        for name, part in parts.items():
            modules = modules_of(describe(part if key == "algorithms" else vars(part)))
            files = {module: path for module in modules if (path := own_file(module))}
            found[f"{key}.{name}"] = {module: sha256_of(path) for module, path in files.items()}
    return found


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name; files that are absent are left out."""
    return {path.name: sha256_of(path) for path in paths if path.is_file()}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(study: Study | None = None) -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    names = set(PACKAGES)
    if study is not None:
        distributions = metadata.packages_distributions()
        modules = modules_of([*study.definition()["algorithms"].values()])
        names |= {n for each in modules for n in distributions.get(each.partition(".")[0], ())}
    found = {"python": platform.python_version()}
    for name in sorted(names):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _version_changes(stored: StudyRecord, now: dict[str, str]) -> list[str]:
    used = stored.runs[stored.runs.run.isin(stored.tasks.run)]  # others computed nothing
    old = {name: v for versions in used.versions for name, v in versions.items()}
    return [
        f"{name} was {old[name]}, is now {now[name]}"
        for name in sorted(old.keys() & now.keys())
        if old[name] != now[name]
    ]
