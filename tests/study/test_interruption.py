"""Studies that are cut off, in every way we could think of, lose nothing that was finished."""

import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import odd_classifiers
from pairmend.study import FailedTasksWarning, Study, load_study, read_study, run_study
from study_kills import (
    STUDY,
    WAYS,
    alive,
    environment,
    killed_and_resumed,
    n_finished,
    start,
    wait_for,
    workers_of,
)


@pytest.fixture(scope="module")
def study_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def whole(study_file, tmp_path_factory):
    """The results folder of a study that was not interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    run_study(load_study(study_file), folder)
    return folder


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them"
)


@needs_proc
def test_killed_at_random_moments_it_ends_as_if_it_had_not_been(study_file, whole, tmp_path):
    dice, out = random.Random(0), tmp_path / "killed"
    # The first time it is killed before there is any result, then between two.
    for n_new in (0, 1, dice.randint(2, 6), dice.randint(2, 6)):
        before = n_finished(out)
        process = start(study_file, out)
        wait_for(lambda enough=before + n_new: n_finished(out) >= enough)
        time.sleep(dice.uniform(0, 0.1 if n_new else 1))
        workers = workers_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda workers=workers: not any(map(alive, workers)), seconds=10)
        assert n_finished(out) >= before
    assert 0 < n_finished(out) < load_study(study_file).n_tasks, "not cut off in the middle"
    killed_and_resumed(study_file, out, whole, dice, "main")
    runs = read_study(out).runs
    assert list(runs.ended != "") == [False] * (len(runs) - 1) + [True]


@needs_proc
@pytest.mark.parametrize("way", [way for way in WAYS if way != "main"])
def test_whatever_is_killed_nothing_is_lost(study_file, whole, tmp_path, way):
    killed_and_resumed(study_file, tmp_path / "out", whole, random.Random(way), way)


@needs_proc
def test_stopped_prints_the_command_that_goes_on(study_file, whole, tmp_path):
    out = tmp_path / "a folder; with 'quotes'"
    command = [sys.executable, "-m", "pairmend", "study", str(study_file), "--out", out.name]
    process = subprocess.Popen(
        [*command, "--jobs", "1"],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: n_finished(out) > 2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    *_, stopped, line = told.splitlines()
    assert stopped == "stopped; to go on:"
    assert shlex.split(line)[-5:] == ["--resume", "--out", str(out), "--jobs", "1"]
    again = subprocess.run(
        line, shell=True, cwd="/", env=environment(), timeout=120, check=True, capture_output=True
    )
    assert again.returncode == 0
    pd.testing.assert_frame_equal(read_study(out).results, read_study(whole).results)


@needs_proc
def test_a_killed_worker_costs_nothing(study_file, whole, tmp_path):
    out = tmp_path / "out"
    process = start(study_file, out)
    for _ in range(2):  # one less than a batch may be the victim of
        before = n_finished(out)
        wait_for(lambda before=before: n_finished(out) > before + 2)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(timeout=120) == 0
    pd.testing.assert_frame_equal(read_study(out).results, read_study(whole).results)
    assert set(read_study(out).tasks.status) == {"done"}


def test_a_batch_that_kills_its_worker_once_is_done_again(sets, tmp_path):
    algorithms = {
        "ok": odd_classifiers.Frequent(),
        "once": odd_classifiers.Deadly(str(tmp_path / "x")),
    }
    rows = run_study(Study(sets, algorithms, folds=2), jobs=2)
    assert rows.groupby("algorithm").size().to_dict() == {"ok": 16, "once": 16}


def test_a_batch_that_always_kills_its_worker_fails_alone(sets, tmp_path):
    algorithms = {"ok": odd_classifiers.Frequent(), "deadly": odd_classifiers.Deadly()}
    study = Study({"one": sets["one"]}, algorithms, folds=2)
    with pytest.warns(FailedTasksWarning, match="2 of 4 tasks failed.*died 3 times: SIGKILL"):
        rows = run_study(study, tmp_path, jobs=2)
    assert set(rows.algorithm) == {"ok"}
    assert len(rows) == 2 * 4


def test_a_dead_worker_is_noticed_though_a_child_of_it_lives(sets):
    study = Study({"one": sets["one"]}, {"A": odd_classifiers.Odd("forks and dies")}, folds=2)
    started = time.monotonic()
    with pytest.warns(FailedTasksWarning, match="2 of 2 tasks failed"):
        run_study(study, jobs=2)
    assert time.monotonic() - started < 900, "it waited for the children, who sleep longer"


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
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
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


def test_a_disk_that_is_full_before_the_first_task_is_named(tiny_disk):
    X = np.random.RandomState(0).uniform(size=(2000, 100))
    study = Study({"large": (X, X[:, :3] > 0.5)}, {"A": odd_classifiers.Frequent()}, folds=2)
    with pytest.raises(OSError, match=r"the set 'large' to .*disk is full: 1.6 MB are needed, "):
        run_study(study, tiny_disk / "out")


def test_scripts_need_no_guard_and_may_define_classifiers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from odd_classifiers import Frequent\n"
        "from pairmend.study import Criterion, Study, run_study\n"
        "class Mine(Frequent):\n"
        "    pass\n"
        "criteria = {'c': Criterion(lambda truth, predicted: 0.5, 'c')}\n"
        "rows = run_study(Study(['simplehc'], {'A': Mine()}, criteria, folds=2), jobs=2)\n"
        "print(rows.value.tolist())\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stdout == "[0.5, 0.5]\n", ended.stderr


def test_a_classifier_that_ends_its_process_is_a_failed_task(sets, tmp_path):
    algorithms = {"ok": odd_classifiers.Frequent(), "bad": odd_classifiers.Odd("exits at once")}
    study = Study({"one": sets["one"]}, algorithms, folds=2)
    with pytest.warns(FailedTasksWarning, match="2 of 4 tasks failed.*died 3 times: exit code 0"):
        rows = run_study(study, tmp_path)
    assert rows.algorithm.tolist() == ["ok"] * 8


def test_a_task_over_the_time_limit_fails_and_its_worker_is_replaced(sets, tmp_path):
    algorithms = {
        "hangs": odd_classifiers.Hanging("fit"),
        "predicts": odd_classifiers.Hanging("predict"),
        "predicts for ever": odd_classifiers.Hanging("predict", late=1),
        "predicts, too": odd_classifiers.Hanging("predict", late=0),
    }
    study = Study({"one": sets["one"]}, algorithms, folds=2, time_limit=3)
    started = time.monotonic()
    with pytest.warns(FailedTasksWarning, match="TimeoutError: the time limit of 3 seconds is"):
        rows = run_study(study, tmp_path, jobs=2)
    assert time.monotonic() - started < 900, "it waited for classifiers that sleep longer"
    assert set(rows.algorithm) == {"predicts", "predicts, too"}
    failed = read_study(tmp_path).tasks.query("status == 'failed'")
    assert failed.algorithm.value_counts().to_dict() == {"hangs": 2, "predicts for ever": 2}


@pytest.mark.parametrize("where", ["fit", "set"])
def test_an_interrupt_that_surfaces_as_another_error_is_no_failure(sets, where, tmp_path):
    def interrupted():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    sources = {"one": sets["one"]}
    algorithm = odd_classifiers.Odd("interrupted" if where == "fit" else "")
    study = Study(sources, {"A": algorithm}, folds=2)
    if where == "set":
        object.__setattr__(study.sets["one"], "load", lambda *args: interrupted())
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path)
    assert n_finished(tmp_path) == 0


def test_what_classifiers_print_or_read_does_not_disturb_the_study(sets):
    study = Study({"one": sets["one"]}, {"A": odd_classifiers.Odd("prints")}, folds=2)
    assert len(run_study(study)) == 8


def test_what_cannot_be_pickled_is_named(sets):
    lock = odd_classifiers.Frequent(seconds=threading.Lock())
    with pytest.raises(ValueError, match="cannot be sent to a worker process: TypeError.*lock"):
        run_study(Study(sets, {"A": lock}, folds=2))
