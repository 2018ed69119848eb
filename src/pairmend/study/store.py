"""Results of a study in the file ``study.sqlite``, and StudyRecord: the same as data frames."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote

from pairmend.study.execution import Outcome, Task
from pairmend.study.objects import as_text

if TYPE_CHECKING:
    import pandas as pd

FILE = "study.sqlite"
LAYOUT = 2
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
PRAGMA user_version = {LAYOUT};
PRAGMA application_id = {PROGRAM};
COMMIT;
"""


FileFacts: TypeAlias = tuple[str, int, int, str]
"""Path, size, time of change and SHA-256 of a file."""


class StoredSet(NamedTuple):
    """SHA-256 of the contents of a set, and its files."""

    sha256: str
    files: list[FileFacts]


@dataclass(frozen=True)
class Progress:
    """What a results folder has: definition, finished tasks, what results depend on."""

    definition: dict[str, Any] | None = None
    done: frozenset[Task] = frozenset()
    methods: Mapping[str, dict[str, str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, StoredSet] = field(default_factory=dict)


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
                for table in ("tasks", "results"):
                    sql = f'DELETE FROM {table} WHERE "set" = ? OR algorithm = ?'
                    connection.execute(sql, [name, name])
            connection.execute("DELETE FROM definition")
            connection.execute("INSERT INTO definition VALUES (?)", [json.dumps(definition)])
            connection.executemany(
                "INSERT OR REPLACE INTO methods VALUES (?, ?)",
                [[name, json.dumps(files)] for name, files in methods.items()],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO sets VALUES (:name, :title, :paper_number, :sha256, "
                ":source, :characteristics, :files)",
                sets,
            )
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
        row = [
            *outcome.task,
            "failed" if outcome.error else "done",
            outcome.seed,
            outcome.fitted_by,
            outcome.fit_seconds,
            outcome.predict_seconds,
            outcome.peak_bytes,
            outcome.warnings,
            outcome.error,
            outcome.traceback,
            outcome.finished,
            outcome.chosen,
            run,
        ]
        with self._writing() as connection:
            places = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR REPLACE INTO tasks VALUES ({places})", row)
            connection.executemany(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)",
                [[*outcome.task, name, value] for name, value in outcome.values.items()],
            )


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


def read_progress(folder: Path) -> Progress:
    """Read the progress of the study in a folder, which may have none."""
    check_folder(folder)
    if not (folder / FILE).exists():
        return Progress()
    with _reading(folder / FILE) as connection:
        if _is_empty(connection) or (definition := _definition(connection)) is None:
            return Progress()  # interrupted before it began
        versions: dict[str, str] = {}
        for (text,) in connection.execute("SELECT versions FROM runs ORDER BY run"):
            versions |= json.loads(text)
        done = "SELECT \"set\", repeat, fold, algorithm FROM tasks WHERE status = 'done'"
        sets = connection.execute('SELECT "set", sha256, files FROM sets')
        return Progress(
            definition,
            frozenset(Task(*row) for row in connection.execute(done)),
            {n: dict(json.loads(f)) for n, f in connection.execute("SELECT * FROM methods")},
            versions,
            {name: StoredSet(sha256, _file_facts(files)) for name, sha256, files in sets},
        )


@dataclass(frozen=True)
class StudyRecord:
    """Results of a study with its definition, tasks, sets and runs.

    Attributes
    ----------
    definition : dict
        The study as plain data: ``name``, ``title``, ``folds``, ``repeats``, ``seed``, ``split``,
        and by name ``sets`` (with ``source``), ``algorithms`` (with ``class`` and ``params``) and
        ``criteria`` (with ``title`` and ``greater_is_better``).
    results : DataFrame
        Tidy rows: set, repeat, fold, algorithm, criterion, value.
    tasks : DataFrame
        A row for each set, repeat, fold and algorithm that was run: ``status`` ("done" or
        "failed"), ``seed``, ``fit_seconds``, ``predict_seconds``, ``peak_bytes`` (NaN if not
        available), ``fitted_by`` (the algorithm whose fit it shares; its own name if
        none), ``warnings`` (of the classifier, a line each), ``error`` (the last line) and
        ``traceback``, both empty when done, ``finished``
        (ISO time).
    sets : DataFrame
        A row for each set that was loaded: ``set``, ``title``, ``paper_number`` (NaN for a set
        that is not in the paper), ``sha256`` of its contents, ``source``, and its
        characteristics: N, d, L, LC, LD, avIR, AVsc.
    runs : DataFrame
        A row for each run: ``started``, ``ended`` (empty if it was interrupted), and as dicts
        ``versions`` (of Python and packages) and ``machine``.
    chosen : DataFrame or None
        A row for each parameter that a search chose in a task: set, repeat, fold, algorithm,
        ``parameter``, and ``value`` as JSON.

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

    def narrowed(self, algorithms: Iterable[str]) -> "StudyRecord":
        """Return the record of some of its algorithms, such as those with one base classifier.

        Parameters
        ----------
        algorithms : iterable of str
            Their names, upper or lower case.

        Returns
        -------
        StudyRecord
        """
        own = {name.casefold(): name for name in self.definition["algorithms"]}
        names = list(algorithms)
        if unknown := [name for name in names if name.casefold() not in own]:
            raise ValueError(
                f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                f"{', '.join(own.values())}"
            )
        kept = {own[name.casefold()] for name in names}
        parts = {name: each for name, each in self.definition["algorithms"].items() if name in kept}
        return replace(
            self,
            definition={**self.definition, "algorithms": parts},
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


def read_study(folder: str | Path) -> StudyRecord:
    """Read the results of a study, also while it runs.

    Parameters
    ----------
    folder : path
        The study's output folder.

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
    >>> from pairmend.study import Study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     read_study(folder)
    <StudyRecord 'study': 1 sets, 1 algorithms, 2 tasks done, 0 failed>
    """
    require_extra()
    import pandas as pd

    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no study in {folder}: expected a file {FILE}, which 'pairmend study' writes"
        )
    with _reading(path) as connection:

        def table(query: str) -> pd.DataFrame:
            return pd.read_sql_query(query, connection)

        if _is_empty(connection):
            raise ValueError(f"{path} is empty: the run was interrupted before it began")
        definition = _definition(connection)
        order = '"set", repeat, fold, algorithm'
        results = table(f"SELECT * FROM results ORDER BY {order}, criterion")
        tasks = table(f"SELECT * FROM tasks ORDER BY {order}")
        sets, runs = table("SELECT * FROM sets"), table("SELECT * FROM runs ORDER BY run")
    if definition is None:
        raise ValueError(f"{path} is empty: the run was interrupted before it began")
    # A column without any value would have the type object.
    for frame, columns in ((sets, ["paper_number"]), (tasks, ["peak_bytes", "predict_seconds"])):
        frame[columns] = frame[columns].astype("float64")
    numbers = pd.DataFrame([json.loads(text) for text in sets.pop("characteristics")])
    runs["versions"] = runs["versions"].map(json.loads)
    runs["machine"] = runs["machine"].map(json.loads)
    return StudyRecord(
        definition=definition,
        results=results,
        tasks=tasks.drop(columns="chosen"),
        sets=pd.concat([sets.drop(columns="files"), numbers], axis=1),
        runs=runs,
        chosen=_chosen_values(tasks),
    )


def _chosen_values(tasks: "pd.DataFrame") -> "pd.DataFrame":
    """Return a row for each parameter that a search chose in a task."""
    import pandas as pd

    rows = [
        {**{key: row[key] for key in Task._fields}, "parameter": name, "value": as_text(value)}
        for row in tasks[tasks.chosen != ""].to_dict("records")
        for name, value in json.loads(row["chosen"]).items()
    ]
    return pd.DataFrame(rows, columns=[*Task._fields, "parameter", "value"])


def database_uri(path: PurePath) -> str:
    """Return the URI of an absolute path for SQLite, which refuses names of servers."""
    # as_uri() of a Windows path on a server is file://server/share; SQLite needs file:////server.
    posix = path.as_posix()
    return f"file://{'' if posix.startswith('/') else '/'}{quote(posix, safe='/:')}"


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a study's file for reading, also while another process writes to it."""
    # Not mode=ro: a writer that was killed left a journal, which the next reader rolls back.
    uri = f"{database_uri(path.absolute())}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=60)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            (program,) = connection.execute("PRAGMA application_id").fetchone()
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if (program, layout) != (PROGRAM, LAYOUT) and not _is_empty(connection):
                raise ValueError(
                    f"expected layout {LAYOUT} of program {PROGRAM}, found {layout} of {program}"
                )
            connection.execute("BEGIN")  # all queries see the same state
            yield connection
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
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
        raise ValueError(f"its definition has no tables {', '.join(tables)}")
    if not all(isinstance(part, dict) for table in tables for part in plain[table].values()):
        raise ValueError("a part of its definition is not a table")
    return plain


def _file_facts(text: str) -> list[FileFacts]:
    return [(str(p), int(n), int(ns), str(sha256)) for p, n, ns, sha256 in json.loads(text)]
