"""Studies on a Dask cluster have the results of local runs, also when workers die."""

import os
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
from pairmend.study.plan import versions

TASK = ["set", "repeat", "fold", "algorithm", "status", "seed", "fitted_by", "error"]

# Local runs, with which the cluster's are compared.
pytestmark = pytest.mark.usefixtures("in_process")


def test_results_equal_those_of_a_local_run(study, cluster, tmp_path):
    rows = run_study(study, tmp_path / "there", dask=cluster)
    pd.testing.assert_frame_equal(rows, run_study(study, tmp_path / "here"))
    there, here = (read_study(tmp_path / place).tasks for place in ("there", "here"))
    pd.testing.assert_frame_equal(there[TASK], here[TASK])
    assert not (tmp_path / "there" / ".cache").exists()


def test_sparse_sets_and_sets_with_categories_can_be_sent(small_set, cluster):
    X, Y = small_set
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = pd.Categorical(np.where(X[:, 0] > X[:, 0].mean(), "much", "little"))
    sets = {"sparse": (sparse.csr_array(np.where(X > 8, X, 0)), Y), "frame": (frame, Y)}
    study = Study(sets, {"LPW": PairwiseClassifier()}, folds=2)
    pd.testing.assert_frame_equal(run_study(study, dask=cluster), run_study(study))


def test_tasks_of_killed_workers_are_repeated(sets, cluster, tmp_path):
    study = Study(sets, {"slow": odd_classifiers.Frequent(seconds=0.1)}, folds=6)
    victims = iter(cluster.run(os.getpid).values())

    def kill(step):
        if step.outcome is not None and step.n_done in (2, 5):
            os.kill(next(victims), odd_classifiers.KILL)

    rows = run_study(study, dask=cluster, progress=kill)
    assert next(victims, None) is None, "no worker was killed"
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_a_batch_that_kills_its_workers_fails_alone(odd_set, cluster):
    algorithms = {
        "deadly": odd_classifiers.DeadlyInTheEnd(n_rows=39),
        "good": odd_classifiers.Frequent(),
    }
    with pytest.warns(FailedTasksWarning, match="1 of 4 tasks failed.*died at each attempt"):
        rows = run_study(Study(odd_set, algorithms, folds=2), dask=cluster)
    assert len(rows[rows.algorithm == "deadly"]) == 4
    expected = run_study(Study(odd_set, {"good": algorithms["good"]}, folds=2))
    found = rows[rows.algorithm == "good"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)


def test_a_process_performs_one_batch_at_a_time(sets):
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    study = Study(sets, {"global": odd_classifiers.Odd("global", seconds=0.02)}, folds=5)
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=4, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        rows = run_study(study, dask=client)
        with pytest.raises(ValueError, match="a time limit needs local worker processes"):
            run_study(replace(study, time_limit=3), dask=client)
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_a_cluster_without_workers_is_an_error_after_a_while(sets, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    monkeypatch.setattr("pairmend.study.cluster.REPLY_TIMEOUT", 0.1)
    monkeypatch.setattr("pairmend.study.cluster.WORKER_TIMEOUT", 0.5)
    study = Study(sets, {"slow": odd_classifiers.Frequent(seconds=0.1)}, folds=3)
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):

        def remove_workers(step):
            if step.outcome is not None:
                local.scale(0)

        with pytest.raises(ConnectionError, match="no worker for .* Finished tasks are stored"):
            run_study(study, tmp_path, dask=client, progress=remove_workers)
        assert 0 < len(read_study(tmp_path).tasks) < 6
        local.scale(1)
        rows = run_study(study, tmp_path, dask=client)
    pd.testing.assert_frame_equal(rows, run_study(study))


def test_failed_tasks_are_stored_and_repeated(sets, cluster, tmp_path):
    marker = tmp_path / "marker"
    marker.touch()
    study = Study({"one": sets["one"]}, {"bad": odd_classifiers.Failing(str(marker))}, folds=2)
    with pytest.warns(FailedTasksWarning, match="on purpose"):
        run_study(study, tmp_path / "out", dask=cluster)
    assert "fit" in read_study(tmp_path / "out").tasks.traceback[0]
    marker.unlink()
    assert len(run_study(study, tmp_path / "out", dask=cluster)) == 2 * 4


def test_the_option_dask_is_the_address_of_a_scheduler(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pairmend.report.write_report", lambda out: out / "report.html")
    file, out, address = tmp_path / "study.toml", tmp_path / "out", cluster.scheduler.address
    file.write_text(
        'folds = 2\n[algorithms.A]\nclass = "odd_classifiers.Frequent"\n'
        '[sets.one]\nfunction = "pairmend.datasets.make_hypercubes"\nparams = { n_samples = 40 }\n'
    )
    words = ["study", str(file), "--dask", address, "--out", str(out)]
    assert main(words) == 0
    assert len(read_study(out).tasks) == 2
    assert main([*words, "--jobs", "2"]) == 2
    assert "give jobs or dask, not both" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_an_address_without_scheduler_is_an_error(address, study, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    monkeypatch.setattr("pairmend.study.cluster.REPLY_TIMEOUT", 1.0)
    with pytest.raises(ConnectionError, match=f"no Dask scheduler was found at '{address}'"):
        run_study(study, tmp_path / "out", dask=address)
    assert not (tmp_path / "out").exists()


def test_workers_with_other_versions_are_refused():
    def fail(function):
        raise ModuleNotFoundError("No module named 'pairmend'")

    old = {"tcp://10.0.0.1:1": versions(), "tcp://10.0.0.2:1": {**versions(), "numpy": "0.0.1"}}
    with pytest.raises(RuntimeError, match=r"10.0.0.2:1 has numpy 0.0.1 instead of"):
        check_workers(SimpleNamespace(run=lambda function: old))
    with pytest.raises(RuntimeError, match="No module named 'pairmend'. Install pairmend"):
        check_workers(SimpleNamespace(run=fail))


def test_dask_must_be_an_address_or_a_client(study):
    pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    with pytest.raises(TypeError, match="address of a scheduler or a distributed.Client, got 3"):
        run_study(study, dask=3)
    with pytest.raises(ValueError, match="jobs or dask, not both"):
        run_study(study, dask="tcp://127.0.0.1:9", jobs=2)


def test_without_dask_the_message_names_the_extra(study, monkeypatch):
    monkeypatch.setattr(
        "pairmend.study.cluster.find_spec", lambda name: None if name[0] == "d" else name
    )
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[dask\]'"):
        run_study(study, dask="tcp://127.0.0.1:9")
