"""Results of a study in the file ``study.sqlite``, and StudyRecord: the same as data frames."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmend._utils.optional import require
from pairmend.study.criteria import CRITERIA, Criterion, own_names
from pairmend.study.execution import Outcome, Task, unpacked
from pairmend.study.objects import describe

if TYPE_CHECKING:
    import pandas as pd

FILE = "study.sqlite"
LAYOUT = 5
"""Number of the layout of the tables; a file with another one is refused."""
PROGRAM = 0x706D6E64
"""SQLite's application_id of files of this program."""
TASK = '"set", repeat, fold, algorithm'
TABLES = {
    "definition": "plain, files",
    "runs": "run INTEGER PRIMARY KEY, started, ended, versions, machine",
    "sets": '"set" PRIMARY KEY, title, paper_number, sha256, source, characteristics',
    "tasks": f"{TASK}, status, seed, fitted_by, fit_seconds, predict_seconds, "
    f"warnings, error, traceback, finished, chosen, run, PRIMARY KEY ({TASK})",
    "results": f"{TASK}, criterion, value, PRIMARY KEY ({TASK}, criterion)",
    "predictions": f"{TASK}, kind, arrays, PRIMARY KEY ({TASK})",
}
"""Tables of the file and their columns."""
PACKAGES = "cloudpickle", "filelock", "pandas"
"""What a study needs beside the requirements of the library."""
UNREADABLE = sqlite3.DatabaseError, AttributeError, KeyError, TypeError, json.JSONDecodeError
"""Errors of reading a file that is no study, or a damaged one."""


@contextmanager
def opened(folder: Path, *, to_write: bool = False) -> Iterator[sqlite3.Connection]:
    """Begin a transaction in a study's file; errors state the file and what to do."""
    path = folder / FILE
    try:
        # Another process that uses the file must not end the study: wait for its lock. To read,
        # it is not opened read-only: the next user rolls back what a killed writer left.
        with closing(sqlite3.connect(path, timeout=60)) as connection, connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            # A power cut must not lose what was reported as done.
            connection.execute("PRAGMA synchronous = FULL")
            is_empty, *found = connection.execute(
                "SELECT (SELECT count(*) FROM sqlite_master) = 0, application_id, user_version "
                "FROM pragma_application_id, pragma_user_version"
            ).fetchone()
            if is_empty and to_write:
                tables = (f"CREATE TABLE {name} ({TABLES[name]});" for name in TABLES)
                number = f"PRAGMA user_version = {LAYOUT}; PRAGMA application_id = {PROGRAM};"
                connection.executescript(f"BEGIN; {' '.join(tables)} {number} COMMIT;")
            elif not is_empty and found != [PROGRAM, LAYOUT]:
                raise sqlite3.DatabaseError(f"expected {[PROGRAM, LAYOUT]}, found {found}")
            connection.execute(f"PRAGMA query_only = {not to_write}")
            connection.execute("BEGIN IMMEDIATE" if to_write else "BEGIN")
            yield connection
    except UNREADABLE as error:
        if to_write and not isinstance(error, sqlite3.DatabaseError):
            raise
        if to_write and isinstance(error, sqlite3.OperationalError):
            cause = "another program locks it" if "locked" in str(error) else "is the disk full?"
            raise OSError(
                f"cannot write to {path}: {error}. Finished tasks are stored. Remove the cause "
                f"({cause}) and run the study again to continue."
            ) from error
        raise ValueError(
            f"{path} cannot be read as a study: {error}. Choose another folder, or move it away."
        ) from error


def start_run(
    folder: Path,
    definition: dict[str, Any],
    files: dict[str, dict[str, str]],
    run: Mapping[str, Any],
    again: Iterable[str],
) -> int:
    """Store how a run starts, and remove results to be computed again; return its number."""
    with opened(folder, to_write=True) as connection:
        for texts in connection.execute("SELECT plain, files FROM definition").fetchall():
            before, old = map(json.loads, texts)  # of which parts may be left out now
            parts = {key: {**before[key], **definition[key]} for key in ("sets", "algorithms")}
            repeats = max(before["repeats"], definition["repeats"])
            definition = {**definition, **parts, "repeats": repeats}
            files = {key: {**old.get(key, {}), **files.get(key, {})} for key in {**old, **files}}
        for name in again:
            for table in ("tasks", "results", "predictions"):
                sql = f'DELETE FROM {table} WHERE "set" = ? OR algorithm = ?'
                connection.execute(sql, [name, name])
            connection.execute("DELETE FROM results WHERE criterion = ?", [name])
        connection.execute("DELETE FROM definition")
        _insert(connection, "definition", plain=json.dumps(definition), files=json.dumps(files))
        (number,) = connection.execute("SELECT ifnull(max(run), 0) + 1 FROM runs").fetchone()
        _insert(connection, "runs", run=number, ended="", **run)
    return int(number)


def add_set(folder: Path, facts: Mapping[str, Any]) -> None:
    """Store the facts of a set that was read."""
    with opened(folder, to_write=True) as connection:
        _insert(connection, "sets", **facts)


def end_run(folder: Path, run: int, ended: str) -> None:
    """Store that a run has ended."""
    with opened(folder, to_write=True) as connection:
        connection.execute("UPDATE runs SET ended = ? WHERE run = ?", [ended, run])


def add(folder: Path, outcome: Outcome, run: int) -> None:
    """Store the outcome of a task."""
    with opened(folder, to_write=True) as connection:
        _insert(connection, "tasks", **outcome.row, run=run)
        task = outcome.task._asdict()
        if outcome.predictions:
            kind = "scores" if "scores" in unpacked(outcome.predictions) else "labels"
            _insert(connection, "predictions", **task, kind=kind, arrays=outcome.predictions)
        for name, value in outcome.values.items():
            _insert(connection, "results", **task, criterion=name, value=value)


def add_missing_values(folder: Path, criteria: Mapping[str, Criterion]) -> None:
    """Compute metrics that tasks lack from their predictions."""
    with opened(folder, to_write=True) as connection:
        for row in list(_missing_values(connection, criteria)):
            _insert(connection, "results", **row)


def _insert(connection: sqlite3.Connection, table: str, **row: Any) -> None:
    """Insert a row, or replace the one with its key."""
    names, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    connection.execute(
        f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", list(row.values())
    )


def _missing_values(
    connection: sqlite3.Connection, criteria: Mapping[str, Criterion]
) -> Iterator[dict[str, Any]]:
    """Yield rows of results of metrics that tasks with stored predictions lack."""
    known = set(connection.execute(f"SELECT {TASK}, criterion FROM results"))
    for *row, stored in connection.execute(f"SELECT {TASK}, arrays FROM predictions"):
        task = Task(*row)
        lacking = [name for name in criteria if (*task, name) not in known]
        found = unpacked(stored) if lacking else {}
        for name in lacking:
            if criteria[name].needs in found:
                with suppress(ValueError):  # it is not defined for these rows
                    value = criteria[name](found["truth"], found[criteria[name].needs])
                    yield {**task._asdict(), "criterion": name, "value": value}


@dataclass(frozen=True, repr=False)
class StudyRecord:
    """Results of a study with its definition, tasks, sets and runs.

    Attributes
    ----------
    definition : dict
        The study as plain data: ``name``, ``title``, ``folds``, ``repeats``, ``seed``, ``split``,
        ``alpha``, perhaps ``control`` (see `narrowed`), and by name ``sets`` (with ``source``),
        ``algorithms`` (with ``class`` and ``params``) and ``criteria`` (with
        ``title`` and ``greater_is_better``).
    results : DataFrame
        Tidy rows: set, repeat, fold, algorithm, criterion, value.
    tasks : DataFrame
        A row for each set, repeat, fold and algorithm that was run: ``status`` ("done" or
        "failed"), ``seed``, ``fit_seconds``, ``predict_seconds``, ``fitted_by`` (the algorithm
        whose fit it shares; its own name if none), ``warnings`` (of the classifier, a line
        each), ``error`` (the last line) and ``traceback``, both empty when done, ``finished``
        (ISO time), ``run`` (that of `runs`), ``chosen`` (parameters that a search chose, as JSON,
        or empty), ``stored`` (what is stored of the predictions: "scores", "labels", or NaN) and
        ``stored_bytes``.
    sets : DataFrame
        A row for each set that was loaded: ``set``, ``title``, ``paper_number`` (NaN for a set
        that is not in the paper), ``sha256`` of its contents, ``source``, and its
        characteristics: N, d, L, LC, LD, avIR, AVsc.
    runs : DataFrame
        A row for each run: its number ``run``, ``started``, ``ended`` (empty if it was
        interrupted), and as dicts ``versions`` (of Python and packages) and ``machine``.
    files : dict
        For each set, algorithm and metric (such as "sets.yeast") the SHA-256 of the user's own
        files that it was computed with, by name of the file or module.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, read_study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     record = read_study(folder)
    >>> record.tasks[["set", "fold", "algorithm", "status"]]
            set  fold algorithm status
    0  simplehc     0     pairs   done
    1  simplehc     1     pairs   done
    >>> list(record.narrowed(["pairs"]).definition["algorithms"])
    ['pairs']
    """

    definition: dict[str, Any]
    results: "pd.DataFrame"
    tasks: "pd.DataFrame"
    sets: "pd.DataFrame"
    runs: "pd.DataFrame"
    files: Mapping[str, dict[str, str]] = field(default_factory=dict)

    def narrowed(
        self,
        algorithms: Iterable[str] | None = None,
        *,
        alpha: float | None = None,
        control: str | None = None,
    ) -> "StudyRecord":
        """Return the record of some of its algorithms, or one that is judged in another way.

        Parameters
        ----------
        algorithms : iterable of str, default=None
            Their names, upper or lower case, such as those with one base classifier; None means
            all.
        alpha : float, default=None
            Level of significance of the tests in a report; None means that of the study.
        control : str, default=None
            Algorithm that a report compares with each other one, instead of all pairs.

        Returns
        -------
        StudyRecord
        """
        own = self.definition["algorithms"]
        kept = own_names(own, own if algorithms is None else algorithms, "algorithm")
        parts = {name: own[name] for name in own if name in kept}
        definition = {**self.definition, "algorithms": parts}
        if alpha is not None:
            definition["alpha"] = alpha
            if not 0 < alpha < 1:
                raise ValueError(f"alpha must be between 0 and 1, such as 0.05, got {alpha!r}")
        if control is not None:
            (definition["control"],) = own_names(parts, [control], "algorithm")
        tables = {"results": self.results, "tasks": self.tasks}
        rows = {key: t[t.algorithm.isin(kept)].reset_index(drop=True) for key, t in tables.items()}
        return replace(self, definition=definition, **rows)


def read_study(folder: str | Path, metrics: Iterable[str] | None = None) -> StudyRecord:
    """Read the results of a study, also while it runs.

    Parameters
    ----------
    folder : path
        The study's output folder.
    metrics : iterable of str, default=None
        Metrics of the record: those of the study, and others of `CRITERIA`, which are computed
        from the stored predictions. None means the metrics of the study.

    Returns
    -------
    StudyRecord

    Raises
    ------
    FileNotFoundError
        If there is no study in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, read_study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     rows = read_study(folder, ["hamming", "jaccard_samples"]).results
    >>> rows[["criterion", "value"]].groupby("criterion").mean().round(1)
                     value
    criterion
    hamming            0.4
    jaccard_samples    0.3
    """
    record = read_record(Path(folder), metrics)
    if record is None:
        raise FileNotFoundError(
            f"there is no study in {folder}: expected a file {FILE}, which 'pairmend study' writes"
        )
    return record


def read_record(folder: Path, metrics: Iterable[str] | None = None) -> StudyRecord | None:
    """Read the results in a folder; None if there is no study, or none has begun."""
    require("a study", *PACKAGES)
    import pandas as pd

    if not (folder / FILE).exists():
        return None
    with opened(folder) as connection:
        read = partial(pd.read_sql_query, con=connection)
        names = read("SELECT name FROM sqlite_master").name
        stored = read("SELECT plain, files FROM definition") if len(names) else names
        if stored.empty:
            return None
        definition, files = map(json.loads, stored.iloc[0])
        tables = [definition[name] for name in ("sets", "algorithms", "criteria")]
        if not all(isinstance(part, dict) for each in tables for part in [each, *each.values()]):
            raise TypeError("its definition has no tables of sets, algorithms and criteria")
        results = read(f"SELECT * FROM results ORDER BY {TASK}, criterion")
        tasks = read(
            "SELECT tasks.*, kind AS stored, length(arrays) AS stored_bytes "
            f"FROM tasks LEFT JOIN predictions USING ({TASK}) ORDER BY {TASK}"
        )
        sets, runs = (read(f"SELECT * FROM {name} ORDER BY rowid") for name in ("sets", "runs"))
        if metrics is not None:
            known = definition["criteria"]
            metrics = own_names({**CRITERIA, **known}, metrics, "metric")
            criteria = {name: CRITERIA[name] for name in metrics if name not in known}
            added = pd.DataFrame(_missing_values(connection, criteria), columns=results.columns)
            if criteria and added.empty:
                raise ValueError(
                    f"{', '.join(criteria)}: the study has no stored predictions to compute it from"
                )
            known |= {name: describe(vars(each)) for name, each in criteria.items()}
            definition["criteria"] = {name: known[name] for name in metrics}
            rows = pd.concat([results[results.criterion.isin(metrics)], added])
            results = rows.sort_values([*Task._fields, "criterion"], ignore_index=True)
    # A column without any value would have the type object.
    numbers = ["fit_seconds", "predict_seconds"]
    tasks[numbers] = tasks[numbers].astype("float64")
    sets["paper_number"] = sets["paper_number"].astype("float64")
    for column in ("versions", "machine"):
        runs[column] = runs[column].map(json.loads)
    facts = [json.loads(text) for text in sets.pop("characteristics")]
    return StudyRecord(
        definition=definition,
        results=results,
        tasks=tasks,
        sets=sets.join(pd.DataFrame(facts, index=sets.index)),
        runs=runs,
        files=files,
    )
