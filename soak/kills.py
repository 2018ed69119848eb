"""Kills of studies at random moments: finished tasks are kept, and results do not change."""

import atexit
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import study_kills
from pairmend.study import load_study, run_study
from soak.state import State
from soak.workers import run_seeds

NAME = "kills"
TARGET = 1_000
N_KILLS = {"main": 8, "group": 8, "interrupt": 8, "worker": 1, "disk": 8, "dask": 4}
"""Kills of one study by kind; `disk` stands for a full disk, `dask` for workers of a cluster."""


def run_slice(state: State, deadline: float) -> None:
    """Kill studies in the way with the fewest kills; a seed is a study."""
    done = {kind: n for campaign, kind, n, *_ in state.rows() if campaign == NAME}
    kind = min(N_KILLS, key=lambda name: done.get(name, 0))
    # The end of a slice does not end a study; only a study that hangs is ended.
    run_seeds(state, NAME, kind, 2, deadline + 900, 900, inputs_per_seed=N_KILLS[kind])


def check(kind: str, seed: int) -> None:
    """Kill a study some times, run it to its end, and compare it with one without kills."""
    dice = random.Random(f"{kind}-{seed}")
    with tempfile.TemporaryDirectory(prefix="pairmend-kills-") as folder:
        path, out = Path(folder, "study.toml"), Path(folder, "out")
        path.write_text(study_kills.STUDY)
        if kind == "disk":
            _fill_disk(path, out, dice)
        elif kind == "dask":
            _kill_dask_workers(path, out, dice)
        else:
            _kill_some_times(path, out, dice, kind)
            run_study(load_study(path), out)
        study_kills.check_equal(out, _whole())


def _kill_some_times(path: Path, out: Path, dice: random.Random, way: str) -> None:
    """Start a study and kill it at a random moment, some times."""
    for _ in range(N_KILLS[way]):
        before, n_new = study_kills.n_finished(out), dice.randint(0, study_kills.N_TASKS // 2)
        process = study_kills.start(path, out, dice.choice([1, 2]))
        enough = min(before + n_new, study_kills.N_TASKS)
        study_kills.wait_for(
            lambda process=process, enough=enough: (
                process.poll() is not None or study_kills.n_finished(out) >= enough
            ),
            seconds=300,
        )
        time.sleep(dice.uniform(0, 0.2 if n_new else 2))
        if process.poll() is None:
            _kill(process, way, dice)
        if way == "worker":
            assert process.wait(timeout=300) == 0, "a killed worker ended the study"
        assert study_kills.n_finished(out) >= before, "finished tasks were lost"


def _kill(process: subprocess.Popen[Any], way: str, dice: random.Random) -> None:
    """Kill the main process, a worker or all processes of a study, or interrupt it."""
    workers = study_kills.workers_of(process.pid)
    if way == "worker":
        if workers:
            os.kill(dice.choice(workers), signal.SIGKILL)
        return
    if way == "group":
        process.kill()
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.send_signal(signal.SIGINT if way == "interrupt" else signal.SIGKILL)
    process.wait(timeout=60)
    study_kills.wait_for(lambda: not any(map(study_kills.alive, workers)), seconds=30)


@cache
def _whole() -> Path:
    """Return the results folder of the study without kills."""
    folder = Path(tempfile.mkdtemp(prefix="pairmend-kills-"))
    atexit.register(shutil.rmtree, folder)
    path = folder / "study.toml"
    path.write_text(study_kills.STUDY)
    assert study_kills.start(path, folder / "whole").wait(timeout=600) == 0
    return folder / "whole"


def _fill_disk(path: Path, out: Path, dice: random.Random) -> None:
    """Run a study while no file may grow beyond a size, as on a full disk; then to its end."""
    before = 0
    for _ in range(N_KILLS["disk"]):
        size = dice.choice([0, 1000, 5_000, 20_000, 40_000, 60_000, 100_000])

        def fill(size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails with an OSError
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        command = [sys.executable, "-m", "pairmend", "study", path, "--out", out, "--jobs", "2"]
        process = subprocess.Popen(
            [*map(str, command)], env=study_kills.environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=fill,
        )  # fmt: skip
        process.wait(timeout=300)
        now = study_kills.n_finished(out)
        assert now >= before, "finished tasks were lost"
        before = now
    assert study_kills.start(path, out).wait(timeout=300) == 0, "the study does not continue"


def _kill_dask_workers(path: Path, out: Path, dice: random.Random) -> None:
    """Run the study on a cluster whose workers are killed and restarted."""
    from distributed import Client, LocalCluster

    os.environ["PYTHONPATH"] = study_kills.environment()["PYTHONPATH"]  # of the workers
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        moments = sorted(dice.sample(range(1, study_kills.N_TASKS - 4), N_KILLS["dask"]))

        def kill(step: Any) -> None:
            if moments and step.outcome is not None and step.n_done >= moments[0]:
                moments.pop(0)
                workers = [worker.pid for worker in cluster.workers.values() if worker.pid]
                if workers:
                    with suppress(ProcessLookupError):
                        os.kill(dice.choice(workers), signal.SIGKILL)

        run_study(load_study(path), out, dask=client, progress=kill)
