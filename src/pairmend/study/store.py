"""What was run, in one SQLite file."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pairmend.study.record import StudyRecord
from pairmend.study.requirements import require_extra
from pairmend.study.starts import Start, is_start
from pairmend.study.tasks import Task
from pairmend.study.work import Outcome

FILE = "study.sqlite"
LAYOUT = 1
"""Number of the layout of the tables; a file with another one is refused."""
PROGRAM = 0x706D6E64
"""Says in an SQLite file that it is ours."""

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


class Progress(NamedTuple):
    """What a folder holds.

    Attributes
    ----------
    definition : dict or None
        The study's definition, None if there is none yet.
    done : set of Task
        Tasks that are done.
    start : Start or None
        How it was started, None if that is not kept.
    versions : dict
        Versions of Python and packages that were used last.
    """

    definition: dict[str, Any] | None = None
    done: frozenset[Task] = frozenset()
    start: Start | None = None
    versions: Mapping[str, str] = MappingProxyType({})


class Store:
    """The results of a study on disk. Every write is a transaction: all of it, or nothing.

    Parameters
    ----------
    folder : Path
        Where the file `study.sqlite` lies, or is made.

    Raises
    ------
    ValueError
        If the file is no study's, or one of another layout.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        # Somebody who reads must not end the study: it waits a minute for its turn.
        self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            with self._told():
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
                f"{self.path} is no study of this version of pairmend: expected layout {LAYOUT} of "
                f"program {PROGRAM}, found {layout} of {program}. Choose another folder."
            )
        self.connection.execute(STARTS)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn SQLite's errors into ones that say what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise ValueError(
                    f"{self.path} is no SQLite file or a damaged one: {error}. Choose another "
                    "folder, or move the file away."
                ) from error
            cause = "another program holds it" if "locked" in str(error) else "is the disk full?"
            raise OSError(
                f"cannot write to {self.path}: {error}. What was finished before is kept; mend "
                f"the cause ({cause}) and start again to go on."
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
        with self._told(), self._transaction():
            yield

    def definition(self) -> dict[str, Any] | None:
        """Return the definition of the study, None if there is none yet."""
        with self._told():
            return _definition(self.connection)

    def set_definition(self, plain: dict[str, Any]) -> None:
        """Keep the definition of the study."""
        with self._writing():
            self.connection.execute("DELETE FROM definition")
            self.connection.execute("INSERT INTO definition VALUES (?)", [json.dumps(plain)])

    def start_run(
        self, started: str, versions: dict[str, str], machine: dict[str, str], start: Start
    ) -> int:
        """Note that a run starts, and return its number."""
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
        """Note that a run has ended."""
        with self._writing():
            self.connection.execute("UPDATE runs SET ended = ? WHERE run = ?", [ended, run])

    def set_hash(self, name: str) -> str | None:
        """Return the hash of a set's contents, None if it is new."""
        query = 'SELECT sha256 FROM sets WHERE "set" = ?'
        with self._told():
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
        """Keep what is known of a set."""
        row = [name, title, paper_number, sha256, source, json.dumps(characteristics)]
        with self._writing():
            self.connection.execute("INSERT OR REPLACE INTO sets VALUES (?, ?, ?, ?, ?, ?)", row)

    def done(self) -> set[Task]:
        """Return the tasks that are done."""
        with self._told():
            return _done(self.connection)

    def start(self) -> Start | None:
        """Return how the last run was started, None if that is not kept."""
        with self._told():
            return _start(self.connection)

    def add(self, outcome: Outcome, run: int) -> None:
        """Keep what came of a task."""
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


def read_progress(folder: Path) -> Progress:
    """Read what a folder holds, nothing if there is no study yet."""
    if not (folder / FILE).exists():
        return Progress()
    with _reading(folder / FILE) as connection:
        if _is_empty(connection):  # cut off before it began
            return Progress()
        used: dict[str, str] = {}
        for (text,) in connection.execute("SELECT versions FROM runs ORDER BY run"):
            used |= json.loads(text)
        return Progress(
            _definition(connection), frozenset(_done(connection)), _start(connection), used
        )


def read_study(folder: str | Path) -> StudyRecord:
    """Read what a study left in its folder, also while it still runs.

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
    """
    require_extra()
    import pandas as pd

    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no study in {folder}: expected a file {FILE}, which 'pairmend study' makes"
        )
    with _reading(path) as connection:

        def table(query: str) -> pd.DataFrame:
            return pd.read_sql_query(query, connection)

        if _is_empty(connection):
            raise ValueError(f"{path} holds no study yet: it was cut off before it began")
        definition = _definition(connection)
        order = '"set", repeat, fold, algorithm'
        results = table(f"SELECT * FROM results ORDER BY {order}, criterion")
        tasks = table(f"SELECT * FROM tasks ORDER BY {order}")
        sets, runs = table("SELECT * FROM sets"), table("SELECT * FROM runs ORDER BY run")
    if definition is None:
        raise ValueError(f"{path} holds no study yet: it was cut off before it began")
    # A column without any value has no type of its own.
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
    )


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a study's file for reading, also while it is written to."""
    # Not mode=ro: a writer that was killed left a journal, which the next reader rolls back.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=60)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            (program,) = connection.execute("PRAGMA application_id").fetchone()
            if program != PROGRAM and not _is_empty(connection):
                raise sqlite3.DatabaseError("it is a file of another program")
            connection.execute("BEGIN")  # all that is read is of one moment
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
