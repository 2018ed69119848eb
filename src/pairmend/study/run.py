"""run_study: stores results task by task; a repeated call runs the missing tasks."""

import json
import os
import platform
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairmend.datasets import MultiLabelData, characteristics
from pairmend.datasets.data import subset
from pairmend.published import CHARACTERISTICS
from pairmend.study.definition import Study
from pairmend.study.execution import (
    Batch,
    Outcome,
    batches_of,
    failure_of,
    failures,
    folds_of,
    now,
)
from pairmend.study.objects import importable
from pairmend.study.plan import (
    Plan,
    files_of,
    merged_definition,
    names_of,
    plan_study,
    sha256_of,
    versions,
)
from pairmend.study.sources import Source, data_hash, put_into_cache
from pairmend.study.store import Store, read_record, read_study, require_extra
from pairmend.study.workers import Job, run_in_processes, run_on_cluster

if TYPE_CHECKING:
    import pandas as pd

CHECKED_ROWS = 100
"""Number of rows of which `check_study` fits one half and predicts the other, and the reverse."""
MOST_FAILURES = 3
"""Number of failed folds of a set after which its other folds are not tried."""


class FailedTasksWarning(UserWarning):
    """Some tasks of a study failed.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FailedTasksWarning)  # make failed tasks an error
    """


class Step(NamedTuple):
    """Progress of a study."""

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
        Called with each step: an object with ``n_done`` and ``n_tasks``, ``doing``, a description,
        and ``outcome``, None or the last task's, with ``task`` (its set, repeat, fold and
        algorithm) and ``error`` (empty if it is done).

    Returns
    -------
    DataFrame
        Tidy rows: set, repeat, fold, algorithm, criterion, value. Failed tasks have no rows and
        cause a `FailedTasksWarning`.

    Raises
    ------
    OSError
        If another process runs a study in the folder, no scheduler is found at the address, or
        the cluster is lost during the run.
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
    sources: dict[str, Any] = {"data_dir": data_dir and Path(data_dir), "download": download}
    with ExitStack() as stack:
        perform = partial(run_in_processes, n_workers=jobs)
        if dask is not None:
            perform = partial(run_on_cluster, client=stack.enter_context(_client(dask)))
        if out is None:  # Windows does not remove a file that a process still has open
            out = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        folder = Path(out).absolute()  # a classifier may change the working directory
        stack.enter_context(_locked(folder))
        plan = plan_study(study, folder, **sources, rerun=rerun)
        if reason := reason_not_to_run(study, plan, folder, accept_changes):
            raise ValueError(reason)
        store = Store(folder)
        stack.enter_context(closing(store.connection))
        _run(study, plan, store, sources, perform, names_of(study, rerun), progress)
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
        As in :func:`run_study`.

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
    require_extra()
    import pandas as pd

    errors: list[dict[str, str]] = []
    sets: dict[str, Any] = {}
    plan = plan_study(study, data_dir=data_dir)
    for name in plan.sets.name[plan.sets.missing == ""]:
        try:
            with importable(study.folder):
                data = study.sets[name].load(data_dir and Path(data_dir), download=False)
            sets[name] = subset(data, min(len(data.Y), CHECKED_ROWS), seed=0)
        except Exception as error:
            errors += [{"set": name, "algorithm": "", **failure_of(error)}]
    frame = pd.DataFrame(errors, columns=["set", "algorithm", "error", "traceback"])
    if not sets:
        return frame
    small = replace(study, sets=sets, folds=2, repeats=1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FailedTasksWarning)
            run_study(small, folder, jobs=jobs, progress=progress)
        tasks = read_study(folder).tasks
    failed = tasks[tasks.status == "failed"].drop_duplicates(["set", "algorithm", "error"])
    return pd.concat([frame, failed[frame.columns]], ignore_index=True)


@contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    """Yield the client of a Dask cluster given as a client or as the address of its scheduler."""
    require_extra("distributed", extra="dask")
    from distributed import Client

    if not isinstance(cluster, str):
        yield cluster
        return
    with Client(cluster, timeout=5, set_as_default=False) as client:
        yield client


@contextmanager
def _cache(out: Path) -> Iterator[Path]:
    """Make a folder from which workers read sets, and remove it at the end."""
    for old in out.glob(".cache-*"):  # of a run that was killed
        shutil.rmtree(old, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=".cache-", dir=out)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Make and lock a results folder; raise an error at once if another process has locked it."""
    from filelock import FileLock, Timeout

    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file, expected a folder for results")
    out.mkdir(parents=True, exist_ok=True)
    try:
        # The system releases the lock when the process ends, also when it is killed.
        with FileLock(out / "study.lock", timeout=0):
            yield
    except Timeout:
        raise BlockingIOError(
            f"another process runs a study in {out}. Wait until it has ended, or choose another "
            "folder."
        ) from None


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
    absent = plan.sets[plan.sets.missing != ""]
    missing = [f"{name} ({why})" for name, why in zip(absent.name, absent.missing, strict=True)]
    if missing and not study.skip_missing:
        return (
            f"these sets are missing: {', '.join(missing)}. Name the folder that has their "
            "files (data_dir, --data or PAIRMEND_DATA), allow downloading, or leave them out."
        )
    return "" if plan.n_tasks else "all sets are missing, so there is nothing to run"


def _run(
    study: Study,
    plan: Plan,
    store: Store,
    sources: dict[str, Any],
    perform: Callable[..., Any],
    again: set[str],
    progress: Callable[[Step], None] | None,
) -> None:
    n_done, folder = plan.n_done, store.path.parent
    n_failed: Counter[tuple[str, str]] = Counter()
    not_tried: list[Batch] = []

    def show(doing: str, outcome: Outcome | None = None) -> None:
        if progress is not None:
            progress(Step(n_done, plan.n_tasks, doing, outcome))

    def hopeful(jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield jobs without algorithms that failed on too many folds of the set."""
        for batch, file in jobs:
            failing = [n for n in batch.algorithms if n_failed[batch.set, n] >= MOST_FAILURES]
            hopeless = replace(batch, algorithms=tuple(failing))
            not_tried.append(hopeless)
            if (rest := batch.without(set(hopeless.tasks))).algorithms:
                yield Job(rest, file)

    def skipped() -> Iterator[Outcome]:
        error = RuntimeError(f"not tried, because {MOST_FAILURES} folds of the set failed")
        for batch in not_tried:
            yield from failures(study, batch, error)

    show("reading the sets")
    with _cache(folder) as cache:
        jobs, finished, run = _prepare(study, plan, store, sources, again, cache, show)
        # Workers read sets from the cache, so they are not sent with the study.
        sent = replace(study, sets=dict.fromkeys(study.sets, Source({})))
        with closing(perform(sent, hopeful(jobs))) as outcomes:  # ends workers, also by an error
            for outcome in chain(finished, outcomes, skipped()):
                store.add(outcome, run)
                n_done += 1
                task = outcome.task
                n_failed[task.set, task.algorithm] += bool(outcome.error)
                show(f"{task.set}, fold {task.fold + 1}, {task.algorithm}", outcome)
    store.end_run(run, now())


def _prepare(
    study: Study,
    plan: Plan,
    store: Store,
    sources: dict[str, Any],
    again: set[str],
    cache: Path,
    show: Callable[[str], None],
) -> tuple[list[Job], list[Outcome], int]:
    """Read the sets, and store the start of a run; return jobs, failures and its number."""
    stored = read_record(store.path.parent)
    sha256 = {} if stored is None else dict(zip(stored.sets.set, stored.sets.sha256, strict=True))
    with_results = {task.set for task in plan.done}
    facts: list[dict[str, Any]] = []
    failed: list[Outcome] = []
    jobs: list[Job] = []
    available = plan.sets[plan.sets.missing == ""]
    with importable(study.folder):
        files = files_of(study)
        for name in available.name[available.fits > 0]:
            show(f"reading {name}")
            batches = list(batches_of(study, name, plan.done))
            try:
                data = _load_set(study, name, **sources)
                facts_of_set, fold_of = _facts(study, name, data), folds_of(study, name, data.Y)
            except Exception as error:  # one broken set must not stop the others
                failed += [
                    outcome for batch in batches for outcome in failures(study, batch, error)
                ]
                continue
            if name in with_results and facts_of_set["sha256"] != sha256[name]:
                raise ValueError(
                    f"the contents of the set {name!r} changed since results were stored in "
                    f"{store.path}. Undo the change, choose another folder (--out), or compute the "
                    f"set again (--rerun {name})."
                )
            facts.append(facts_of_set)
            file = put_into_cache(data, fold_of, cache / str(len(facts)))
            jobs += [Job(batch, file) for batch in batches]
        about = {
            "started": now(),
            "versions": json.dumps(versions(study)),
            "machine": json.dumps(_machine()),
            "study_file": sha256_of(study.file) if study.file else "",
        }
    kept = replace(study, sets={name: study.sets[name] for name in available.name})
    definition = merged_definition(stored.definition if stored else None, kept.definition())
    old = stored.files if stored else {}  # files of finished sets may be absent
    files = {place: {**old.get(place, {}), **files.get(place, {})} for place in {**old, **files}}
    run = store.start_run(definition, files, about, facts, again)
    store.add_missing_values(study.criteria)
    return jobs, failed, run


def _load_set(study: Study, name: str, data_dir: Path | None, download: bool) -> MultiLabelData:
    """Load a set that has enough rows and labels for the study."""
    data = replace(study.sets[name].load(data_dir, download), name=name)
    n_rows, n_labels = data.Y.shape
    if n_rows < study.folds:
        raise ValueError(f"{name} has {n_rows} rows, too few for {study.folds} folds")
    if n_labels < 2:
        raise ValueError(f"{name} has {n_labels} label, expected two or more")
    return data


def _facts(study: Study, name: str, data: MultiLabelData) -> dict[str, Any]:
    numbers, entry = characteristics(data), study.sets[name].entry
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
    names.append(platform.processor())
    return {"system": platform.platform(), "processor": names[0], "processors": f"{os.cpu_count()}"}
