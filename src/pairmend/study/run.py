"""run_study: stores results task by task; a repeated call runs the missing tasks."""

import json
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pairmend._utils.interrupts import interrupts_restored
from pairmend.datasets import MultiLabelData, characteristics, find_entry
from pairmend.published import CHARACTERISTICS
from pairmend.study.array_cache import ArrayCache
from pairmend.study.cluster import connected, run_on_cluster
from pairmend.study.definition import Study
from pairmend.study.devices import reason_device_is_missing
from pairmend.study.environment import machine
from pairmend.study.execution import Outcome, failures, folds_of, now
from pairmend.study.importing import importable
from pairmend.study.lock import locked
from pairmend.study.plan import (
    Plan,
    file_facts,
    load_set,
    merged_definition,
    methods_of,
    names_of,
    plan_study,
    sha256_of,
    versions_of,
)
from pairmend.study.process_pool import run_in_processes
from pairmend.study.requirements import require_extra
from pairmend.study.sources import CatalogueSource, data_hash
from pairmend.study.store import Store, read_progress, read_study
from pairmend.study.tasks import batches_of
from pairmend.study.worker_process import Job

if TYPE_CHECKING:
    import pandas as pd

Runner: TypeAlias = Callable[[Study, Iterable[Job]], Generator[Outcome, None, None]]
CACHE = ".cache"


class FailedTasksWarning(UserWarning):
    """Some tasks of a study failed.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FailedTasksWarning)  # make failed tasks an error
    """


@dataclass(frozen=True)
class Step:
    """Progress of a study.

    Attributes
    ----------
    n_done, n_tasks : int
        Number of tasks that are done, and of all tasks.
    doing : str
        Description of the current step, or of the last one.
    outcome : Outcome or None
        Outcome of the last task.

    Examples
    --------
    >>> Step(3, 10, "yeast, fold 1, FCM").n_done
    3
    """

    n_done: int
    n_tasks: int
    doing: str
    outcome: Outcome | None = None


def run_study(
    study: Study,
    out: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    download: bool = False,
    jobs: int = 1,
    dask: Any = None,
    accept_changes: bool = False,
    rerun: Iterable[str] = (),
    progress: Callable[[Step], None] | None = None,
) -> "pd.DataFrame":
    """Cross-validate algorithms on sets.

    Each finished task is written to ``study.sqlite`` in the output folder at once. An interrupted
    study continues when it is run again with the same folder; failed tasks are tried again. Needs
    pandas: ``pip install 'pairmend[study]'``.

    Parameters
    ----------
    study : Study
        The study to run.
    out : path, default=None
        The output folder. If None, results are only returned.
    data_dir : path, default=None
        Folder with sets of the catalogue; None means that of PAIRMEND_DATA, if it is set.
    download : bool, default=False
        Whether missing sets of the catalogue are downloaded.
    jobs : int, default=1
        Number of worker processes. Results do not depend on it.
    dask : str or distributed.Client, default=None
        A Dask cluster to use instead of local processes: the address of its scheduler, or a
        client. Results do not depend on it. Sets are read here and sent to the workers, which
        need the same version of pairmend, but no files. Needs ``pip install 'pairmend[dask]'``.
    accept_changes : bool, default=False
        Whether to continue although code, versions of packages or the files of finished sets
        differ from those of the results in the folder, which are kept.
    rerun : iterable of str, default=()
        Sets and algorithms whose results in the folder are removed and computed again, because
        their files, code or definitions have changed.
    progress : callable, default=None
        Called with each `Step`.

    Returns
    -------
    DataFrame
        Tidy rows: set, repeat, fold, algorithm, criterion, value. Failed tasks have no rows and
        cause a `FailedTasksWarning`.

    Raises
    ------
    StudyInUseError
        If another process runs a study in the folder.
    ConnectionError
        If no scheduler is found at the address, or the cluster is lost during the run.
    ValueError
        If the folder has another study or results computed with other code, if the contents of a
        set changed, or if a set is missing. It is raised before any task is run.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rows = run_study(
    ...     Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    ... )
    >>> rows[rows.criterion == "hamming"][["set", "fold", "algorithm", "value"]].round(2)
            set  fold algorithm  value
    0  simplehc     0     pairs   0.4...
    4  simplehc     1     pairs   0.4...
    """
    require_extra()
    if not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be a whole number of at least 1, got {jobs!r}")
    if dask is not None and jobs != 1:
        raise ValueError("give jobs or dask, not both: a cluster has its own number of workers")
    output: Any = nullcontext(str(out))
    if out is None:  # Windows does not remove a file that a process still has open
        output = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    local = partial(run_in_processes, n_workers=jobs)
    runner: Any = nullcontext(local) if dask is None else _cluster_runner(dask)
    with interrupts_restored(), runner as start, output as folder:
        folder = Path(folder).absolute()  # a classifier may change the working directory
        sources = (Path(data_dir) if data_dir is not None else None, download)
        again = sorted(names_of(study, rerun))
        _run(study, folder, sources, start, again, accept_changes, progress or (lambda step: None))
        record = read_study(folder)
    failed = record.tasks[record.tasks.status == "failed"]
    if len(failed):
        warnings.warn(
            f"{len(failed)} of {len(record.tasks)} tasks failed and have no results; the first: "
            f"{failed.error.iloc[0]}",
            FailedTasksWarning,
            stacklevel=2,
        )
    return record.results


@contextmanager
def _cluster_runner(cluster: Any) -> Iterator[Runner]:
    with connected(cluster) as client:
        yield partial(run_on_cluster, client=client)


def _run(
    study: Study,
    out: Path,
    sources: tuple[Path | None, bool],
    start: Runner,
    again: list[str],
    accept_changes: bool,
    progress: Callable[[Step], None],
) -> None:
    if not out.exists():
        out.mkdir(parents=True)
    elif not out.is_dir():
        raise NotADirectoryError(f"{out} is a file, expected a folder for results")
    with locked(out):
        plan = plan_study(study, out, data_dir=sources[0], download=sources[1], rerun=again)
        if reason := reason_not_to_run(study, plan, out, accept_changes):
            raise ValueError(reason)
        store = Store(out)
        cache = ArrayCache(out / CACHE)
        try:
            _run_plan(study, plan, store, cache, sources, start, again, progress)
        finally:
            cache.clear()
            store.close()


def reason_not_to_run(study: Study, plan: Plan, out: Path, accept_changes: bool = False) -> str:
    """Return why a planned study is refused (other study, changed code, missing sets), or ''."""
    if out.exists() and not out.is_dir():
        return f"{out} is a file, expected a folder for results"
    if plan.changes:
        return (
            f"{out} has results of another study. Changes:\n  "
            + "\n  ".join(plan.changes)
            + "\nUndo the changes, choose another folder (--out), or compute sets and algorithms "
            "again (--rerun NAME, or rerun=[NAME])."
        )
    if plan.code_changes and not accept_changes:
        return (
            f"{out} has results computed with other code or data. Changes:\n  "
            + "\n  ".join(plan.code_changes)
            + "\nUndo the changes, choose another folder (--out), compute sets and algorithms "
            "again (--rerun NAME, or rerun=[NAME]), or keep the results as they are "
            "(--accept-changes, or accept_changes=True)."
        )
    if reason := reason_device_is_missing(study.device):
        return reason
    missing = [f"{each.name} ({each.missing})" for each in plan.sets if each.missing]
    if missing and not study.skip_missing:
        return (
            f"these sets are missing: {', '.join(missing)}. Name the folder that has their "
            "files (data_dir, --data or PAIRMEND_DATA), allow downloading, or leave them out."
        )
    return "" if plan.available else "all sets are missing, so there is nothing to run"


def _run_plan(
    study: Study,
    plan: Plan,
    store: Store,
    cache: ArrayCache,
    sources: tuple[Path | None, bool],
    start: Runner,
    again: list[str],
    progress: Callable[[Step], None],
) -> None:
    n_done = plan.n_done
    progress(Step(n_done, plan.n_tasks, "reading the sets"))
    stored = read_progress(store.path.parent)
    left = {
        each.name: list(batches_of(study, each.name, plan.done))
        for each in plan.available
        if each.n_fits
    }
    facts, loaded, broken = [], {}, []
    for name, batches in left.items():
        progress(Step(n_done, plan.n_tasks, f"reading {name}"))
        try:
            with importable(study.folder):
                files = file_facts(study.sets[name].files())
                data = load_set(study, name, *sources)
            found = _facts(study, name, data, files)
            fold_of = folds_of(study, name, data.Y)
        except Exception as error:  # one broken set must not stop the others
            broken += [o for batch in batches for o in failures(study, batch, error)]
        else:
            if name in {task.set for task in plan.done}:
                _refuse_other_contents(name, found["sha256"], stored.sets[name].sha256, store.path)
            facts.append(found)
            loaded[name] = cache.put(data, fold_of)
    available = replace(study, sets={each.name: study.sets[each.name] for each in plan.available})
    run = store.start_run(
        merged_definition(stored.definition, available.definition()),
        {
            "started": now(),
            "versions": json.dumps(versions_of(study)),
            "machine": json.dumps(machine()),
            "study_file": sha256_of(study.file) if study.file else "",
        },
        methods_of(study),
        facts,
        again,
    )
    todo = (Job(batch, place) for name, place in loaded.items() for batch in left[name])
    with closing(start(study, todo)) as runner:  # ends the workers also after an error
        for outcome in chain(broken, runner):
            store.add(outcome, run)
            n_done += 1
            doing = f"{outcome.task.set}, fold {outcome.task.fold + 1}, {outcome.task.algorithm}"
            progress(Step(n_done, plan.n_tasks, doing, outcome))
    store.end_run(run, now())


def _facts(study: Study, name: str, data: MultiLabelData, files: list[Any]) -> dict[str, Any]:
    numbers = characteristics(data)
    source = study.sets[name]
    entry = find_entry(source.name) if isinstance(source, CatalogueSource) else None
    return {
        "name": name,
        "title": entry.title if entry else "",
        "paper_number": entry.paper_numbers[0] if entry and entry.paper_numbers else None,
        "sha256": data_hash(data),
        "source": ", ".join(path.name for path in data.source),
        "characteristics": json.dumps({key: float(numbers[key]) for key in CHARACTERISTICS}),
        "files": json.dumps(files),
    }


def _refuse_other_contents(name: str, found: str, known: str, path: Path) -> None:
    if known != found:
        raise ValueError(
            f"the contents of the set {name!r} changed since results were stored in {path}: "
            f"their SHA-256 was {known}, is now {found}. Undo the change, choose another folder "
            f"(--out), or compute the set again (--rerun {name})."
        )
