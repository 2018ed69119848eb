"""Results of a study in the file ``study.sqlite``, and StudyRecord: the same as data frames."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmend.study.criteria import CRITERIA, Criterion, own_names
from pairmend.study.execution import Outcome, Task, unpacked
from pairmend.study.objects import as_text, describe

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
    "runs": "run INTEGER PRIMARY KEY, started, ended, versions, machine, study_file",
    "sets": '"set" PRIMARY KEY, title, paper_number, sha256, source, characteristics',
    "tasks": f"{TASK}, status, seed, fitted_by, fit_seconds, predict_seconds, peak_bytes, "
    f"warnings, error, traceback, finished, chosen, run, PRIMARY KEY ({TASK})",
    "results": f"{TASK}, criterion, value, PRIMARY KEY ({TASK}, criterion)",
    "predictions": f"{TASK}, kind, arrays, PRIMARY KEY ({TASK})",
}
"""Tables of the file and their columns."""


class Store:
    """Results of a study on disk. Every write is a transaction."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        # Another process that reads must not end the study: wait for its lock for a minute.
        self.connection = sqlite3.connect(self.path, timeout=60)
        try:
            with self._writing() as connection:
                # A power cut must not lose what was reported as done.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA trusted_schema = OFF")
                if _is_empty(connection):
                    tables = (f"CREATE TABLE {name} ({TABLES[name]});" for name in TABLES)
                    number = f"PRAGMA user_version = {LAYOUT}; PRAGMA application_id = {PROGRAM};"
                    connection.executescript(f"BEGIN; {' '.join(tables)} {number} COMMIT;")
        except BaseException:
            self.connection.close()
            raise

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction; replace SQLite's errors by ones with the path and what to do."""
        try:
            with self.connection as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            cause = "another program locks it" if "locked" in str(error) else "is the disk full?"
            raise OSError(
                f"cannot write to {self.path}: {error}. Finished tasks are stored. Remove the "
                f"cause ({cause}) and run the study again to continue."
            ) from error

    def start_run(
        self,
        definition: dict[str, Any],
        files: dict[str, dict[str, str]],
        run: Mapping[str, Any],
        sets: Iterable[Mapping[str, Any]],
        again: Iterable[str],
    ) -> int:
        """Store how a run starts, and remove results to be computed again; return its number."""
        with self._writing() as connection:
            for name in again:
                for table in ("tasks", "results", "predictions"):
                    sql = f'DELETE FROM {table} WHERE "set" = ? OR algorithm = ?'
                    connection.execute(sql, [name, name])
                connection.execute("DELETE FROM results WHERE criterion = ?", [name])
            connection.execute("DELETE FROM definition")
            _insert(connection, "definition", plain=json.dumps(definition), files=json.dumps(files))
            for each in sets:
                _insert(connection, "sets", **each)
            (number,) = connection.execute("SELECT ifnull(max(run), 0) + 1 FROM runs").fetchone()
            _insert(connection, "runs", run=number, ended="", **run)
        return int(number)

    def end_run(self, run: int, ended: str) -> None:
        """Store that a run has ended."""
        with self._writing() as connection:
            connection.execute("UPDATE runs SET ended = ? WHERE run = ?", [ended, run])

    def add(self, outcome: Outcome, run: int) -> None:
        """Store the outcome of a task."""
        with self._writing() as connection:
            _insert(connection, "tasks", **outcome.row, run=run)
            task = outcome.task._asdict()
            if outcome.predictions:
                kind = "scores" if "scores" in unpacked(outcome.predictions) else "labels"
                _insert(connection, "predictions", **task, kind=kind, arrays=outcome.predictions)
            for name, value in outcome.values.items():
                _insert(connection, "results", **task, criterion=name, value=value)

    def add_missing_values(self, criteria: Mapping[str, Criterion]) -> None:
        """Compute metrics that tasks lack from their predictions."""
        with self._writing() as connection:
            for row in list(missing_values(connection, criteria)):
                _insert(connection, "results", **row)


def _insert(connection: sqlite3.Connection, table: str, **row: Any) -> None:
    """Insert a row, or replace the one with its key."""
    names, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    connection.execute(
        f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", list(row.values())
    )


def missing_values(
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


def require_extra(*others: str, extra: str = "study") -> None:
    """Raise an ImportError if a package of an extra is not installed."""
    packages = ("cloudpickle", "filelock", "pandas", *others)
    if absent := [name for name in packages if find_spec(name) is None]:
        raise ImportError(
            f"a study needs packages that are not installed ({', '.join(absent)}): "
            f"pip install 'pairmend[{extra}]'"
        )


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
        "failed"), ``seed``, ``fit_seconds``, ``predict_seconds``, ``peak_bytes`` (NaN if not
        available), ``fitted_by`` (the algorithm whose fit it shares; its own name if
        none), ``warnings`` (of the classifier, a line each), ``error`` (the last line) and
        ``traceback``, both empty when done, ``finished`` (ISO time), ``run`` (that of `runs`),
        ``stored`` (what is stored of the predictions: "scores", "labels", or NaN) and
        ``stored_bytes``.
    sets : DataFrame
        A row for each set that was loaded: ``set``, ``title``, ``paper_number`` (NaN for a set
        that is not in the paper), ``sha256`` of its contents, ``source``, and its
        characteristics: N, d, L, LC, LD, avIR, AVsc.
    runs : DataFrame
        A row for each run: its number ``run``, ``started``, ``ended`` (empty if it was
        interrupted), and as dicts ``versions`` (of Python and packages) and ``machine``.
    chosen : DataFrame or None
        A row for each parameter that a search chose in a task: set, repeat, fold, algorithm,
        ``parameter``, and ``value`` as JSON.
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
    chosen: "pd.DataFrame | None" = None
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
        judged: dict[str, Any] = {} if alpha is None else {"alpha": alpha}
        if alpha is not None and not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, such as 0.05, got {alpha!r}")
        if control is not None:
            (judged["control"],) = own_names(own, [control], "algorithm")
            if judged["control"] not in kept:
                raise ValueError(f"the control {control!r} must be one of the algorithms compared")
        parts = {name: own[name] for name in own if name in kept}
        return replace(
            self,
            definition={**self.definition, "algorithms": parts, **judged},
            results=self.results[self.results.algorithm.isin(kept)].reset_index(drop=True),
            tasks=self.tasks[self.tasks.algorithm.isin(kept)].reset_index(drop=True),
        )


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
    require_extra()
    import pandas as pd

    if not (folder / FILE).exists():
        return None
    with _reading(folder / FILE) as connection:

        def table(name: str, order: str, columns: str = "*") -> pd.DataFrame:
            return pd.read_sql_query(f"SELECT {columns} FROM {name} ORDER BY {order}", connection)

        stored = None if _is_empty(connection) else table("definition", "1")
        if stored is None or stored.empty:
            return None
        definition, files = (json.loads(stored[name][0]) for name in ("plain", "files"))
        _check(definition)
        tasks, results = table("tasks", TASK), table("results", f"{TASK}, criterion")
        sets, runs = table("sets", "rowid"), table("runs", "run")
        sizes = f"{TASK}, kind AS stored, length(arrays) AS stored_bytes"
        stored = table("predictions", TASK, sizes)
        if metrics is not None:
            definition, results = _with_metrics(connection, definition, results, metrics)
        # A column without any value would have the type object.
        numbers = ["peak_bytes", "fit_seconds", "predict_seconds"]
        tasks[numbers] = tasks[numbers].astype("float64")
        sets["paper_number"] = sets["paper_number"].astype("float64")
        for column in ("versions", "machine"):
            runs[column] = runs[column].map(json.loads)
        facts = [json.loads(text) for text in sets.pop("characteristics")]
        chosen = [
            (*task, name, as_text(value))
            for *task, text in tasks[[*Task._fields, "chosen"]].itertuples(index=False)
            for name, value in json.loads(text or "{}").items()
        ]
    return StudyRecord(
        definition=definition,
        results=results,
        tasks=tasks.drop(columns="chosen").merge(stored, "left", on=list(Task._fields)),
        sets=sets.join(pd.DataFrame(facts, index=sets.index)),
        runs=runs,
        chosen=pd.DataFrame(chosen, columns=[*Task._fields, "parameter", "value"]),
        files=files,
    )


def _with_metrics(
    connection: sqlite3.Connection,
    definition: dict[str, Any],
    results: "pd.DataFrame",
    metrics: Iterable[str],
) -> "tuple[dict[str, Any], pd.DataFrame]":
    """Return definition and results with some metrics, computed from predictions if need be."""
    import pandas as pd

    known = definition["criteria"]
    metrics = own_names({**CRITERIA, **known}, metrics, "metric")
    criteria = {name: CRITERIA[name] for name in metrics if name not in known}
    added = pd.DataFrame(missing_values(connection, criteria), columns=results.columns)
    if criteria and added.empty:
        raise ValueError(
            f"{', '.join(criteria)}: the study has no stored predictions to compute it from"
        )
    known = {**known, **{name: describe(vars(each)) for name, each in criteria.items()}}
    rows = pd.concat([results[results.criterion.isin(metrics)], added])
    order = [*Task._fields, "criterion"]
    parts = {name: known[name] for name in metrics}
    return {**definition, "criteria": parts}, rows.sort_values(order, ignore_index=True)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a study's file for reading, also while another process writes to it."""
    # Not read-only: a writer that was killed left a journal, which the next reader rolls back.
    try:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            (program,) = connection.execute("PRAGMA application_id").fetchone()
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if (program, layout) != (PROGRAM, LAYOUT) and not _is_empty(connection):
                raise TypeError(
                    f"expected layout {LAYOUT} of program {PROGRAM}, found {layout} of {program}"
                )
            connection.execute("BEGIN")  # all queries see the same state
            yield connection
    except (sqlite3.DatabaseError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} cannot be read as a study: {error}. Choose another folder, or move it away."
        ) from error


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(tables) == 0


def _check(definition: Any) -> None:
    for name in ("sets", "algorithms", "criteria"):
        table = definition.get(name) if isinstance(definition, dict) else None
        if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
            raise TypeError(f"its definition has no table {name} of tables")
