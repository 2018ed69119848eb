"""Plan of a study: available sets, finished tasks, and what has changed since these were stored."""

import hashlib
import inspect
import io
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from pairmend.datasets import MultiLabelData
from pairmend.study.definition import Study
from pairmend.study.execution import Task, batches_of
from pairmend.study.objects import as_text, importable, own_file
from pairmend.study.sources import CatalogueSource, as_data, with_name
from pairmend.study.store import StudyRecord, read_record, require_extra

PACKAGES = ("pairmend", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "river")
"""Packages that results of all studies depend on."""
WITHOUT_EFFECT = ("name", "title", "alpha", "skip_missing", "time_limit", "repeats", "predictions")
"""Keys that results do not depend on."""


@dataclass(frozen=True)
class PlannedSet:
    """Remaining work on one set.

    Attributes
    ----------
    name : str
        Name of the set.
    missing : str
        Why it cannot be loaded; empty if it can.
    n_done, n_tasks, n_fits : int
        Tasks that are done, all tasks, and remaining fits.

    Examples
    --------
    >>> PlannedSet("yeast", "", n_done=3, n_tasks=10, n_fits=7).n_fits
    7
    """

    name: str
    missing: str
    n_done: int
    n_tasks: int
    n_fits: int


@dataclass(frozen=True)
class Plan:
    """Remaining work of a study.

    Attributes
    ----------
    sets : tuple of PlannedSet
        Remaining work on each set.
    changes : tuple of str
        Differences from the study in the folder that make results incomparable.
    code_changes : tuple of str
        Code, versions of packages and data files that differ from those of the results in the
        folder.
    done : frozenset of Task
        Tasks that are done and are not computed again.
    prediction_bytes : int
        Size of the predictions to be stored, before they are compressed, on sets whose size is
        known: those of the catalogue, and those with results.

    Examples
    --------
    >>> Plan((PlannedSet("yeast", "", n_done=3, n_tasks=10, n_fits=7),), ()).n_done
    3
    """

    sets: tuple[PlannedSet, ...]
    changes: tuple[str, ...]
    code_changes: tuple[str, ...] = ()
    done: frozenset[Task] = field(default=frozenset(), repr=False)
    prediction_bytes: int = 0

    @property
    def available(self) -> tuple[PlannedSet, ...]:
        """Sets that can be loaded."""
        return tuple(each for each in self.sets if not each.missing)

    @property
    def n_tasks(self) -> int:
        """Number of tasks on sets that can be loaded."""
        return sum(each.n_tasks for each in self.available)

    @property
    def n_done(self) -> int:
        """Number of these tasks that are done."""
        return sum(each.n_done for each in self.available)


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
    >>> [(each.name, each.n_fits, each.missing) for each in plan.sets]
    [('simplehc', 5, ''), ('azotobacter', 5, 'no public copy was found')]
    """
    require_extra()
    stored = None if out is None else read_record(Path(out))
    again, folder = names_of(study, rerun), Path(data_dir) if data_dir is not None else None
    done: frozenset[Task] = frozenset()
    if stored is not None:
        rows = stored.tasks.loc[stored.tasks.status == "done", list(Task._fields)]
        tasks = (Task(*row) for row in rows.itertuples(index=False))
        done = frozenset(task for task in tasks if not again & {task.set, task.algorithm})
    with importable(study.folder):
        sets = tuple(_planned(study, name, done, folder, download) for name in study.sets)
        size = sum(_prediction_bytes(study, each, stored) for each in sets)
        if stored is None or not done:
            return Plan(sets, (), done=done, prediction_bytes=size)
        changes = [*_definition_changes(study, stored, done, again)]
        different = [*_method_changes(study, stored, done, again)]
        if any(each.n_fits and not each.missing for each in sets):  # else versions are not mixed
            now = versions_of(study)
            old = {name: v for versions in stored.runs.versions for name, v in versions.items()}
            different += [
                f"{name} was {old[name]}, is now {now[name]}"
                for name in sorted(old.keys() & now.keys())
                if old[name] != now[name]
            ]
        files = dict(zip(stored.sets.set, stored.sets.files, strict=True))
        for name in study.sets:
            if any(task.set == name for task in done):
                different += _file_changes(name, files.get(name, []), study.sets[name].files())
        return Plan(sets, tuple(changes), tuple(different), done, size)


def names_of(study: Study, names: Iterable[str]) -> set[str]:
    """Return names of sets, algorithms and metrics as the study has them."""
    own = {n.casefold(): n for n in (*study.criteria, *study.sets, *study.algorithms)}
    if unknown := [name for name in names if name.casefold() not in own]:
        raise ValueError(
            f"rerun: the study has no set, algorithm or metric {', '.join(map(repr, unknown))}; it "
            f"has {', '.join(own.values())}"
        )
    return {own[name.casefold()] for name in names}


def _planned(
    study: Study, name: str, done: frozenset[Task], data_dir: Path | None, download: bool
) -> PlannedSet:
    left = list(batches_of(study, name, done))
    n_tasks = study.n_tasks // len(study.sets)
    source = study.sets[name]
    missing = source.missing(data_dir)  # an error if a file is not that of the catalogue
    can_be_downloaded = isinstance(source, CatalogueSource) and source.entry.status == "files"
    return PlannedSet(
        name=name,
        missing="" if not left or (download and can_be_downloaded) else missing,
        n_done=n_tasks - sum(len(batch.algorithms) for batch in left),
        n_tasks=n_tasks,
        n_fits=len(left),
    )


def _prediction_bytes(study: Study, each: PlannedSet, stored: StudyRecord | None) -> int:
    """Return the size of the remaining predictions on a set, 0 if its size is not known."""
    source, n_cells = study.sets[each.name], 0
    if isinstance(source, CatalogueSource):
        n_cells = (source.rows or source.entry.rows) * source.entry.labels
    elif stored is not None and each.name in set(stored.sets.set):
        known = stored.sets.set_index("set").loc[each.name]
        n_cells = int(known.N * known.L)
    if each.missing or study.predictions == "none":
        return 0
    n_tests = (each.n_tasks - each.n_done) / study.folds  # each row is tested once a repeat
    return round(n_tests * n_cells * (1 / 8 + 4 * (study.predictions == "scores")))


def _definition_changes(
    study: Study, stored: StudyRecord, done: frozenset[Task], again: set[str]
) -> Iterator[str]:
    """Yield a line for each change that makes new results differ from the stored ones."""
    # Sets, algorithms and repeats may be added or left out: the seed of each row depends only
    # on its names. Metrics may be added if they can be computed from predictions.
    old, new = stored.definition, study.definition()
    rows = stored.tasks[stored.tasks.status == "done"]
    for key in old.keys() & {"sets", "algorithms"}:
        with_results = {getattr(task, key.removesuffix("s")) for task in done}
        for name in [name for name in old[key] if name in new[key] and name in with_results]:
            yield from differences(f"{key}.{name}", old[key][name], new[key][name])
    for name in {**old["criteria"], **new["criteria"]}:
        needed = (
            "score_bytes"
            if new["criteria"].get(name, {}).get("needs") == "scores"
            else ("stored_bytes")
        )
        can_be_computed = name in new["criteria"] and (rows[needed] > 0).all()
        if not can_be_computed or (name in old["criteria"] and name not in again):
            parts = [part["criteria"].get(name, {}) for part in (old, new)]
            yield from differences(f"criteria.{name}", *parts)
    for key in old:
        if key not in ("sets", "algorithms", "criteria", *WITHOUT_EFFECT):
            yield from differences(key, old[key], new[key])


def merged_definition(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a study that has the rows of both."""
    if old is None:
        return new
    parts = {key: {**old[key], **new[key]} for key in ("sets", "algorithms")}
    return {**new, **parts, "repeats": max(old["repeats"], new["repeats"])}


def differences(place: str, old: Any, new: Any) -> Iterator[str]:
    """Yield a line for each difference between plain data."""
    before, after = dict(_flat(place, old)), dict(_flat(place, new))
    for key in {**before, **after}:
        moved = key.startswith("sets.") and key.endswith((".file", ".xml"))
        if key not in before:
            yield f"{key} is new: {after[key]!r}"
        elif key not in after:
            yield f"{key} was {before[key]!r}, is removed"
        elif str(after[key]).startswith("id ") and key.endswith(".hash"):
            yield f"{key.removesuffix('.hash')} has no import path, so it cannot be compared"
        elif as_text(before[key]) != as_text(after[key]) and not moved:
            yield f"{key} was {before[key]!r}, is now {after[key]!r}"


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested tables and lists, with their places."""
    if not isinstance(value, dict | list) or not value:
        yield place, value
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _flat(f"{place}.{key}", part)


def changed_sets(folder: Path) -> list[str]:
    """Return a line for each set of a results folder whose file is at hand, but has changed."""
    stored = read_record(folder)
    if stored is None:
        return []
    return [
        line
        for name, files in zip(stored.sets.set, stored.sets.files, strict=True)
        if "file" in stored.definition["sets"].get(name, {})
        for line in _file_changes(name, files, [Path(path) for path, _ in files])
    ]


def _file_changes(name: str, stored: list[list[str]], paths: list[Path]) -> list[str]:
    """Return a line for each file of a set that has changed; absent ones have not."""
    return [
        f"sets.{name}: {path} changed since results were stored"
        for (_, sha256), path in zip(stored, paths, strict=False)
        if path.is_file() and sha256_of(path) != sha256
    ]


def load_set(study: Study, name: str, data_dir: Path | None, download: bool) -> MultiLabelData:
    """Load a set that has enough rows and labels for the study."""
    data = with_name(as_data(study.sets[name].load(data_dir, download)), name)
    n_rows, n_labels = data.Y.shape
    if n_rows < study.folds:
        raise ValueError(f"{name} has {n_rows} rows, too few for {study.folds} folds")
    if n_labels < 2:
        raise ValueError(f"{name} has {n_labels} label, expected two or more")
    return data


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _method_changes(
    study: Study, stored: StudyRecord, done: frozenset[Task], again: set[str]
) -> Iterator[str]:
    """Yield a line for each changed file that defines a metric, or an algorithm with results."""
    with_results = {f"algorithms.{task.algorithm}" for task in done}
    with_results |= {f"criteria.{name}" for name in study.criteria if name not in again}
    for name, files in methods_of(study).items():
        old = stored.methods.get(name, files) if name in with_results else files
        for module in sorted({*old, *files}):
            if old.get(module) != files.get(module):
                change = "is new" if module not in old else "changed"
                change = change if module in files else "is gone"
                yield f"{name}: the file of the module {module} {change}"


def methods_of(study: Study) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of the files that define the user's own algorithms and metrics.

    These are the files of all classes and functions in them, and of base classes, by module, as
    far as they are not in installed packages. What these files import is not followed.
    """
    found = {}
    for name, modules in _modules_of(study).items():
        paths = {module: own_file(module) for module in sorted(modules)}
        found[name] = {module: sha256_of(path) for module, path in paths.items() if path}
    return found


def versions_of(study: Study) -> dict[str, str]:
    """Return the versions of the packages that results depend on, with those of algorithms."""
    distributions = metadata.packages_distributions()
    modules = set().union(*_modules_of(study).values())
    names = {n for module in modules for n in distributions.get(module.partition(".")[0], ())}
    return {**{name: metadata.version(name) for name in sorted(names)}, **versions()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results of all studies depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _modules_of(study: Study) -> dict[str, set[str]]:
    """Return the modules of all classes and functions in each algorithm and metric."""
    import cloudpickle

    class Modules(cloudpickle.Pickler):
        def persistent_id(self, value: Any) -> None:
            classes = inspect.getmro(value if isinstance(value, type) else type(value))
            names = (getattr(each, "__module__", None) for each in (value, *classes))
            found.update(name for name in names if isinstance(name, str))

    parts = {f"algorithms.{name}": model for name, model in study.algorithms.items()}
    parts |= {f"criteria.{name}": [c.function, c.params] for name, c in study.criteria.items()}
    modules: dict[str, set[str]] = {}
    for name, part in parts.items():
        found = modules[name] = set()
        with suppress(Exception):  # the first worker process shows why it cannot be pickled
            Modules(io.BytesIO()).dump(part)
    return modules
