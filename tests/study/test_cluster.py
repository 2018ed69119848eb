"""A study on a Dask cluster gives what it gives here, whatever happens to workers."""

import os
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import odd_classifiers
from pairmend import PairwiseClassifier
from pairmend.cli import main
from pairmend.study import FailedTasksWarning, Study, read_study, run_study
from pairmend.study.cluster import check_workers
from pairmend.study.environment import versions

TASK = ["set", "repeat", "fold", "algorithm", "status", "seed", "fitted_by", "error"]


def test_it_gives_what_a_local_run_gives(study, cluster, tmp_path):
    rows = run_study(study, tmp_path / "there", dask=cluster)
    pd.testing.assert_frame_equal(rows, run_study(study, tmp_path / "here"))
    there, here = (read_study(tmp_path / place).tasks for place in ("there", "here"))
    pd.testing.assert_frame_equal(there[TASK], here[TASK])
    assert not (tmp_path / "there" / ".shelf").exists()


def test_sparse_sets_and_sets_with_categories_travel(small_set, cluster):
    X, Y = small_set
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = pd.Categorical(np.where(X[:, 0] > X[:, 0].mean(), "much", "little"))
    sets = {"sparse": (sparse.csr_array(np.where(X > 8, X, 0)), Y), "frame": (frame, Y)}
    study = Study(sets, {"LPW": PairwiseClassifier()}, folds=2)
    pd.testing.assert_frame_equal(run_study(study, dask=cluster), run_study(study))


def test_workers_killed_in_the_middle_cost_nothing(sets, cluster, tmp_path):
    study = Study(sets, {"slow": odd_classifiers.Frequent(seconds=0.1)}, folds=6)
    victims = iter(cluster.run(os.getpid).values())

    def kill(step):
        if step.outcome is not None and step.n_done in (2, 5):
            os.kill(next(victims), signal.SIGKILL)

    rows = run_study(study, dask=cluster, progress=kill)
    assert next(victims, None) is None, "nobody was killed"
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_a_job_that_kills_its_workers_fails_and_takes_no_other_with_it(sets, cluster, tmp_path):
    algorithms = {"deadly": odd_classifiers.DeadlyInTheEnd(), "good": odd_classifiers.Frequent()}
    study = Study({"one": sets["one"]}, algorithms, folds=2)
    with pytest.warns(FailedTasksWarning, match="2 of 4 tasks failed.*died each time"):
        rows = run_study(study, dask=cluster)
    expected = run_study(Study({"one": sets["one"]}, {"good": algorithms["good"]}, folds=2))
    pd.testing.assert_frame_equal(rows, expected)


def test_a_task_over_the_time_limit_fails_and_its_worker_is_restarted(sets, cluster):
    algorithms = {
        "hangs": odd_classifiers.Hanging("fit"),
        "good": odd_classifiers.Frequent(),
        "predicts": odd_classifiers.Hanging("predict"),
        "predicts for ever": odd_classifiers.Hanging("predict", late=1),
        "predicts, too": odd_classifiers.Hanging("predict", late=0),
    }
    study = Study({"one": sets["one"]}, algorithms, folds=2, time_limit=3)
    with pytest.warns(FailedTasksWarning, match="4 of 10 tasks failed.*time limit of 3 seconds"):
        rows = run_study(study, dask=cluster)
    assert set(rows.algorithm) == {"good", "predicts", "predicts, too"}

    def is_occupied():
        from pairmend.study.cluster import _BY_ITSELF

        return _BY_ITSELF.locked()

    cluster.wait_for_workers(2, timeout=60)
    assert not any(cluster.run(is_occupied).values()), "a process still has a batch"


def test_a_process_does_one_batch_at_a_time(sets):
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    study = Study(sets, {"global": odd_classifiers.Odd("global", seconds=0.02)}, folds=5)
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=4, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        rows = run_study(study, dask=client)
        with pytest.raises(ValueError, match="a time limit needs workers with a nanny"):
            run_study(replace(study, time_limit=3), dask=client)
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_a_cluster_that_stays_without_workers_is_given_up(sets, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    monkeypatch.setattr("pairmend.study.cluster.PATIENCE", 0.1)
    monkeypatch.setattr("pairmend.study.cluster.WITHOUT_WORKERS", 0.5)
    study = Study(sets, {"slow": odd_classifiers.Frequent(seconds=0.1)}, folds=3)
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):

        def send_home(step):
            if step.outcome is not None:
                local.scale(0)

        with pytest.raises(ConnectionError, match="no worker for .* What was finished is kept"):
            run_study(study, tmp_path, dask=client, progress=send_home)
        assert 0 < len(read_study(tmp_path).tasks) < 6
        local.scale(1)
        rows = run_study(study, tmp_path, dask=client)
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_a_task_that_fails_is_an_outcome(sets, cluster, tmp_path):
    bomb = tmp_path / "bomb"
    bomb.touch()
    study = Study({"one": sets["one"]}, {"bad": odd_classifiers.Failing(str(bomb))}, folds=2)
    with pytest.warns(FailedTasksWarning, match="on purpose"):
        run_study(study, tmp_path / "out", dask=cluster)
    assert "fit" in read_study(tmp_path / "out").tasks.traceback[0]
    bomb.unlink()
    assert len(run_study(study, tmp_path / "out", dask=cluster)) == 2 * 4


def test_the_command_takes_an_address(cluster, tmp_path, capsys):
    out, address = tmp_path / "out", cluster.scheduler.address
    words = ["study", "--sets", "simplehc", "--folds", "2", "--dask", address, "--out", str(out)]
    assert main(words) == 0
    assert len(read_study(out).tasks) == 2 * 4
    with pytest.raises(SystemExit):
        main([*words, "--jobs", "2"])
    assert "not allowed with" in capsys.readouterr().err
    assert main(["study", "--sets", "simplehc", "--dask", "nowhere", "--out", str(out)]) == 2
    assert "no Dask scheduler answers at 'nowhere'" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_an_address_where_nobody_answers_is_named_soon(address, study, tmp_path):
    pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    started = time.monotonic()
    with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}'"):
        run_study(study, tmp_path / "out", dask=address)
    assert time.monotonic() - started < 20
    assert not (tmp_path / "out").exists()


def test_workers_that_could_give_other_results_are_refused():
    def fail(function):
        raise ModuleNotFoundError("No module named 'pairmend'")

    old = {"tcp://10.0.0.1:1": versions(), "tcp://10.0.0.2:1": {**versions(), "numpy": "0.0.1"}}
    with pytest.raises(RuntimeError, match=r"10.0.0.2:1 has numpy 0.0.1, but here there is numpy"):
        check_workers(SimpleNamespace(run=lambda function: old))
    with pytest.raises(RuntimeError, match="No module named 'pairmend'. They need pairmend"):
        check_workers(SimpleNamespace(run=fail))


def test_what_is_no_cluster_is_refused(study):
    pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    with pytest.raises(TypeError, match="address of a scheduler or a distributed.Client, got 3"):
        run_study(study, dask=3)
    with pytest.raises(ValueError, match="jobs or dask, not both"):
        run_study(study, dask="tcp://127.0.0.1:9", jobs=2)


def test_without_dask_the_cure_is_named(study, monkeypatch):
    monkeypatch.setattr(
        "pairmend.study.requirements.find_spec", lambda name: None if name[0] == "d" else name
    )
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[dask\]'"):
        run_study(study, dask="tcp://127.0.0.1:9")
