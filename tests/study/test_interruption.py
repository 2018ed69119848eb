"""Interrupted studies keep all finished tasks, and workers that die or hang are replaced."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import odd_classifiers
import study_kills
from in_process import performed_in_process
from pairmend.study import FailedTasksWarning, Study, load_study, read_study, run_study


@pytest.fixture(scope="module")
def study_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(study_kills.STUDY)
    return path


@pytest.fixture(scope="module")
def whole(study_file, tmp_path_factory):
    """The results folder of a study without interruption."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    with performed_in_process():
        run_study(load_study(study_file), folder)
    return folder


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc of Linux")


@needs_proc
def test_a_study_continues_after_its_main_process_was_killed_or_interrupted(
    study_file, whole, tmp_path, in_process
):
    dice, out = random.Random(0), tmp_path / "killed"
    for n_tasks in (0, 3):  # before the first result, and between two
        process = study_kills.start(study_file, out, jobs=1)
        study_kills.wait_for(lambda n_tasks=n_tasks: study_kills.n_finished(out) >= n_tasks)
        time.sleep(dice.uniform(0, 0.1 if n_tasks else 1))
        study_kills.kill(process)
    n_killed = study_kills.n_finished(out)
    process = study_kills.start(study_file, out, jobs=1, stderr=subprocess.PIPE, text=True)
    study_kills.wait_for(lambda: study_kills.n_finished(out) > n_killed)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in printed
    assert 3 < study_kills.n_finished(out) < study_kills.N_TASKS, "not interrupted in the middle"
    run_study(load_study(study_file), out)
    study_kills.check_equal(out, whole)
    runs = read_study(out).runs
    assert list(runs.ended != "") == [False] * (len(runs) - 1) + [True]


@needs_proc
def test_killed_workers_are_replaced(study_file, whole, tmp_path):
    out, killed = tmp_path / "out", []

    def kill_worker(step=None):  # the first at its start, the second at work
        if step is None or step.n_done == 5:
            study_kills.wait_for(lambda: study_kills.workers_of(os.getpid()))
            killed.append(study_kills.workers_of(os.getpid())[0])
            os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill_worker)
    thread.start()
    run_study(load_study(study_file), out, progress=kill_worker)
    thread.join()
    assert len(killed) == 2
    study_kills.check_equal(out, whole)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_batch_that_kills_its_worker_is_repeated_and_fails_alone(odd_set, tmp_path, monkeypatch):
    """Also if the worker exits, or leaves child processes, which sleep longer than the test."""
    monkeypatch.setattr("pairmend.study.workers.ATTEMPTS", 2)  # to start fewer workers
    algorithms = {
        "once": odd_classifiers.Deadly(str(tmp_path / "x")),
        "deadly": odd_classifiers.Deadly(n_rows=39),
        "exits": odd_classifiers.Odd("exits at once", n_rows=39),
        "forks": odd_classifiers.Odd("forks and dies", n_rows=39),
    }
    with pytest.warns(FailedTasksWarning, match="3 of 8 tasks failed"):
        rows = run_study(Study(odd_set, algorithms, folds=2), tmp_path / "out")
    sizes = {"once": 8, "deadly": 4, "exits": 4, "forks": 4}
    assert rows.groupby("algorithm").size().to_dict() == sizes
    failed = read_study(tmp_path / "out").tasks.query("status == 'failed'")
    errors = failed.set_index("algorithm").error
    for name, cause in {"deadly": "Killed", "forks": "Killed", "exits": "exit code 0"}.items():
        assert f"died 2 times: {cause}" in errors[name]


def test_a_full_disk_is_an_error_and_earlier_results_are_kept(sets, tmp_path, in_process):
    resource = pytest.importorskip("resource", reason="needs limits of Unix")
    study = Study(sets, {"A": odd_classifiers.Frequent()}, folds=10, repeats=2)
    out, limits = tmp_path / "out", resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(step):
        if step.n_done == 10:  # a file that must not grow is like one on a full disk
            size = (out / "study.sqlite").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))

    try:
        with pytest.raises(OSError, match=r"study.sqlite: .*are stored.*disk full\?"):
            run_study(study, out, progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    kept = read_study(out)
    assert 10 <= len(kept.tasks) < study.n_tasks
    assert len(kept.results) == 4 * len(kept.tasks)
    pd.testing.assert_frame_equal(
        run_study(study, out), run_study(study, tmp_path / "large"), check_like=True
    )


def test_scripts_need_no_guard_and_may_define_classifiers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from odd_classifiers import Frequent\n"
        "from pairmend.study import Criterion, Study, run_study\n"
        "class Mine(Frequent):\n"
        "    pass\n"
        "criteria = {'c': Criterion(lambda truth, predicted: 0.5, 'c')}\n"
        "rows = run_study(Study(['simplehc'], {'A': Mine()}, criteria, folds=2))\n"
        "print(rows.value.tolist())\n"
    )
    command, env = [sys.executable, str(script)], study_kills.environment()
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert ended.stdout == "[0.5, 0.5]\n", ended.stderr


def test_a_task_over_the_time_limit_fails_and_its_worker_is_replaced(odd_set, tmp_path):
    algorithms = {
        "hangs": odd_classifiers.Hanging("fit", n_rows=39),
        "predicts for ever": odd_classifiers.Hanging("predict", n_rows=39, late=1),
        "predicts, too": odd_classifiers.Hanging("predict", n_rows=39, late=0),
    }
    study = Study(odd_set, algorithms, folds=2, time_limit=2)
    shown = []
    with pytest.warns(FailedTasksWarning, match="TimeoutError: the time limit of 2 seconds was"):
        rows = run_study(study, tmp_path, progress=lambda step: shown.append(step.doing))
    assert any("hangs has run for " in doing for doing in shown), "a slow task is not shown"
    sizes = {"hangs": 4, "predicts for ever": 4, "predicts, too": 8}
    assert rows.groupby("algorithm").size().to_dict() == sizes
    failed = read_study(tmp_path).tasks.query("status == 'failed'")
    assert set(failed.algorithm) == {"hangs", "predicts for ever"}


def test_results_do_not_depend_on_worker_processes(sets, algorithms, tmp_path, request):
    """Nor if classifiers use global random numbers, print, and read standard input."""
    for kind in ("global", "prints"):
        algorithms[kind] = odd_classifiers.Odd(kind)
    marker, out = tmp_path / "marker", tmp_path / "out"
    marker.touch()
    algorithms["bad"] = odd_classifiers.Failing(str(marker))
    study = Study(sets, algorithms, folds=2)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    with pytest.warns(FailedTasksWarning, match="4 of 24 tasks failed.*fails on purpose"):
        rows = run_study(study, out, jobs=2)
    assert set(rows.algorithm) == set(algorithms) - {"bad"}
    tasks = read_study(out).tasks
    assert set(tasks[tasks.algorithm == "FCM-O"].fitted_by) == {"FCM"}
    failed = tasks.query("status == 'failed'")
    assert (failed.error == "ArithmeticError: this classifier fails on purpose").all()
    assert failed.traceback.str.contains("odd_classifiers").all()
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    # Failed tasks, and no others, are run again.
    marker.unlink()
    request.getfixturevalue("in_process")
    steps = []
    rows = run_study(study, out, progress=steps.append)
    assert [s.outcome.task.algorithm for s in steps if s.outcome] == ["bad"] * 4
    assert set(read_study(out).tasks.status) == {"done"}
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_workers_end_after_an_error_in_the_main_process(study, monkeypatch):
    def fail(step):
        if step.n_done == 2:
            raise LookupError("on purpose")

    started, popen = [], subprocess.Popen

    def start(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr("pairmend.study.workers.subprocess.Popen", start)
    with pytest.raises(LookupError, match="on purpose") as raised:
        run_study(study, jobs=2, progress=fail)
    assert raised.value.args  # it keeps the frames of the traceback alive
    assert [process.poll() is None for process in started] == [False] * 2
