"""run_study: stores results task by task; a repeated call runs the missing tasks."""

import json
import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pairmend.datasets import MultiLabelData, characteristics
from pairmend.datasets.named_sets import find_entry
from pairmend.published import CHARACTERISTICS
from pairmend.study.cluster import connected, run_on_cluster
from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, batches_of, failures, folds_of, now
from pairmend.study.objects import importable
from pairmend.study.plan import (
    Plan,
    load_set,
    merged_definition,
    methods_of,
    names_of,
    plan_study,
    sha256_of,
    versions_of,
)
from pairmend.study.sources import CatalogueSource, SubsetSource, data_hash, put_into_cache
from pairmend.study.store import Store, check_folder, read_record, read_study, require_extra
from pairmend.study.workers import Job, run_in_processes

if TYPE_CHECKING:
    import pandas as pd

Runner: TypeAlias = Callable[[Study, Iterable[Job]], Generator[Outcome, None, None]]
CACHE, LOCK = ".cache", "study.lock"
"""Names of a folder and of the locked file in a results folder."""
CHECKED_ROWS = 100
"""Number of rows of which `check_study` fits one half and predicts the other, and the reverse."""
MOST_FAILURES = 3
"""Number of failed folds of a set after which its other folds are not tried."""


class StudyInUseError(RuntimeError):
    """Another process runs a study in the same folder.

    Examples
    --------
    >>> raise StudyInUseError("another process runs a study in results")
    Traceback (most recent call last):
    ...
    pairmend.study.run.StudyInUseError: another process runs a study in results
    """


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
        Sets, algorithms and metrics whose results in the folder are removed and computed again,
        because their files, code or definitions have changed.
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
    with runner as perform, output as folder:
        folder = Path(folder).absolute()  # a classifier may change the working directory
        check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        sources: dict[str, Any] = {"data_dir": data_dir and Path(data_dir), "download": download}
        with _locked(folder):
            plan = plan_study(study, folder, **sources, rerun=rerun)
            if reason := reason_not_to_run(study, plan, folder, accept_changes):
                raise ValueError(reason)
            again = names_of(study, rerun)
            with _cache(folder), closing(Store(folder)) as store:
                _run(study, plan, store, sources, perform, again, progress or (lambda step: None))
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


def check_study(
    study: Study,
    *,
    data_dir: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[Step], None] | None = None,
) -> "pd.DataFrame":
    """Fit each algorithm on 50 rows of each available set, to find errors before a long run.

    Two folds of at most 100 random rows are fitted and predicted. Nothing is stored.

    Parameters
    ----------
    study : Study
        The study.
    data_dir : path, default=None
        Folder with sets of the catalogue; None means that of PAIRMEND_DATA, if it is set.
    jobs : int, default=1
        Number of worker processes.
    progress : callable, default=None
        Called with each `Step`.

    Returns
    -------
    DataFrame
        A row for each set and algorithm with an error: set, algorithm, error, traceback.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> check_study(Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())})).empty
    True
    """
    sets = {name: SubsetSource(source, CHECKED_ROWS) for name, source in study.sets.items()}
    small = replace(study, sets=sets, folds=2, repeats=1, skip_missing=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FailedTasksWarning)
            run_study(small, folder, data_dir=data_dir, jobs=jobs, progress=progress)
        tasks = read_study(folder).tasks
    failed = tasks[tasks.status == "failed"].drop_duplicates(["set", "algorithm", "error"])
    return failed[["set", "algorithm", "error", "traceback"]].reset_index(drop=True)


@contextmanager
def _cluster_runner(cluster: Any) -> Iterator[Runner]:
    with connected(cluster) as client:
        yield partial(run_on_cluster, client=client)


@contextmanager
def _cache(out: Path) -> Iterator[None]:
    """Make the folder from which workers read sets, and remove it at the end."""
    shutil.rmtree(out / CACHE, ignore_errors=True)  # of a run that was killed
    (out / CACHE).mkdir(exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(out / CACHE, ignore_errors=True)


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock a results folder; raise a StudyInUseError at once if another process has locked it."""
    from filelock import FileLock, Timeout

    # The system releases the lock when the process ends, also when it is killed.
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StudyInUseError(
            f"another process runs a study in {out}. Wait until it has ended, or choose another "
            "folder."
        ) from None
    try:
        yield
    finally:
        lock.release()


def reason_not_to_run(study: Study, plan: Plan, out: Path, accept_changes: bool = False) -> str:
    """Return why a planned study is refused (other study, changed code, missing sets), or ''."""
    remedy = (
        "\nUndo the changes, choose another folder (--out), compute sets and algorithms again "
        "(--rerun NAME, or rerun=[NAME])"
    )
    if plan.changes:
        lines = "\n  ".join(plan.changes)
        return f"{out} has results of another study. Changes:\n  {lines}{remedy}."
    if plan.code_changes and not accept_changes:
        lines = "\n  ".join(plan.code_changes)
        return (
            f"{out} has results computed with other code or data. Changes:\n  {lines}{remedy}, or "
            "keep the results as they are (--accept-changes, or accept_changes=True)."
        )
    if study.device and (reason := _reason_device_is_missing(study.device)):
        return reason
    missing = [f"{each.name} ({each.missing})" for each in plan.sets if each.missing]
    if missing and not study.skip_missing:
        return (
            f"these sets are missing: {', '.join(missing)}. Name the folder that has their "
            "files (data_dir, --data or PAIRMEND_DATA), allow downloading, or leave them out."
        )
    return "" if plan.available else "all sets are missing, so there is nothing to run"


def _reason_device_is_missing(name: str) -> str:
    """Return why a device of torch cannot be used, or ''."""
    try:
        import_module("torch").empty(0, device=name)
    except ImportError:
        return f"device = {name!r} needs torch, which is not installed"
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        return f"the device {name!r} of the study is not available: {first}"
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        return (
            f"device = {name!r} needs the environment variable SCIPY_ARRAY_API=1, set before "
            "Python starts"
        )
    return ""


def _run(
    study: Study,
    plan: Plan,
    store: Store,
    sources: dict[str, Any],
    perform: Runner,
    again: set[str],
    progress: Callable[[Step], None],
) -> None:
    n_done, folder = plan.n_done, store.path.parent
    progress(Step(n_done, plan.n_tasks, "reading the sets"))
    stored = read_record(folder)
    sha256 = {} if stored is None else dict(zip(stored.sets.set, stored.sets.sha256, strict=True))
    with_results = {task.set for task in plan.done}
    facts: list[dict[str, Any]] = []
    finished: list[Outcome] = []
    left: list[Job] = []
    for name in [each.name for each in plan.available if each.n_fits]:
        progress(Step(n_done, plan.n_tasks, f"reading {name}"))
        batches = list(batches_of(study, name, plan.done))
        try:
            with importable(study.folder):
                files = [(str(p.absolute()), sha256_of(p)) for p in study.sets[name].files()]
                data = load_set(study, name, **sources)
            found = {**_facts(study, name, data), "files": json.dumps(files)}
            fold_of = folds_of(study, name, data.Y)
        except Exception as error:  # one broken set must not stop the others
            finished += [o for batch in batches for o in failures(study, batch, error)]
            continue
        if name in with_results and found["sha256"] != sha256[name]:
            raise ValueError(
                f"the contents of the set {name!r} changed since results were stored in "
                f"{store.path}. Undo the change, choose another folder (--out), or compute the set "
                f"again (--rerun {name})."
            )
        facts.append(found)
        file = put_into_cache(data, fold_of, folder / CACHE)
        left += [Job(batch, file) for batch in batches]
    available = replace(study, sets={each.name: study.sets[each.name] for each in plan.available})
    definition = merged_definition(stored.definition if stored else None, available.definition())
    about = {
        "started": now(),
        "versions": json.dumps(versions_of(study)),
        "machine": json.dumps(_machine()),
        "study_file": sha256_of(study.file) if study.file else "",
    }
    run = store.start_run(definition, about, methods_of(study), facts, again)
    store.add_missing_values(study.criteria)
    n_failed: Counter[tuple[str, str]] = Counter()
    not_tried: list[Batch] = []

    def jobs() -> Iterator[Job]:
        for batch, file in left:
            n_folds = {name: n_failed[batch.set, name] for name in batch.algorithms}
            hopeless = tuple(name for name, n in n_folds.items() if n >= MOST_FAILURES)
            if hopeless:
                not_tried.append(replace(batch, algorithms=hopeless))
            if rest := tuple(name for name in batch.algorithms if name not in hopeless):
                yield Job(replace(batch, algorithms=rest), file)

    def skipped() -> Iterator[Outcome]:
        error = RuntimeError(f"not tried, because {MOST_FAILURES} folds of the set failed")
        for batch in not_tried:
            yield from failures(study, batch, error)

    with closing(perform(study, jobs())) as outcomes:  # ends the workers also after an error
        for outcome in chain(finished, outcomes, skipped()):
            store.add(outcome, run)
            n_done += 1
            n_failed[outcome.task.set, outcome.task.algorithm] += bool(outcome.error)
            doing = f"{outcome.task.set}, fold {outcome.task.fold + 1}, {outcome.task.algorithm}"
            progress(Step(n_done, plan.n_tasks, doing, outcome))
    store.end_run(run, now())


def _facts(study: Study, name: str, data: MultiLabelData) -> dict[str, Any]:
    numbers = characteristics(data)
    source = study.sets[name]
    entry = find_entry(source.name) if isinstance(source, CatalogueSource) else None
    return {
        "set": name,
        "title": entry.title if entry else "",
        "paper_number": entry.paper_numbers[0] if entry and entry.paper_numbers else None,
        "sha256": data_hash(data),
        "source": ", ".join(path.name for path in data.source),
        "characteristics": json.dumps({key: float(numbers[key]) for key in CHARACTERISTICS}),
    }


def _machine() -> dict[str, str]:
    """Return properties of this machine, without its name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    try:  # Windows has no sysconf
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, OSError, ValueError):
        memory = None
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": names[0] if names else platform.processor(),
        "processors": str(os.cpu_count()),
        "memory": "unknown" if memory is None else f"{memory:.1f} GiB",
        "implementation": sys.implementation.name,
    }
