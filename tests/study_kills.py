"""A small study, its processes, and its results, for tests that interrupt it."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from pairmend.study import read_study

TESTS = Path(__file__).parent

STUDY = """
folds = 6
[sets]
one = { function = "pairmend.datasets.make_shapes", params = { n_samples = 60 } }
two = { function = "pairmend.datasets.make_shapes", params = { shape = "sphere", n_samples = 90 } }
[algorithms.slow]
class = "odd_classifiers.Frequent"
params = { seconds = 0.05 }
[algorithms.FCM]
class = "pairmend.CorrectedPairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
[algorithms.FCM-O]
class = "pairmend.CorrectedPairwiseClassifier"
params = { overlap = 0.5, estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
"""
N_TASKS = 2 * 6 * 3
TASK = ["set", "repeat", "fold", "algorithm", "status", "seed", "fitted_by"]


def environment() -> dict[str, str]:
    """Return environment variables with which modules of the tests can be imported."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def start(study_file: Path, out: Path, jobs: int = 2, **given: Any) -> subprocess.Popen:
    """Start a study in a new session."""
    command = [sys.executable, "-m", "pairmend", "study", study_file, "--out", out, "--jobs", jobs]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(
        [*map(str, command)], env=environment(), start_new_session=True, **{**quiet, **given}
    )


def n_finished(out: Path) -> int:
    """Return the number of tasks in a results folder."""
    if not (out / "study.sqlite").exists():
        return 0
    with closing(sqlite3.connect(out / "study.sqlite", timeout=10)) as connection:
        try:
            return connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
        except sqlite3.OperationalError:  # the table has not been created
            return 0


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition is true, at most for some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not true after {seconds} s"
        time.sleep(0.01)


def workers_of(pid: int) -> list[int]:
    """Return the process ids of a study's workers, on Linux."""
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        children = [child for thread in threads for child in thread.read_text().split()]
        return [
            int(child)
            for child in children
            if b"pairmend.study.workers" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    except OSError:  # a process has ended
        return []


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill(process: subprocess.Popen) -> None:
    """Kill the main process of a study, and wait until its workers have ended."""
    workers = workers_of(process.pid)
    process.kill()
    process.wait(timeout=60)
    wait_for(lambda: not any(map(alive, workers)), seconds=30)


def check_equal(out: Path, whole: Path) -> None:
    """Check that two results folders have the same rows."""
    found, expected = read_study(out), read_study(whole)
    pd.testing.assert_frame_equal(found.results, expected.results)
    pd.testing.assert_frame_equal(found.tasks[TASK], expected.tasks[TASK])
