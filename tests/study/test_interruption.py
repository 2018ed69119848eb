"""Studies that are cut off, in every way we could think of, lose nothing that was finished."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pandas as pd
import pytest

import odd_classifiers
from pairmend.study import FailedTasksWarning, Study, load_study, read_study, run_study

TESTS = Path(__file__).parents[1]

STUDY = """
folds = 6
repeats = 2
[sets]
one = { function = "pairmend.datasets.make_hypercubes", params = { n_samples = 60 } }
two = { function = "pairmend.datasets.make_hyperspheres", params = { n_samples = 90 } }
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


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def start(study_file, out, jobs=2):
    command = [sys.executable, "-m", "pairmend", "study", study_file, "--out", out]
    return subprocess.Popen(
        [*map(str, command), "--jobs", str(jobs)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def n_finished(out):
    if not (out / "study.sqlite").exists():
        return 0
    with closing(sqlite3.connect(out / "study.sqlite", timeout=10)) as connection:
        try:
            return connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
        except sqlite3.OperationalError:  # the table is not there yet
            return 0


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def workers_of(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them"
)


@needs_proc
def test_killed_at_random_moments_it_ends_as_if_it_had_not_been(study_file, tmp_path):
    dice, out = random.Random(0), tmp_path / "killed"
    counts = []
    # The first time it is killed before there is any result, then between two.
    for n_new in (0, 1, dice.randint(2, 6), dice.randint(2, 6), dice.randint(2, 6)):
        before = n_finished(out)
        process = start(study_file, out)
        wait_for(lambda enough=before + n_new: n_finished(out) >= enough)
        time.sleep(dice.uniform(0, 0.1 if n_new else 1))
        workers = workers_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda workers=workers: not any(map(alive, workers)), seconds=10)
        counts.append(n_finished(out))
    assert counts == sorted(counts)
    study = load_study(study_file)
    assert 0 < counts[-1] < study.n_tasks, "it was not cut off in the middle"
    assert start(study_file, out).wait(timeout=120) == 0
    whole = run_study(study, tmp_path / "whole")
    again = read_study(out)
    pd.testing.assert_frame_equal(again.results, whole)
    assert len(again.results) == study.n_tasks * 4
    columns = ["set", "repeat", "fold", "algorithm", "status", "seed", "fitted_by"]
    other = read_study(tmp_path / "whole").tasks
    pd.testing.assert_frame_equal(again.tasks[columns], other[columns])
    assert list(again.runs.ended != "") == [False] * (len(again.runs) - 1) + [True]


@needs_proc
def test_a_killed_worker_costs_nothing(study_file, tmp_path):
    out = tmp_path / "out"
    process = start(study_file, out)
    for _ in range(2):  # one less than a batch may be the victim of
        before = n_finished(out)
        wait_for(lambda before=before: n_finished(out) > before + 2)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(timeout=120) == 0
    pd.testing.assert_frame_equal(read_study(out).results, run_study(load_study(study_file)))
    assert set(read_study(out).tasks.status) == {"done"}


def test_a_batch_that_kills_its_worker_once_is_done_again(sets, tmp_path):
    algorithms = {
        "ok": odd_classifiers.Frequent(),
        "once": odd_classifiers.Deadly(str(tmp_path / "x")),
    }
    rows = run_study(Study(sets, algorithms, folds=2), jobs=2)
    assert rows.groupby("algorithm").size().to_dict() == {"ok": 16, "once": 16}


def test_a_batch_that_always_kills_its_worker_fails_alone(sets, tmp_path):
    study = Study(
        sets, {"ok": odd_classifiers.Frequent(), "deadly": odd_classifiers.Deadly()}, folds=2
    )
    with pytest.warns(FailedTasksWarning, match="4 of 8 tasks failed.*died 3 times: SIGKILL"):
        rows = run_study(study, tmp_path, jobs=2)
    assert set(rows.algorithm) == {"ok"}
    assert len(rows) == 4 * 4


def test_a_dead_worker_is_noticed_though_a_child_of_it_lives(sets):
    study = Study({"one": sets["one"]}, {"A": odd_classifiers.Odd("forks and dies")}, folds=2)
    started = time.monotonic()
    with pytest.warns(FailedTasksWarning, match="2 of 2 tasks failed"):
        run_study(study, jobs=2)
    assert time.monotonic() - started < 110, "it waited for the children, who sleep two minutes"


@needs_proc
def test_a_worker_killed_while_it_starts_costs_nothing(study_file, tmp_path):
    out = tmp_path / "out"
    process = start(study_file, out)
    wait_for(lambda: workers_of(process.pid))
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(timeout=120) == 0
    assert set(read_study(out).tasks.status) == {"done"}


def test_two_runs_at_once_and_the_second_says_so(study_file, tmp_path):
    out = tmp_path / "out"
    first = start(study_file, out)
    wait_for(lambda: n_finished(out) > 0)
    first.send_signal(signal.SIGSTOP)  # it must not end before the second has tried
    second = subprocess.run(
        [sys.executable, "-m", "pairmend", "study", str(study_file), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert f"another process runs a study in {out}" in second.stderr
    assert first.wait(timeout=120) == 0
    assert set(read_study(out).tasks.status) == {"done"}


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of its own with little room, which only root can make."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the command mount")
    if done.returncode:
        pytest.skip(f"needs the right to mount a tmpfs: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_told_and_earlier_results_are_kept(tiny_disk, sets, tmp_path):
    study = Study(sets, {"A": odd_classifiers.Frequent()}, folds=10, repeats=8)
    out = tiny_disk / "out"
    filler = tiny_disk / "filler"

    def fill(step):
        if step.n_done == 30:
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    with pytest.raises(OSError, match=r"study.sqlite: .*full.*is kept.*disk full\?"):
        run_study(study, out, progress=fill)
    filler.unlink()
    kept = read_study(out)
    assert 30 <= len(kept.tasks) < study.n_tasks
    assert len(kept.results) == 4 * len(kept.tasks)
    pd.testing.assert_frame_equal(
        run_study(study, out), run_study(study, tmp_path / "roomy"), check_like=True
    )


def test_scripts_without_a_guard_are_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from odd_classifiers import Frequent\n"
        "from pairmend.study import Study, run_study\n"
        "run_study(Study(['simplehc'], {'A': Frequent()}, folds=2), jobs=2)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "if __name__ ==" in ended.stderr.splitlines()[-1]
