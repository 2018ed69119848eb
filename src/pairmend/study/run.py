"""run_study: stores results task by task; a repeated call runs the missing tasks."""

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
from pairmend.study.definition_changes import merged_definition
from pairmend.study.devices import reason_device_is_missing
from pairmend.study.environment import machine
from pairmend.study.execution import Outcome, failures, folds_of, now
from pairmend.study.importing import importable
from pairmend.study.lock import locked
from pairmend.study.plan import Plan, plan_study
from pairmend.study.process_pool import run_in_processes
from pairmend.study.requirements import require_extra
from pairmend.study.sources import CatalogueSource, as_data, data_hash, with_name
from pairmend.study.start import merged_start, start_of
from pairmend.study.store import Store, read_study
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
        Whether to continue although code or versions of packages differ from those of the
        results in the folder. The folder then has results of both.
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
        _run(study, folder, sources, start, accept_changes, progress or (lambda step: None))
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
    accept_changes: bool,
    progress: Callable[[Step], None],
) -> None:
    if not out.exists():
        out.mkdir(parents=True)
    elif not out.is_dir():
        raise NotADirectoryError(f"{out} is a file, expected a folder for results")
    with locked(out):
        plan = plan_study(study, out, data_dir=sources[0], download=sources[1])
        if reason := reason_not_to_run(study, plan, out, accept_changes):
            raise ValueError(reason)
        store = Store(out)
        cache = ArrayCache(out / CACHE)
        try:
            _run_plan(study, plan, store, cache, sources, start, progress)
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
            + "\nChoose another folder, or undo the changes."
        )
    if plan.code_changes and not accept_changes:
        return (
            f"{out} has results computed with other code; new results would be mixed with them. "
            "Changes:\n  "
            + "\n  ".join(plan.code_changes)
            + "\nChoose another folder (--out), undo the changes, or keep the results of both in "
            "this one (--accept-changes, or accept_changes=True)."
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
    progress: Callable[[Step], None],
) -> None:
    n_done = plan.n_done
    progress(Step(n_done, plan.n_tasks, "reading the sets"))
    done = store.done()
    left = {
        each.name: list(batches_of(study, each.name, done))
        for each in plan.available
        if each.n_fits
    }
    loaded, broken = {}, []
    for name, batches in left.items():
        progress(Step(n_done, plan.n_tasks, f"reading {name}"))
        try:
            with importable(study.folder):
                data = _load(study, name, *sources)
            facts = _facts(study, name, data)
            fold_of = folds_of(study, name, data.Y)
        except Exception as error:  # one broken set must not stop the others
            broken += [o for batch in batches for o in failures(study, batch, error)]
        else:
            if any(task.set == name for task in done):
                _refuse_other_contents(name, facts["sha256"], store)
            store.add_set(name, **facts)
            loaded[name] = cache.put(data, fold_of)
    available = replace(study, sets={each.name: study.sets[each.name] for each in plan.available})
    store.set_definition(merged_definition(store.definition(), available.definition()))
    begin, versions = start_of(study, *sources)
    run = store.start_run(now(), versions, machine(), merged_start(store.start(), begin))
    todo = (Job(batch, place) for name, place in loaded.items() for batch in left[name])
    with closing(start(study, todo)) as runner:  # ends the workers also after an error
        for outcome in chain(broken, runner):
            store.add(outcome, run)
            n_done += 1
            doing = f"{outcome.task.set}, fold {outcome.task.fold + 1}, {outcome.task.algorithm}"
            progress(Step(n_done, plan.n_tasks, doing, outcome))
    store.end_run(run, now())


def _load(study: Study, name: str, data_dir: Path | None, download: bool) -> MultiLabelData:
    data = with_name(as_data(study.sets[name].load(data_dir, download)), name)
    n_rows, n_labels = data.Y.shape
    if n_rows < study.folds:
        raise ValueError(f"{name} has {n_rows} rows, too few for {study.folds} folds")
    if n_labels < 2:
        raise ValueError(f"{name} has {n_labels} label, expected two or more")
    return data


def _facts(study: Study, name: str, data: MultiLabelData) -> dict[str, Any]:
    numbers = characteristics(data)
    source = study.sets[name]
    entry = find_entry(source.name) if isinstance(source, CatalogueSource) else None
    return {
        "title": entry.title if entry else "",
        "paper_number": entry.paper_numbers[0] if entry and entry.paper_numbers else None,
        "sha256": data_hash(data),
        "source": ", ".join(path.name for path in data.source),
        "characteristics": {key: float(numbers[key]) for key in CHARACTERISTICS},
    }


def _refuse_other_contents(name: str, found: str, store: Store) -> None:
    known = store.set_hash(name)
    if known is not None and known != found:
        raise ValueError(
            f"the contents of the set {name!r} changed since results were stored in {store.path}: "
            f"their SHA-256 was {known}, is now {found}. Choose another folder."
        )
