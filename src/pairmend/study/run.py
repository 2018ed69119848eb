"""run_study: stores results task by task; a repeated call runs the missing tasks."""

import json
import os
import platform
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairmend.datasets import MultiLabelData, characteristics
from pairmend.published import CHARACTERISTICS
from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, batches_of, failures, folds_of, now
from pairmend.study.objects import importable
from pairmend.study.plan import (
    Plan,
    files_of,
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
NOT_TRIED = RuntimeError(f"not tried, because {MOST_FAILURES} folds of the set failed")


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
        perform: Any = partial(run_in_processes, n_workers=jobs)
        if dask is not None:
            require_extra("distributed", extra="dask")
            if isinstance(dask, str):
                from distributed import Client

                dask = stack.enter_context(Client(dask, timeout=5, set_as_default=False))
            perform = partial(run_on_cluster, client=dask)
        if out is None:  # Windows does not remove a file that a process still has open
            out = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        folder = Path(out).absolute()  # a classifier may change the working directory
        _lock(folder, stack)
        plan = plan_study(study, folder, **sources, rerun=rerun)
        if reason := reason_not_to_run(study, plan, folder, accept_changes):
            raise ValueError(reason)
        for old in folder.glob(".cache-*"):  # of a run that was killed
            shutil.rmtree(old, ignore_errors=True)
        cache = tempfile.TemporaryDirectory(
            prefix=".cache-", dir=folder, ignore_cleanup_errors=True
        )
        run = _Run(study, plan, Path(stack.enter_context(cache)), Store(folder), progress)
        stack.enter_context(closing(run.store.connection))
        run.perform(perform, *run.prepare(names_of(study, rerun), **sources))
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
    sets = {name: replace(each, most_rows=CHECKED_ROWS) for name, each in study.sets.items()}
    small = replace(study, sets=sets, folds=2, repeats=1, skip_missing=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FailedTasksWarning)
            run_study(small, folder, data_dir=data_dir, jobs=jobs, progress=progress)
        tasks = read_study(folder).tasks
    failed = tasks[tasks.status == "failed"].drop_duplicates(["set", "algorithm", "error"])
    return failed[["set", "algorithm", "error", "traceback"]].reset_index(drop=True)


def reason_not_to_run(study: Study, plan: Plan, out: Path, accept_changes: bool = False) -> str:
    """Return why a planned study is refused (other study, changed code, missing sets), or ''."""
    lines = "\n  ".join(plan.changes or plan.code_changes)
    remedy = (
        f" Changes:\n  {lines}\nUndo the changes, choose another folder (--out), compute sets and "
        "algorithms again (--rerun NAME, or rerun=[NAME])"
    )
    if plan.changes:
        return f"{out} has results of another study.{remedy}."
    if plan.code_changes and not accept_changes:
        return (
            f"{out} has results computed with other code or data.{remedy}, or keep the results as "
            "they are (--accept-changes, or accept_changes=True)."
        )
    absent = plan.sets[plan.sets.missing != ""]
    missing = [f"{name} ({why})" for name, why in zip(absent.name, absent.missing, strict=True)]
    if missing and not study.skip_missing:
        return (
            f"these sets are missing: {', '.join(missing)}. Name the folder that has their "
            "files (data_dir, --data or PAIRMEND_DATA), allow downloading, or leave them out."
        )
    return "" if plan.n_tasks else "all sets are missing, so there is nothing to run"


def _lock(folder: Path, stack: ExitStack) -> None:
    """Make and lock a results folder; raise an error at once if another process has locked it."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        # The system releases the lock when the process ends, also when it is killed.
        stack.enter_context(FileLock(folder / "study.lock", timeout=0))
    except Timeout:
        raise BlockingIOError(
            f"another process runs a study in {folder}. Wait until it has ended, or choose "
            "another folder."
        ) from None


@dataclass
class _Run:
    """A run of a study whose folder is locked."""

    study: Study
    plan: Plan
    cache: Path
    store: Store
    progress: Callable[[Step], None] | None

    def show(self, n_new: int, doing: str, outcome: Outcome | None = None) -> None:
        """Show the progress."""
        if self.progress is not None:
            self.progress(Step(self.plan.n_done + n_new, self.plan.n_tasks, doing, outcome))

    def prepare(
        self, again: set[str], data_dir: Path | None, download: bool
    ) -> tuple[int, list[Job], list[Outcome]]:
        """Read the sets, and store the start of a run; return its number, jobs and failures."""
        study, stored = self.study, read_record(self.store.path.parent)
        sha256 = dict(stored.sets[["set", "sha256"]].to_numpy()) if stored else {}
        with_results = {task.set for task in self.plan.done}
        facts: list[dict[str, Any]] = []
        failed: list[Outcome] = []
        jobs: list[Job] = []
        available = self.plan.sets[self.plan.sets.missing == ""]
        with importable(study.folder):
            for name in available.name[available.fits > 0]:
                self.show(0, f"reading {name}")
                batches = list(batches_of(study, name, self.plan.done))
                try:
                    data = replace(study.sets[name].load(data_dir, download), name=name)
                    found, fold_of = _facts(study, name, data), folds_of(study, name, data.Y)
                except Exception as error:  # one broken set must not stop the others
                    failed += [each for batch in batches for each in failures(batch, error)]
                    continue
                if name in with_results and found["sha256"] != sha256[name]:
                    raise ValueError(
                        f"the contents of the set {name!r} changed since results were stored in "
                        f"{self.store.path}. Undo the change, choose another folder (--out), or "
                        f"compute the set again (--rerun {name})."
                    )
                facts.append(found)
                file = put_into_cache(data, fold_of, self.cache / str(len(facts)))
                jobs += [Job(batch, file) for batch in batches]
            about = {
                "started": now(),
                "versions": json.dumps(versions(study)),
                "machine": json.dumps(_machine()),
                "study_file": sha256_of(study.file) if study.file else "",
            }
            files = files_of(study)
        kept = replace(study, sets={name: study.sets[name] for name in available.name})
        definition = kept.definition()
        old: Mapping[str, Any] = {}
        if stored:  # files of finished sets may be absent
            old, before = stored.files, stored.definition
            parts = {key: {**before[key], **definition[key]} for key in ("sets", "algorithms")}
            definition |= {**parts, "repeats": max(before["repeats"], study.repeats)}
        files = {key: {**old.get(key, {}), **files.get(key, {})} for key in {**old, **files}}
        run = self.store.start_run(definition, files, about, facts, again)
        self.store.add_missing_values(study.criteria)
        return run, jobs, failed

    def perform(self, perform: Any, run: int, jobs: list[Job], failed: list[Outcome]) -> None:
        """Perform jobs and store the outcomes, until too many folds of a set have failed."""
        n_failed: Counter[tuple[str, str]] = Counter()
        skipped: list[Batch] = []

        def hopeful() -> Iterator[Job]:
            for batch, file in jobs:
                failing = {t for t in batch.tasks if n_failed[t.set, t.algorithm] >= MOST_FAILURES}
                skipped.append(batch.without(set(batch.tasks) - failing))
                if (rest := batch.without(failing)).tasks:
                    yield Job(rest, file)

        # Workers read sets from the cache, so they are not sent with the study.
        study = replace(self.study, sets=dict.fromkeys(self.study.sets, Source({})))
        not_tried = (each for batch in skipped for each in failures(batch, NOT_TRIED))
        with closing(perform(study, hopeful())) as outcomes:  # ends workers, also by an error
            for n_new, outcome in enumerate(chain(failed, outcomes, not_tried), 1):
                self.store.add(outcome, run)
                task = outcome.task
                n_failed[task.set, task.algorithm] += bool(outcome.error)
                self.show(n_new, f"{task.set}, fold {task.fold + 1}, {task.algorithm}", outcome)
        self.store.end_run(run, now())


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
    processor = platform.processor() or platform.machine()
    return {
        "system": platform.platform(),
        "processor": processor,
        "processors": f"{os.cpu_count()}",
    }
