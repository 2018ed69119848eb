"""Results of a study in the file ``study.sqlite``, and StudyRecord: the same as data frames."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmend.study.execution import Outcome, Predictions, Task
from pairmend.study.objects import CRITERIA, Criterion, as_text

if TYPE_CHECKING:
    import pandas as pd

FILE = "study.sqlite"
LAYOUT = 3
"""Number of the layout of the tables; a file with another one is refused."""
PROGRAM = 0x706D6E64
"""SQLite's application_id of files of this program."""

TABLES = f"""
BEGIN;
CREATE TABLE definition (plain TEXT NOT NULL);
CREATE TABLE methods (name TEXT PRIMARY KEY, files TEXT NOT NULL);
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, started TEXT NOT NULL, ended TEXT NOT NULL DEFAULT '',
    versions TEXT NOT NULL, machine TEXT NOT NULL, study_file TEXT NOT NULL
);
CREATE TABLE sets (
    "set" TEXT PRIMARY KEY, title TEXT NOT NULL, paper_number INTEGER, sha256 TEXT NOT NULL,
    source TEXT NOT NULL, characteristics TEXT NOT NULL, files TEXT NOT NULL
);
CREATE TABLE tasks (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    status TEXT NOT NULL, seed INTEGER NOT NULL, fitted_by TEXT NOT NULL, fit_seconds REAL,
    predict_seconds REAL, peak_bytes INTEGER, warnings TEXT NOT NULL, error TEXT NOT NULL,
    traceback TEXT NOT NULL, finished TEXT NOT NULL, chosen TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs (run),
    PRIMARY KEY ("set", repeat, fold, algorithm)
);
CREATE TABLE results (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    criterion TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY ("set", repeat, fold, algorithm, criterion)
);
CREATE TABLE truth (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL,
    n_rows INTEGER NOT NULL, n_labels INTEGER NOT NULL, labels BLOB NOT NULL,
    PRIMARY KEY ("set", repeat, fold)
);
CREATE TABLE predictions (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    labels BLOB NOT NULL, scores BLOB NOT NULL,
    PRIMARY KEY ("set", repeat, fold, algorithm)
);
PRAGMA user_version = {LAYOUT};
PRAGMA application_id = {PROGRAM};
COMMIT;
"""
TASK_ORDER = '"set", repeat, fold, algorithm'
WITH_RESULTS = ("tasks", "results", "predictions")
"""Tables with a row, or more, for each task."""


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
                    connection.executescript(TABLES)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

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
        run: Mapping[str, str],
        methods: Mapping[str, dict[str, str]],
        sets: Iterable[Mapping[str, Any]],
        again: Iterable[str],
    ) -> int:
        """Store how a run starts, and remove results to be computed again; return its number."""
        with self._writing() as connection:
            for name in again:
                for table in WITH_RESULTS:
                    sql = f'DELETE FROM {table} WHERE "set" = ? OR algorithm = ?'
                    connection.execute(sql, [name, name])
                connection.execute("DELETE FROM results WHERE criterion = ?", [name])
            connection.execute("DELETE FROM definition")
            connection.execute("INSERT INTO definition VALUES (?)", [json.dumps(definition)])
            connection.executemany(
                "INSERT OR REPLACE INTO methods VALUES (?, ?)",
                [[name, json.dumps(files)] for name, files in methods.items()],
            )
            connection.executemany(_insert("sets", connection), sets)
            cursor = connection.execute(
                "INSERT INTO runs (started, versions, machine, study_file) VALUES "
                "(:started, :versions, :machine, :study_file)",
                run,
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, run: int, ended: str) -> None:
        """Store that a run has ended."""
        with self._writing() as connection:
            connection.execute("UPDATE runs SET ended = ? WHERE run = ?", [ended, run])

    def add(self, outcome: Outcome, run: int) -> None:
        """Store the outcome of a task."""
        status = "failed" if outcome.error else "done"
        row = {**vars(outcome), **outcome.task._asdict(), "status": status, "run": run}
        with self._writing() as connection:
            connection.execute(_insert("tasks", connection), row)
            if outcome.predictions:
                row |= outcome.predictions._asdict()
                connection.execute(_insert("predictions", connection), row)
                connection.execute(_insert("truth", connection), {**row, "labels": row["truth"]})
            self._add_values([(*outcome.task, name, v) for name, v in outcome.values.items()])

    def add_missing_values(self, criteria: Mapping[str, Criterion]) -> None:
        """Compute metrics that tasks lack from their predictions."""
        with self._writing() as connection:
            self._add_values(list(missing_values(connection, criteria)))

    def _add_values(self, rows: list[tuple[Any, ...]]) -> None:
        self.connection.executemany(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)", rows
        )


def _insert(table: str, connection: sqlite3.Connection) -> str:
    """Return a statement that inserts a mapping with a key for each column."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    return f"INSERT OR REPLACE INTO {table} VALUES (:{', :'.join(columns)})"


def missing_values(
    connection: sqlite3.Connection, criteria: Mapping[str, Criterion]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of results of metrics that tasks with stored predictions lack."""
    query = f"""
        SELECT {TASK_ORDER}, n_rows, n_labels, truth.labels, predictions.labels, scores
        FROM predictions JOIN truth USING ("set", repeat, fold) JOIN tasks USING ({TASK_ORDER})
        WHERE status = 'done'
    """
    known = set(connection.execute(f"SELECT {TASK_ORDER}, criterion FROM results"))
    for row in connection.execute(query):
        task, predictions = row[:4], Predictions(*row[4:])
        lacking = [name for name in criteria if (*task, name) not in known]
        if lacking:
            truth, predicted = predictions.arrays()
        for name in lacking:
            criterion = criteria[name]
            if criterion.needs in predicted:
                with suppress(ValueError):  # it is not defined for these rows
                    yield (*task, name, criterion(truth, predicted[criterion.needs]))


def require_extra(*others: str) -> None:
    """Raise an ImportError if a package of the extra, or one of the others, is not installed."""
    packages = ("cloudpickle", "filelock", "pandas", *others)
    if absent := [name for name in packages if find_spec(name) is None]:
        raise ImportError(
            f"a study needs packages that are not installed ({', '.join(absent)}): "
            "pip install 'pairmend[study]'"
        )


def check_folder(folder: Path) -> None:
    """Raise an error if the path of a results folder is that of a file."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, expected a folder for results")


@dataclass(frozen=True)
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
        ``stored_bytes`` (size of the stored predictions, NaN without) and ``score_bytes``.
    sets : DataFrame
        A row for each set that was loaded: ``set``, ``title``, ``paper_number`` (NaN for a set
        that is not in the paper), ``sha256`` of its contents, ``source``, ``files`` (path and
        SHA-256 of each), and its characteristics: N, d, L, LC, LD, avIR, AVsc.
    runs : DataFrame
        A row for each run: its number ``run``, ``started``, ``ended`` (empty if it was
        interrupted), and as dicts ``versions`` (of Python and packages) and ``machine``.
    chosen : DataFrame or None
        A row for each parameter that a search chose in a task: set, repeat, fold, algorithm,
        ``parameter``, and ``value`` as JSON.
    methods : dict
        For each algorithm and metric the files of the user's own that define it: their SHA-256 by
        module.

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
    >>> record
    <StudyRecord 'study': 1 sets, 1 algorithms, 2 tasks done, 0 failed>
    >>> list(record.narrowed(["pairs"]).definition["algorithms"])
    ['pairs']
    """

    definition: dict[str, Any]
    results: "pd.DataFrame"
    tasks: "pd.DataFrame"
    sets: "pd.DataFrame"
    runs: "pd.DataFrame"
    chosen: "pd.DataFrame | None" = None
    methods: Mapping[str, dict[str, str]] = field(default_factory=dict)

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
        own = {name.casefold(): name for name in self.definition["algorithms"]}
        names = list(own if algorithms is None else algorithms)
        if alpha is not None and not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, such as 0.05, got {alpha!r}")
        known = {name: own.get(name.casefold()) for name in (*names, *filter(None, [control]))}
        if unknown := [name for name, found in known.items() if found is None]:
            raise ValueError(
                f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                f"{', '.join(own.values())}"
            )
        kept = {known[name] for name in names}
        if control is not None and known[control] not in kept:
            raise ValueError(f"the control {control!r} must be one of the algorithms compared")
        parts = {name: each for name, each in self.definition["algorithms"].items() if name in kept}
        judged = {"alpha": alpha, "control": control and known[control]}
        return replace(
            self,
            definition={
                **self.definition,
                "algorithms": parts,
                **{key: value for key, value in judged.items() if value is not None},
            },
            results=self.results[self.results.algorithm.isin(kept)].reset_index(drop=True),
            tasks=self.tasks[self.tasks.algorithm.isin(kept)].reset_index(drop=True),
        )

    def __repr__(self) -> str:
        n_done = int((self.tasks.status == "done").sum())
        return (
            f"<StudyRecord {self.definition['name']!r}: {len(self.definition['sets'])} sets, "
            f"{len(self.definition['algorithms'])} algorithms, {n_done} tasks done, "
            f"{len(self.tasks) - n_done} failed>"
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
    require_extra()
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no study in {folder}: expected a file {FILE}, which 'pairmend study' writes"
        )
    record = read_record(Path(folder), metrics)
    if record is None:
        raise ValueError(f"{path} is empty: the run was interrupted before it began")
    return record


def read_record(folder: Path, metrics: Iterable[str] | None = None) -> StudyRecord | None:
    """Read the results in a folder; None if there is no study, or none has begun."""
    import pandas as pd

    check_folder(folder)
    if not (folder / FILE).exists():
        return None
    with _reading(folder / FILE) as connection:

        def table(name: str, order: str = "1") -> pd.DataFrame:
            return pd.read_sql_query(f"SELECT * FROM {name} ORDER BY {order}", connection)

        if _is_empty(connection) or (definition := _definition(connection)) is None:
            return None
        tasks, results = table("tasks", TASK_ORDER), table("results", f"{TASK_ORDER}, criterion")
        sets, runs, methods = table("sets", "rowid"), table("runs"), table("methods")
        sizes = pd.read_sql_query(
            f"SELECT {TASK_ORDER}, length(labels) + length(scores) AS stored_bytes, "
            "length(scores) AS score_bytes FROM predictions",
            connection,
        )
        if metrics is not None:
            definition, results = _with_metrics(connection, definition, results, list(metrics))
    # A column without any value would have the type object.
    for frame, columns in ((sets, ["paper_number"]), (tasks, ["peak_bytes", "predict_seconds"])):
        frame[columns] = frame[columns].astype("float64")
    for frame, columns in ((runs, ["versions", "machine"]), (sets, ["characteristics", "files"])):
        for column in columns:
            frame[column] = frame[column].map(json.loads)
    numbers = pd.DataFrame(sets.pop("characteristics").tolist(), index=sets.index)
    chosen = [
        {**{key: row[key] for key in Task._fields}, "parameter": name, "value": as_text(value)}
        for row in tasks[tasks.chosen != ""].to_dict("records")
        for name, value in json.loads(row["chosen"]).items()
    ]
    return StudyRecord(
        definition=definition,
        results=results,
        tasks=tasks.drop(columns="chosen").merge(sizes, "left", on=list(Task._fields)),
        sets=sets.join(numbers),
        runs=runs,
        chosen=pd.DataFrame(chosen, columns=[*Task._fields, "parameter", "value"]),
        methods={row.name: json.loads(row.files) for row in methods.itertuples(index=False)},
    )


def _with_metrics(
    connection: sqlite3.Connection,
    definition: dict[str, Any],
    results: "pd.DataFrame",
    metrics: list[str],
) -> "tuple[dict[str, Any], pd.DataFrame]":
    """Return definition and results with some metrics, computed from predictions if need be."""
    import pandas as pd

    known = definition["criteria"]
    if unknown := [name for name in metrics if name not in known and name not in CRITERIA]:
        raise ValueError(
            f"there is no metric {', '.join(map(repr, unknown))}; there are "
            f"{', '.join({**known, **CRITERIA})}"
        )
    criteria = {name: CRITERIA[name] for name in metrics if name not in known}
    added = pd.DataFrame(missing_values(connection, criteria), columns=results.columns)
    if criteria and added.empty:
        raise ValueError(
            f"{', '.join(criteria)}: the study has no stored predictions to compute it from"
        )
    described = {name: criterion.definition() for name, criterion in criteria.items()}
    parts = {name: {**known, **described}[name] for name in metrics}
    rows = pd.concat([results[results.criterion.isin(metrics)], added])
    order = [*Task._fields, "criterion"]
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


def _definition(connection: sqlite3.Connection) -> dict[str, Any] | None:
    row = connection.execute("SELECT plain FROM definition").fetchone()
    if not row:
        return None
    plain = json.loads(row[0])
    tables = ("sets", "algorithms", "criteria")
    if not isinstance(plain, dict) or not all(isinstance(plain.get(t), dict) for t in tables):
        raise TypeError(f"its definition has no tables {', '.join(tables)}")
    if not all(isinstance(part, dict) for table in tables for part in plain[table].values()):
        raise TypeError("a part of its definition is not a table")
    return plain
