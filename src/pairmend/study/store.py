"""Store: results in the SQLite file ``study.sqlite``; the layout of its tables."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pairmend.study.execution import Outcome
from pairmend.study.objects import as_text
from pairmend.study.record import StudyRecord
from pairmend.study.requirements import require_extra
from pairmend.study.start import Start, is_start
from pairmend.study.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

FILE = "study.sqlite"
LAYOUT = 1
"""Number of the layout of the tables; a file with another one is refused."""
PROGRAM = 0x706D6E64
"""SQLite's application_id of files of this program."""

TABLES = """
CREATE TABLE definition (plain TEXT NOT NULL);
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, started TEXT NOT NULL, ended TEXT NOT NULL DEFAULT '',
    versions TEXT NOT NULL, machine TEXT NOT NULL
);
CREATE TABLE sets (
    "set" TEXT PRIMARY KEY, title TEXT NOT NULL, paper_number INTEGER, sha256 TEXT NOT NULL,
    source TEXT NOT NULL, characteristics TEXT NOT NULL
);
CREATE TABLE tasks (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    status TEXT NOT NULL, seed INTEGER NOT NULL, fitted_by TEXT NOT NULL, fit_seconds REAL,
    predict_seconds REAL, peak_bytes INTEGER, warnings TEXT NOT NULL, error TEXT NOT NULL,
    traceback TEXT NOT NULL, finished TEXT NOT NULL, run INTEGER NOT NULL REFERENCES runs (run),
    PRIMARY KEY ("set", repeat, fold, algorithm)
);
CREATE TABLE results (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    criterion TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY ("set", repeat, fold, algorithm, criterion)
);
"""


STARTS = """
CREATE TABLE IF NOT EXISTS starts (
    run INTEGER PRIMARY KEY REFERENCES runs (run), plain TEXT NOT NULL
)
"""
"""A table that files of earlier versions do not have."""

CHOSEN = """
CREATE TABLE IF NOT EXISTS chosen (
    "set" TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL, algorithm TEXT NOT NULL,
    plain TEXT NOT NULL, PRIMARY KEY ("set", repeat, fold, algorithm)
)
"""
"""Parameters chosen by searches, another table that files of earlier versions do not have."""


class Progress(NamedTuple):
    """Definition, finished tasks, start and package versions that a folder has."""

    definition: dict[str, Any] | None = None
    done: frozenset[Task] = frozenset()
    start: Start | None = None
    versions: Mapping[str, str] = MappingProxyType({})


class Store:
    """Results of a study on disk. Every write is a transaction."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        # Another process that reads must not end the study: wait for its lock for a minute.
        self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            with self._errors_explained():
                # A power cut must not lose what was reported as done.
                self.connection.execute("PRAGMA synchronous = FULL")
                self.connection.execute("PRAGMA trusted_schema = OFF")
                with self._transaction():
                    self._prepare()
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        (layout,) = self.connection.execute("PRAGMA user_version").fetchone()
        (program,) = self.connection.execute("PRAGMA application_id").fetchone()
        if layout == 0 and _is_empty(self.connection):
            for statement in TABLES.split(";"):
                self.connection.execute(statement)
            self.connection.execute(f"PRAGMA user_version = {LAYOUT}")
            self.connection.execute(f"PRAGMA application_id = {PROGRAM}")
        elif (program, layout) != (PROGRAM, LAYOUT):
            raise ValueError(
                f"{self.path} is not a study of this version of pairmend: expected layout {LAYOUT} "
                f"of program {PROGRAM}, found {layout} of {program}. Choose another folder."
            )
        self.connection.execute(STARTS)
        self.connection.execute(CHOSEN)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        """Replace SQLite's errors by errors with the path and what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise ValueError(
                    f"{self.path} is not an SQLite file or is damaged: {error}. Choose another "
                    "folder, or move the file away."
                ) from error
            cause = "another program locks it" if "locked" in str(error) else "is the disk full?"
            raise OSError(
                f"cannot write to {self.path}: {error}. Finished tasks are stored. Remove the "
                f"cause ({cause}) and run the study again to continue."
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            # After some errors, a full disk among them, SQLite has rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._errors_explained(), self._transaction():
            yield

    def definition(self) -> dict[str, Any] | None:
        """Return the definition of the study, None without one."""
        with self._errors_explained():
            return _definition(self.connection)

    def set_definition(self, plain: dict[str, Any]) -> None:
        """Store the definition of the study."""
        with self._writing():
            self.connection.execute("DELETE FROM definition")
            self.connection.execute("INSERT INTO definition VALUES (?)", [json.dumps(plain)])

    def start_run(
        self, started: str, versions: dict[str, str], machine: dict[str, str], start: Start
    ) -> int:
        """Store that a run starts, and return its number."""
        row = [started, json.dumps(versions), json.dumps(machine)]
        with self._writing():
            cursor = self.connection.execute(
                "INSERT INTO runs (started, versions, machine) VALUES (?, ?, ?)", row
            )
            assert cursor.lastrowid is not None
            plain = json.dumps(start)
            self.connection.execute("INSERT INTO starts VALUES (?, ?)", [cursor.lastrowid, plain])
        return cursor.lastrowid

    def end_run(self, run: int, ended: str) -> None:
        """Store that a run has ended."""
        with self._writing():
            self.connection.execute("UPDATE runs SET ended = ? WHERE run = ?", [ended, run])

    def set_hash(self, name: str) -> str | None:
        """Return the hash of a set's contents, None if it is new."""
        query = 'SELECT sha256 FROM sets WHERE "set" = ?'
        with self._errors_explained():
            row = self.connection.execute(query, [name]).fetchone()
        return row[0] if row else None

    def add_set(
        self,
        name: str,
        *,
        title: str,
        paper_number: int | None,
        sha256: str,
        source: str,
        characteristics: dict[str, float],
    ) -> None:
        """Store the properties of a set."""
        row = [name, title, paper_number, sha256, source, json.dumps(characteristics)]
        with self._writing():
            self.connection.execute("INSERT OR REPLACE INTO sets VALUES (?, ?, ?, ?, ?, ?)", row)

    def done(self) -> set[Task]:
        """Return the tasks that are done."""
        with self._errors_explained():
            return _done(self.connection)

    def start(self) -> Start | None:
        """Return how the last run was started, None if that is not stored."""
        with self._errors_explained():
            return _start(self.connection)

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
            run,
        ]
        places = ", ".join("?" * len(row))
        with self._writing():
            self.connection.execute(f"INSERT OR REPLACE INTO tasks VALUES ({places})", row)
            self.connection.executemany(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)",
                [[*outcome.task, name, value] for name, value in outcome.values.items()],
            )
            if outcome.chosen:
                chosen = [*outcome.task, outcome.chosen]
                self.connection.execute(
                    "INSERT OR REPLACE INTO chosen VALUES (?, ?, ?, ?, ?)", chosen
                )


def read_progress(folder: Path) -> Progress:
    """Read the progress of the study in a folder, which may have none."""
    if not (folder / FILE).exists():
        return Progress()
    with _reading(folder / FILE) as connection:
        if _is_empty(connection):  # interrupted before the tables were created
            return Progress()
        used: dict[str, str] = {}
        for (text,) in connection.execute("SELECT versions FROM runs ORDER BY run"):
            used |= json.loads(text)
        return Progress(
            _definition(connection), frozenset(_done(connection)), _start(connection), used
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
        there = table("SELECT name FROM sqlite_master WHERE name = 'chosen'")
        chosen = table(f"SELECT * FROM chosen ORDER BY {order}") if len(there) else None
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
        tasks=tasks,
        sets=pd.concat([sets, numbers], axis=1),
        runs=runs,
        chosen=_chosen_values(chosen),
    )


def _chosen_values(chosen: "pd.DataFrame | None") -> "pd.DataFrame":
    """Return a row for each parameter that a search chose in a task."""
    import pandas as pd

    rows = [
        {**{key: row[key] for key in Task._fields}, "parameter": name, "value": as_text(value)}
        for row in ([] if chosen is None else chosen.to_dict("records"))
        for name, value in json.loads(row["plain"]).items()
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
            if program != PROGRAM and not _is_empty(connection):
                raise sqlite3.DatabaseError("it is a file of another program")
            connection.execute("BEGIN")  # all queries see the same state
            yield connection
    except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
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
        raise sqlite3.DatabaseError(f"its definition has no tables {', '.join(tables)}")
    return plain


def _start(connection: sqlite3.Connection) -> Start | None:
    there = "SELECT count(*) FROM sqlite_master WHERE name = 'starts'"
    if not connection.execute(there).fetchone()[0]:  # of an earlier version
        return None
    row = connection.execute("SELECT plain FROM starts ORDER BY run DESC LIMIT 1").fetchone()
    plain = json.loads(row[0]) if row else None
    return plain if is_start(plain) else None


def _done(connection: sqlite3.Connection) -> set[Task]:
    rows = connection.execute(
        "SELECT \"set\", repeat, fold, algorithm FROM tasks WHERE status = 'done'"
    )
    return {Task(*row) for row in rows}
