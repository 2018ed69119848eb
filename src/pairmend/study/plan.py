"""Plan of a study: which datasets are available, how many tasks are done (tasks.py: which)."""

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmend.study.definition import Study
from pairmend.study.definition_changes import definition_changes
from pairmend.study.importing import importable
from pairmend.study.sources import CatalogueSource
from pairmend.study.start import code_changes, start_of, version_changes
from pairmend.study.store import Progress, read_progress
from pairmend.study.tasks import Task, batches_of


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
        Code and versions of packages that differ from those of the results in the folder.

    Examples
    --------
    >>> Plan((PlannedSet("yeast", "", n_done=3, n_tasks=10, n_fits=7),), ()).n_done
    3
    """

    sets: tuple[PlannedSet, ...]
    changes: tuple[str, ...]
    code_changes: tuple[str, ...] = ()

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
    done, folder = stored.done, Path(data_dir) if data_dir is not None else None
    with importable(study.folder):
        sets = tuple(_planned(study, name, done, folder, download) for name in study.sets)
        if stored.definition is None or not done:
            return Plan(sets, ())
        changed = definition_changes(_with_results(stored.definition, done), study.definition())
        start, versions = start_of(study, folder, download)
    code = code_changes(stored.start, start, {task.algorithm for task in done})
    if any(each.n_fits and not each.missing for each in sets):  # else nothing is mixed
        code += version_changes(stored.versions, versions)
    return Plan(sets, tuple(changed), tuple(code))


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
    return PlannedSet(
        name=name,
        missing=_missing(study, name, data_dir, download) if left else "",  # else not needed
        n_done=n_tasks - sum(len(batch.algorithms) for batch in left),
        n_tasks=n_tasks,
        n_fits=len(left),
    )


def _missing(study: Study, name: str, data_dir: Path | None, download: bool) -> str:
    source = study.sets[name]
    missing = source.missing(data_dir)
    if download and isinstance(source, CatalogueSource) and source.can_be_downloaded:
        return ""
    return missing
