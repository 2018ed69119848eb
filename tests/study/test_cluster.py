"""Studies on a Dask cluster have the results of local runs, also when workers die."""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import odd_classifiers
import study_kills
from pairmend import PairwiseClassifier
from pairmend.cli import main
from pairmend.study import FailedTasksWarning, Study, read_study, run_study
from pairmend.study.objects import versions

TASK = ["set", "repeat", "fold", "algorithm", "status", "seed", "fitted_by", "error"]

# Local runs, with which the cluster's are compared.
pytestmark = pytest.mark.usefixtures("in_process")


def test_results_equal_those_of_a_local_run(study, cluster, tmp_path):
    X, Y = study.sets["one"].data.X, study.sets["one"].data.Y
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = pd.Categorical(np.where(X[:, 0] > X[:, 0].mean(), "much", "little"))
    others = {"sparse": (sparse.csr_array(np.where(X > 8, X, 0)), Y), "frame": (frame, Y)}
    for each in (study, Study(others, {"LPW": PairwiseClassifier()}, folds=2)):
        there, here = (tmp_path / f"{place}-{len(each.algorithms)}" for place in ("there", "here"))
        pd.testing.assert_frame_equal(run_study(each, there, dask=cluster), run_study(each, here))
        pd.testing.assert_frame_equal(read_study(there).tasks[TASK], read_study(here).tasks[TASK])


def test_tasks_of_killed_workers_are_repeated(sets, cluster):
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
        "deadly": odd_classifiers.Deadly(n_rows=39, pause=0.5),
        "good": odd_classifiers.Frequent(),
    }
    with pytest.warns(FailedTasksWarning, match="1 of 4 tasks failed.*KilledWorker"):
        rows = run_study(Study(odd_set, algorithms, folds=2), dask=cluster)
    assert len(rows[rows.algorithm == "deadly"]) == 4
    expected = run_study(Study(odd_set, {"good": algorithms["good"]}, folds=2))
    found = rows[rows.algorithm == "good"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)


@pytest.fixture
def local():
    """A client of a scheduler and a worker with four threads in this process."""
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=4, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_process_performs_one_batch_at_a_time(sets, local):
    study = Study(sets, {"global": odd_classifiers.Odd("global", seconds=0.02)}, folds=5)
    pd.testing.assert_frame_equal(run_study(study, dask=local), run_study(study))
    with pytest.raises(ValueError, match="a time limit needs local worker processes"):
        run_study(replace(study, time_limit=3), dask=local)


def test_a_lost_cluster_is_an_error(sets, local, tmp_path):
    def close(step):
        if step.outcome is not None:
            local.close()

    study = Study(sets, {"slow": odd_classifiers.Frequent(seconds=0.1)}, folds=5)
    with pytest.raises(ConnectionError, match="cluster was lost. Finished tasks are stored"):
        run_study(study, tmp_path, dask=local, progress=close)
    assert 0 < len(read_study(tmp_path).tasks) < 10
    pd.testing.assert_frame_equal(run_study(study, tmp_path), run_study(study))


def test_the_option_dask_is_the_address_of_a_scheduler(cluster, tmp_path, no_report):
    file, out, address = tmp_path / "study.toml", tmp_path / "out", cluster.scheduler.address
    file.write_text(study_kills.STUDY)
    assert main(["study", str(file), "--dask", address, "--out", str(out)]) == 0
    assert len(read_study(out).tasks) == study_kills.N_TASKS


def test_other_addresses_and_versions_are_errors(study, tmp_path):
    pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    with pytest.raises(OSError, match="tcp://127.0.0.1:9"):
        run_study(study, tmp_path / "out", dask="tcp://127.0.0.1:9")
    assert not (tmp_path / "out").exists()
    with pytest.raises(OSError, match="the Dask cluster has no workers"):
        run_study(study, dask=SimpleNamespace(run=lambda function: {}))
    old = {"tcp://10.0.0.1:1": versions(), "tcp://10.0.0.2:1": {**versions(), "numpy": "0.0.1"}}
    with pytest.raises(RuntimeError, match=r"other versions: {.tcp://10.0.0.2:1'.*0.0.1"):
        run_study(study, dask=SimpleNamespace(run=lambda function: old))
