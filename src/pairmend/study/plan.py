"""Plan of a study: available sets, finished tasks, and what has changed since these were stored."""

import functools
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from pairmend.datasets import MultiLabelData
from pairmend.study.definition import Study
from pairmend.study.execution import Task, batches_of
from pairmend.study.objects import as_text, importable, own_file
from pairmend.study.sources import CatalogueSource, as_data, data_hash, with_name
from pairmend.study.store import FileFacts, Progress, StoredSet, read_progress

PACKAGES = ("pairmend", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "river")
"""Packages that results of all studies depend on."""
EXTENDABLE = ("sets", "algorithms")
"""Parts that may get new members: results of the others do not depend on them."""
WITHOUT_EFFECT = ("name", "title", "alpha", "skip_missing", "time_limit", "repeats")
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

    Examples
    --------
    >>> Plan((PlannedSet("yeast", "", n_done=3, n_tasks=10, n_fits=7),), ()).n_done
    3
    """

    sets: tuple[PlannedSet, ...]
    changes: tuple[str, ...]
    code_changes: tuple[str, ...] = ()
    done: frozenset[Task] = field(default=frozenset(), repr=False)

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
        Sets and algorithms of the study whose results are computed again.

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
    stored = read_progress(Path(out)) if out is not None else Progress()
    again, folder = names_of(study, rerun), Path(data_dir) if data_dir is not None else None
    done = frozenset(t for t in stored.done if not again & {t.set, t.algorithm})
    with importable(study.folder):
        sets = tuple(_planned(study, name, done, folder, download) for name in study.sets)
        if stored.definition is None or not done:
            return Plan(sets, ())
        changes = definition_changes(_with_results(stored.definition, done), study.definition())
        different = _method_changes(study, stored, done)
        left = {each.name for each in sets if each.n_fits and not each.missing}
        if left:  # else no results of different versions are mixed
            now = versions_of(study)
            different += [
                f"{name} was {old}, is now {now[name]}"
                for name, old in sorted(stored.versions.items())
                if now.get(name, old) != old
            ]
        for name in study.sets:
            if name in {task.set for task in done} and name in stored.sets:
                lines = _content_changes(study, name, stored.sets[name], folder, download)
                (changes if name in left else different).extend(lines)
    return Plan(sets, tuple(changes), tuple(different), done)


def names_of(study: Study, names: Iterable[str]) -> set[str]:
    """Return names of sets and algorithms as the study has them."""
    own = {name.casefold(): name for name in (*study.sets, *study.algorithms)}
    if unknown := [name for name in names if name.casefold() not in own]:
        raise ValueError(
            f"rerun: the study has no set or algorithm {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(own.values())}"
        )
    return {own[name.casefold()] for name in names}


def _with_results(definition: dict[str, Any], done: Set[Task]) -> dict[str, Any]:
    """Leave out sets and algorithms without results: their definitions may change."""
    sets, algorithms = {task.set for task in done}, {task.algorithm for task in done}
    return {
        **definition,
        "sets": {name: v for name, v in definition["sets"].items() if name in sets},
        "algorithms": {n: v for n, v in definition["algorithms"].items() if n in algorithms},
    }


def _planned(
    study: Study, name: str, done: Set[Task], data_dir: Path | None, download: bool
) -> PlannedSet:
    left = list(batches_of(study, name, done))
    n_tasks = study.n_tasks // len(study.sets)
    source = study.sets[name]
    missing = source.missing(data_dir)  # an error if a file is not that of the catalogue
    can_be_downloaded = isinstance(source, CatalogueSource) and source.can_be_downloaded
    return PlannedSet(
        name=name,
        missing="" if not left or (download and can_be_downloaded) else missing,
        n_done=n_tasks - sum(len(batch.algorithms) for batch in left),
        n_tasks=n_tasks,
        n_fits=len(left),
    )


def definition_changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a line for each change that makes new results differ from the stored ones."""
    # Sets, algorithms and repeats may be added or left out: the seed of each row depends only
    # on its names. Files may be moved: their contents are compared.
    found: list[str] = []
    for key in old:
        if key in EXTENDABLE:
            for name in old[key].keys() & new[key].keys():
                found += _differences(f"{key}.{name}", old[key][name], new[key][name])
        elif key not in WITHOUT_EFFECT:
            found += _differences(key, old[key], new[key])
    return found


def merged_definition(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a study that has the rows of both."""
    if old is None:
        return new
    parts = {key: {**old[key], **new[key]} for key in EXTENDABLE}
    return {**new, **parts, "repeats": max(old["repeats"], new["repeats"])}


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
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


def _content_changes(
    study: Study, name: str, stored: StoredSet, data_dir: Path | None, download: bool
) -> Iterator[str]:
    """Yield a line if the files of a set with results have changed, and its contents with them."""
    files = list(changed_files(stored.files, study.sets[name].files()))
    if not files:
        return
    changed = f"sets.{name}: {' and '.join(map(str, files))} changed since results were stored"
    try:
        found = data_hash(load_set(study, name, data_dir, download))
    except (ValueError, OSError) as error:
        yield f"{changed}, and cannot be read: {error}"
    else:
        if found != stored.sha256:
            yield changed


def changed_sets(folder: Path) -> list[str]:
    """Return a line for each set of a results folder whose file is at hand, but has changed."""
    stored = read_progress(folder)
    sources = stored.definition["sets"] if stored.definition else {}
    return [
        f"sets.{name}: {path} changed since results were stored"
        for name, each in stored.sets.items()
        if "file" in sources.get(name, {})
        for path in changed_files(each.files, [Path(facts[0]) for facts in each.files])
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


def file_facts(paths: Iterable[Path]) -> list[FileFacts]:
    """Return path, size, time of change and SHA-256 of each file."""
    return [
        (str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns, sha256_of(path))
        for path in paths
    ]


def changed_files(stored: Iterable[FileFacts], paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files whose contents differ from the stored facts; absent ones do not."""
    for (_, size, changed, sha256), path in zip(stored, paths, strict=False):
        if not path.is_file() or (path.stat().st_size, path.stat().st_mtime_ns) == (size, changed):
            continue
        if path.stat().st_size != size or sha256_of(path) != sha256:
            yield path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _method_changes(study: Study, stored: Progress, done: Set[Task]) -> list[str]:
    """Return a line for each changed file that defines a metric, or an algorithm with results."""
    lines = []
    with_results = {f"algorithms.{task.algorithm}" for task in done}
    for name, files in methods_of(study).items():
        if name in stored.methods and (name in with_results or name.startswith("criteria.")):
            old = stored.methods[name]
            lines += [
                f"{name}: the file of the module {module} "
                + ("is new" if module not in old else "changed" if module in files else "is gone")
                for module in sorted({*old, *files})
                if old.get(module) != files.get(module)
            ]
    return lines


def methods_of(study: Study) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of the files that define the user's own algorithms and metrics.

    These are the files of all classes and functions in them, and of base classes, by module, as
    far as they are not in installed packages. What these files import is not followed.
    """
    found = {}
    for name, part in _methods(study):
        modules = {definition.__module__ for definition in _definitions(part)}
        paths = {module: own_file(module) for module in sorted(modules)}
        found[name] = {module: sha256_of(path) for module, path in paths.items() if path}
    return found


def versions_of(study: Study) -> dict[str, str]:
    """Return the versions of the packages that results depend on, with those of algorithms."""
    modules = {d.__module__ for _, part in _methods(study) for d in _definitions(part)}
    distributions = metadata.packages_distributions()
    names = {n for module in modules for n in distributions.get(module.partition(".")[0], ())}
    return {**{name: metadata.version(name) for name in sorted(names)}, **versions()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results of all studies depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _methods(study: Study) -> Iterator[tuple[str, Any]]:
    for name, model in study.algorithms.items():
        yield f"algorithms.{name}", model
    for name, criterion in study.criteria.items():
        yield f"criteria.{name}", [criterion.function, criterion.params]


def _definitions(value: Any) -> Iterator[Any]:
    """Yield the classes, with their base classes, and functions that an object is made of."""
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif isinstance(value, functools.partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(value, type):
        yield from value.__mro__
    elif hasattr(value, "get_params"):
        parts = [type(value), value.get_params(deep=False)]
    elif hasattr(value, "__qualname__") and getattr(value, "__module__", None):
        yield value
    else:
        yield from type(value).__mro__
    for part in parts:
        yield from _definitions(part)
