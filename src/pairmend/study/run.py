"""Planning and running studies: results are stored task by task, and missing tasks are run."""

import json
import os
import platform
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairmend._utils.optional import require
from pairmend.datasets import characteristics
from pairmend.published import CHARACTERISTICS
from pairmend.study import objects, store
from pairmend.study.criteria import own_names
from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, Task, batches_of, failures, folds_of, now
from pairmend.study.objects import importable
from pairmend.study.sources import Rows, Source, data_hash
from pairmend.study.store import StudyRecord, read_record, read_study
from pairmend.study.workers import Job, run_in_processes, run_on_cluster

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_EFFECT = ("name", "title", "alpha", "skip_missing", "time_limit", "repeats", "predictions")
"""Keys that results do not depend on."""
CHECKED_ROWS = 100
"""Number of rows of which `check_study` fits one half and predicts the other, and the reverse."""
MOST_FAILED = 3
"""Number of failed folds of a set after which its other folds are not tried."""
NOT_TRIED = RuntimeError(f"not tried, because {MOST_FAILED} folds of the set failed")


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


@dataclass(frozen=True)
class Plan:
    """Remaining work of a study.

    Attributes
    ----------
    sets : DataFrame
        A row for each set: ``name``, ``missing`` (why it cannot be loaded; empty if it can),
        ``done`` and ``tasks`` (numbers of tasks that are done, and of all), ``fits`` (number of
        remaining fits), ``prediction_bytes`` (size of the predictions to be stored, before they
        are compressed; 0 for sets that are not in the catalogue).
    n_tasks, n_done : int
        Numbers of tasks on sets that can be loaded, and of those that are done.
    changes : tuple of str
        Differences from the study in the folder that make results incomparable.
    code_changes : tuple of str
        Code, versions of packages and data files that differ from those of the results in the
        folder.
    done : frozenset
        Tasks that are done and are not computed again.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, plan_study
    >>> plan_study(Study(["simplehc"], {"LPW": PairwiseClassifier()}, folds=5)).n_tasks
    5
    """

    sets: "pd.DataFrame"
    n_tasks: int
    n_done: int
    changes: tuple[str, ...]
    code_changes: tuple[str, ...]
    done: frozenset[Task] = field(repr=False)


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
    require("a study", *store.PACKAGES)
    import pandas as pd

    stored = None if out is None else read_record(Path(out))
    again, folder = _names_of(study, rerun), Path(data_dir) if data_dir is not None else None
    done: frozenset[Task] = frozenset()
    if stored is not None:
        rows = stored.tasks.loc[stored.tasks.status == "done", list(Task._fields)]
        tasks = (Task(*row) for row in rows.itertuples(index=False))
        done = frozenset(task for task in tasks if not again & {task.set, task.algorithm})
    with importable(study.folder):
        planned = [_planned(study, name, done, folder, download) for name in study.sets]
        changes, different = [], []
        if stored is not None and done:
            places = {f"sets.{task.set}" for task in done}
            places |= {f"algorithms.{task.algorithm}" for task in done}
            changes = _definition_changes(study, stored, places, again)
            places |= {f"criteria.{name}" for name in study.criteria if name not in again}
            different = file_changes(stored, files_of(study), places)
            if any(each["fits"] and not each["missing"] for each in planned):
                used = stored.runs[stored.runs.run.isin(stored.tasks.run)]  # the others did nothing
                old = {name: text for found in used.versions for name, text in found.items()}
                different += _differences(old, objects.versions(study.algorithms), {*old})
    sets = pd.DataFrame(planned)
    n_tasks, n_done = (int(sets[key][sets.missing == ""].sum()) for key in ("tasks", "done"))
    return Plan(sets, n_tasks, n_done, tuple(changes), tuple(different), done)


def _names_of(study: Study, names: Iterable[str]) -> set[str]:
    """Return names of sets, algorithms and metrics as the study has them."""
    own = (*study.criteria, *study.sets, *study.algorithms)
    return set(own_names(own, names, "set, algorithm or metric"))


def _planned(
    study: Study, name: str, done: frozenset[Task], data_dir: Path | None, download: bool
) -> dict[str, Any]:
    left, n_tasks = list(batches_of(study, name, done)), study.n_tasks // len(study.sets)
    n_left, source = sum(len(batch.tasks) for batch in left), study.sets[name]
    entry, missing = source.entry, source.missing(data_dir)
    if not left or (download and entry is not None and entry.status == "files"):
        missing = ""
    n_cells = 0
    if entry and not missing and study.predictions != "none":
        n_cells = source.table.get("rows", entry.rows) * entry.labels
    return {
        "name": name,
        "missing": missing,
        "done": n_tasks - n_left,
        "tasks": n_tasks,
        "fits": len(left),
        # Each row is tested once a repeat; truth and labels take a bit, scores four bytes.
        "prediction_bytes": round(
            n_left / study.folds * n_cells * (2 / 8 + 4 * (study.predictions == "scores"))
        ),
    }


def _definition_changes(
    study: Study, stored: StudyRecord, places: set[str], again: set[str]
) -> list[str]:
    """Return a line for each change that makes new results differ from the stored ones."""
    # Sets, algorithms and repeats may be added or left out: the seed of each row depends only
    # on its names. Metrics may be added if they can be computed from predictions.
    old, new = _texts(stored.definition), _texts(study.definition())
    kept = stored.tasks.stored[stored.tasks.status == "done"]
    added = {
        f"criteria.{name}"
        for name, criterion in study.criteria.items()
        if (f"criteria.{name}" not in old or name in again)
        and kept.isin({criterion.needs, "scores"}).all()
    }
    parts = {place for place in old | new if place.startswith(("sets.", "algorithms."))}
    return _differences(old, new, {*old, *new} - added - (parts - (places & {*old} & {*new})))


def _differences(old: dict[str, str], new: dict[str, str], places: set[str]) -> list[str]:
    return [
        f"{place} was {old.get(place, 'absent')}, is now {new.get(place, 'absent')}"
        for place in {**old, **new}
        if place in places and old.get(place) != new.get(place)
    ]


def _texts(definition: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a definition as text by place; files by name, as they may be moved."""
    tables = ("sets", "algorithms", "criteria")
    found = {
        key: objects.as_text(definition[key]) for key in {*definition} - {*tables, *WITHOUT_EFFECT}
    }
    for key in tables:
        for name, part in definition[key].items():
            files = {k: Path(part[k]).name for k in ("file", "xml") if key == "sets" and k in part}
            found[f"{key}.{name}"] = objects.as_text({**part, **files})
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
    stored = read_study(folder)
    files = {
        f"sets.{name}": objects.digests(Source(table).files())
        for name, table in stored.definition["sets"].items()
        if "function" not in table  # no code is imported
    }
    return file_changes(stored, files, set(files))


def files_of(study: Study) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of the user's own files that sets, algorithms and metrics depend on.

    For algorithms and metrics these are the files that define their classes and functions, and base
    classes, as far as they are not in installed packages. What these import is not followed.
    """
    found = {}
    for name, each in study.sets.items():
        with suppress(ImportError):  # of a function, without which the set is missing
            found[f"sets.{name}"] = objects.digests(each.files())
    parts = {f"algorithms.{name}": each for name, each in study.algorithms.items()}
    parts |= {f"criteria.{name}": vars(each) for name, each in study.criteria.items()}
    for place, part in parts.items():
        found[place] = objects.digests({n: objects.own_file(n) for n in objects.modules_of(part)})
    return found


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
    cloudpickle, filelock and pandas.

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
        A Dask cluster to use instead of local processes, with its own number of workers: the
        address of its scheduler, or a client. Results do not depend on it. Sets are read here and
        sent to the workers, which need the same version of pairmend, but no files. Needs
        dask and distributed.
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
    require("a study", *store.PACKAGES)
    from filelock import FileLock, Timeout

    sources: dict[str, Any] = {"data_dir": data_dir and Path(data_dir), "download": download}
    with ExitStack() as stack:
        perform: Any = partial(run_in_processes, n_workers=jobs)
        if dask is not None:
            require("a study on a cluster", "dask", "distributed")
            if isinstance(dask, str):
                from distributed import Client

                dask = stack.enter_context(Client(dask, timeout=5, set_as_default=False))
            perform = partial(run_on_cluster, client=dask)
        if out is None:  # Windows does not remove a file that a process still has open
            out = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        folder = Path(out).absolute()  # a classifier may change the working directory
        folder.mkdir(parents=True, exist_ok=True)
        try:  # the system releases the lock when the process ends, also when it is killed
            stack.enter_context(FileLock(folder / "study.lock", timeout=0))
        except Timeout:
            raise BlockingIOError(
                f"another process runs a study in {folder}. Wait until it has ended, or choose "
                "another folder."
            ) from None
        plan = plan_study(study, folder, **sources, rerun=rerun)
        if reason := reason_not_to_run(study, plan, folder, accept_changes):
            raise ValueError(reason)
        _Run(study, plan, folder, sources, progress).run(perform, _names_of(study, rerun))
        record = read_study(folder)
    failed = record.tasks[record.tasks.status == "failed"]
    if len(failed):
        message = f"{len(failed)} of {len(record.tasks)} tasks failed and have no results"
        message += f"; the first: {failed.error.iloc[0]}"
        warnings.warn(message, FailedTasksWarning, stacklevel=2)
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
        with warnings.catch_warnings(action="ignore", category=FailedTasksWarning):
            run_study(small, folder, data_dir=data_dir, jobs=jobs, progress=progress)
        tasks = read_study(folder).tasks
    failed = tasks[tasks.status == "failed"].drop_duplicates(["set", "algorithm", "error"])
    return failed[["set", "algorithm", "error", "traceback"]].reset_index(drop=True)


def reason_not_to_run(study: Study, plan: Plan, out: Path, accept_changes: bool = False) -> str:
    """Return why a planned study is refused (other study, changed code, missing sets), or ''."""
    absent = plan.sets[plan.sets.missing != ""]
    missing = [f"{name} ({why})" for name, why in zip(absent.name, absent.missing, strict=True)]
    what, last = "of another study", ""
    if not plan.changes:
        what = "computed with other code or data"
        last = ", or keep the results as they are (--accept-changes, or accept_changes=True)"
    if changes := plan.changes or (() if accept_changes else plan.code_changes):
        lines = "\n  ".join(changes)
        return (
            f"{out} has results {what}. Changes:\n  {lines}\nUndo the changes, choose another "
            "folder (--out), compute sets and algorithms again (--rerun NAME, or rerun=[NAME])"
            f"{last}."
        )
    if missing and not study.skip_missing:
        return (
            f"these sets are missing: {', '.join(missing)}. Name the folder that has their "
            "files (data_dir, --data or PAIRMEND_DATA), allow downloading, or leave them out."
        )
    return "" if plan.n_tasks else "all sets are missing, so there is nothing to run"


@dataclass
class _Run:
    """A run of a study whose folder is locked."""

    study: Study
    plan: Plan
    folder: Path
    sources: dict[str, Any]
    progress: Callable[[Step], None] | None
    number: int = 0
    n_new: int = 0
    n_failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def show(self, doing: str, outcome: Outcome | None = None) -> None:
        """Show the progress."""
        if self.progress is not None:
            n_done = self.plan.n_done + self.n_new
            self.progress(Step(n_done, self.plan.n_tasks, doing, outcome))

    def run(self, perform: Any, again: set[str]) -> None:
        """Perform all jobs, and store the start of the run and each outcome."""
        study, sets = self.study, self.plan.sets
        present = {name: study.sets[name] for name in sets.name[sets.missing == ""]}
        machine = {"system": platform.platform(), "processors": os.cpu_count()}
        with importable(study.folder):
            about = {
                "started": now(),
                "versions": json.dumps(objects.versions(study.algorithms)),
                "machine": json.dumps(machine),
            }
            definition = replace(study, sets=present).definition()
            self.number = store.start_run(self.folder, definition, files_of(study), about, again)
        store.add_missing_values(self.folder, study.criteria)
        # Workers receive the rows of a set with the first batch of it.
        study = replace(study, sets=dict.fromkeys(study.sets, Source({})))
        with closing(perform(study, self.jobs(), waiting=self.wait)) as outcomes:  # ends workers
            for outcome in outcomes:
                self.finish(outcome)
        store.end_run(self.folder, self.number, now())

    def finish(self, *outcomes: Outcome) -> None:
        """Store and show outcomes."""
        for outcome in outcomes:
            store.add(self.folder, outcome, self.number)
            self.n_new += 1
            self.n_failed[outcome.task.set, outcome.task.algorithm] += bool(outcome.error)
            self.show(_name(outcome.task), outcome)

    def jobs(self) -> Iterator[Job]:
        """Read the sets one after the other; leave out tasks of which too many have failed."""
        study, sets, with_results = self.study, self.plan.sets, {t.set for t in self.plan.done}
        sha256 = read_study(self.folder).sets.set_index("set").sha256
        for name in sets.name[(sets.missing == "") & (sets.fits > 0)]:
            self.show(f"reading {name}")
            batches = list(batches_of(study, name, self.plan.done))
            try:
                with importable(study.folder):
                    data = replace(study.sets[name].load(**self.sources), name=name)
                numbers, entry = characteristics(data), study.sets[name].entry
                facts = {
                    "set": name,
                    "title": entry.title if entry else "",
                    "paper_number": next(iter(entry.paper_numbers), None) if entry else None,
                    "sha256": data_hash(data),
                    "source": ", ".join(path.name for path in data.source),
                    "characteristics": json.dumps({k: float(numbers[k]) for k in CHARACTERISTICS}),
                }
                X = data.to_pandas()[0] if data.categories else data.X
                rows = Rows(X, data.Y, folds_of(study, name, data.Y))
                if name in with_results and facts["sha256"] != sha256[name]:
                    raise ValueError(
                        f"the contents of the set {name!r} changed since results were stored. Undo "
                        "the change, choose another folder (--out), or compute the set again "
                        f"(--rerun {name})."
                    )
            except Exception as error:  # one broken set must not stop the others
                for batch in batches:
                    self.finish(*failures(batch, error))
                continue
            store.add_set(self.folder, facts)
            for batch in batches:
                often = {t for t in batch.tasks if self.n_failed[t.set, t.algorithm] >= MOST_FAILED}
                self.finish(*failures(batch.without({*batch.tasks} - often), NOT_TRIED))
                if (rest := batch.without(often)).tasks:
                    yield Job(rest, rows)

    def wait(self, batch: Batch, seconds: float) -> None:
        """Show what runs while no task ends."""
        self.show(f"{_name(batch.tasks[0])} has run for {seconds:.0f} s")


def _name(task: Task) -> str:
    return f"{task.set}, fold {task.fold + 1}, {task.algorithm}"
