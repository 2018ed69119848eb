"""Kills of studies at random moments: what was finished stays, and the end is as without kills."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from soak.state import State
from soak.workers import run_seeds

NAME = "kills"
TARGET = 1_000
KINDS = ("main", "worker", "group", "disk", "dask")
N_KILLS = 8
"""Kills of one study, which all count."""
ALGORITHMS = """
[algorithms.pairs]
class = "pairmend.PairwiseClassifier"
[algorithms.corrected]
class = "pairmend.CorrectedPairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
"""
STUDY = (
    """
folds = 5
repeats = 2
[sets]
one = { function = "pairmend.datasets.make_hypercubes", params = { n_samples = 60 } }
two = { function = "pairmend.datasets.make_hyperspheres", params = { n_samples = 90 } }
"""
    + ALGORITHMS
)


def run_slice(state: State, deadline: float) -> None:
    """Kill studies in the way that was tried least so far; a seed is a study of N_KILLS kills."""
    done = {kind: n for campaign, kind, n, *_ in state.rows() if campaign == NAME}
    kind = min(KINDS, key=lambda name: done.get(name, 0))
    run_seeds(state, NAME, kind, 4, deadline, max_seconds=900, inputs_per_seed=N_KILLS)


def check(kind: str, seed: int) -> None:
    """Kill a study some times, let it end, and compare it with one that was not killed."""
    dice = random.Random(f"{kind}-{seed}")
    with tempfile.TemporaryDirectory(prefix="pairmend-kills-") as folder:
        path, out = Path(folder, "study.toml"), Path(folder, "out")
        path.write_text(STUDY)
        if kind == "dask":
            _kill_dask_workers(path, out, dice)
        else:
            finished = 0
            groups = []
            for _ in range(N_KILLS):
                groups.append(_cut_off(kind, path, out, dice))
                now = _n_finished(out)
                if now < finished:
                    raise AssertionError(f"{finished} tasks were finished, now {now} are")
                finished = now
            _end(path, out)
            _expect_ended(groups)
        _compare(out)


def _command(path: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "pairmend", "study", str(path), "--out", str(out), "--jobs", "2"]


def _start(path: Path, out: Path, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        _command(path, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, **options,
    )  # fmt: skip


def _cut_off(kind: str, path: Path, out: Path, dice: random.Random) -> int:
    """Start the study and stop it at a random moment; return the id of its process group."""
    if kind == "disk":
        # No file may grow beyond this, as on a full disk: writing fails with an OSError.
        size = dice.choice([0, 1000, 5_000, 20_000, 40_000, 60_000, 100_000])

        def fill() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        process = _start(path, out, preexec_fn=fill)
    else:
        process = _start(path, out)
    if kind == "disk":
        process.wait(timeout=300)
        return process.pid
    time.sleep(dice.expovariate(1 / 3))
    if kind == "worker":
        workers = _children(process.pid)
        if workers:
            with suppress(ProcessLookupError):
                os.kill(dice.choice(workers), signal.SIGKILL)
        time.sleep(dice.uniform(0, 1))
    with suppress(ProcessLookupError):
        if kind == "group":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    return process.pid


def _expect_ended(groups: list[int]) -> None:
    """Expect that workers whose main process was killed end by themselves."""
    end = time.monotonic() + 30
    left = groups
    while left and time.monotonic() < end:
        left = [group for group in left if _has_processes(group)]
        time.sleep(0.1)
    for group in left:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    if left:
        raise AssertionError("workers go on 30 s after their main process was killed")


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(child) for child in text.split()]


def _end(path: Path, out: Path) -> None:
    """Run the study to its end."""
    ran = subprocess.run(_command(path, out), capture_output=True, text=True, timeout=300)
    if ran.returncode:
        raise AssertionError(f"the study ended with {ran.returncode}: {ran.stderr[-2000:]}")


def _n_finished(out: Path) -> int:
    database = out / "study.sqlite"
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        try:
            (n_tasks,) = connection.execute("SELECT count(*) FROM tasks").fetchone()
        except sqlite3.OperationalError as error:  # the table is not there yet
            if "no such table" not in str(error):
                raise
            return 0
    return int(n_tasks)


def _compare(out: Path) -> None:
    import pandas as pd

    from pairmend.study import read_study

    found = read_study(out)
    pd.testing.assert_frame_equal(found.results, _whole())
    if set(found.tasks.status) != {"done"}:
        raise AssertionError(f"tasks are {set(found.tasks.status)}")


@cache
def _whole() -> Any:
    """Return the results of the study without kills."""
    from pairmend.study import read_study

    folder = Path(tempfile.mkdtemp(prefix="pairmend-kills-"))
    try:
        path = folder / "study.toml"
        path.write_text(STUDY)
        _end(path, folder / "out")
        return read_study(folder / "out").results
    finally:
        shutil.rmtree(folder)


def _kill_dask_workers(path: Path, out: Path, dice: random.Random) -> None:
    """Run the study on a cluster, whose workers are killed and started again."""
    from distributed import Client, LocalCluster

    from pairmend.study import load_study, run_study

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        moments = sorted(dice.sample(range(1, 35), N_KILLS))

        def kill(step: Any) -> None:
            if moments and step.outcome is not None and step.n_done >= moments[0]:
                moments.pop(0)
                workers = [worker.pid for worker in cluster.workers.values()]
                with suppress(ProcessLookupError, TypeError):
                    os.kill(dice.choice(workers), signal.SIGKILL)

        run_study(load_study(path), out, dask=client, progress=kill)
