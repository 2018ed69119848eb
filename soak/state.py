"""Counts of inputs and failures in an SQLite file, so that a later run continues."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS progress (
    campaign TEXT, kind TEXT, next_seed INTEGER DEFAULT 0, done INTEGER DEFAULT 0,
    failures INTEGER DEFAULT 0, seconds REAL DEFAULT 0, PRIMARY KEY (campaign, kind)
)
"""


class State:
    """Counts by campaign and kind, and the folder where failures are saved as test cases."""

    def __init__(self, folder: Path, failures: Path):
        self.folder, self.failures = folder, failures
        folder.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            connection.execute(SCHEMA)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        database = self.folder / "soak.sqlite"
        with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
            yield connection

    def take_seeds(self, campaign: str, kind: str, n_seeds: int) -> range:
        """Reserve seeds that no other run uses."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO progress (campaign, kind) VALUES (?, ?)", (campaign, kind)
            )
            (first,) = connection.execute(
                "SELECT next_seed FROM progress WHERE campaign = ? AND kind = ?", (campaign, kind)
            ).fetchone()
            connection.execute(
                "UPDATE progress SET next_seed = ? WHERE campaign = ? AND kind = ?",
                (first + n_seeds, campaign, kind),
            )
        return range(first, first + n_seeds)

    def add(
        self, campaign: str, kind: str, done: int = 0, failures: int = 0, seconds: float = 0
    ) -> None:
        """Add to the counts of a campaign."""
        with self._connection() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO progress (campaign, kind) VALUES (?, ?)", (campaign, kind)
            )
            connection.execute(
                "UPDATE progress SET done = done + ?, failures = failures + ?, "
                "seconds = seconds + ? WHERE campaign = ? AND kind = ?",
                (done, failures, seconds, campaign, kind),
            )

    def rows(self) -> list[tuple[str, str, int, int, float]]:
        """Return campaign, kind, inputs done, failures and seconds."""
        with self._connection() as connection:
            return connection.execute(
                "SELECT campaign, kind, done, failures, seconds FROM progress "
                "ORDER BY campaign, kind"
            ).fetchall()

    def n_done(self, campaign: str) -> int:
        """Return how many inputs of a campaign are done."""
        return sum(row[2] for row in self.rows() if row[0] == campaign)

    def save_failure(self, campaign: str, kind: str, seed: int, reason: str) -> None:
        """Save a seed that failed as a test case."""
        case: dict[str, Any] = {"campaign": campaign, "kind": kind, "seed": seed, "reason": reason}
        folder = self.failures / campaign
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{kind}-{seed}.json").write_text(json.dumps(case, indent=1) + "\n")
