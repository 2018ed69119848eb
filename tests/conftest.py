"""Settings and data that many tests share."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import make_multilabel_classification

import chromium
from in_process import performed_in_process

settings.register_profile("pairmend", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("pairmend")

SHARED = Path(__file__).parents[2] / "shared"

# These bound the memory of processes, for which other systems have no limits.
collect_ignore = (
    []
    if sys.platform == "linux"
    else [
        "bounded_reading.py",
        "datasets/test_bombs.py",
        "model_forgeries.py",
        "persistence/test_attacks.py",
        "test_soak.py",
    ]
)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data and published tables, which not every machine has."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the real data sets in {SHARED}")
    return SHARED


@pytest.fixture
def rng() -> np.random.RandomState:
    return np.random.RandomState(0)


@pytest.fixture(scope="session")
def small_set() -> tuple[np.ndarray, np.ndarray]:
    """80 rows, 6 features, 4 labels, with rows that carry none or all of them."""
    X, Y = make_multilabel_classification(80, n_features=6, n_classes=4, n_labels=2, random_state=3)
    X.flags.writeable = Y.flags.writeable = False
    return X, Y


@pytest.fixture
def in_process():
    """Perform the batches of local studies in this process."""
    with performed_in_process():
        yield


@pytest.fixture
def no_report(monkeypatch):
    """Write no report, which takes seconds."""
    monkeypatch.setattr("pairmend.report.write_report", lambda out: out / "report.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium; tests that use it are marked as `chromium.needed`."""
    driver = chromium.start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def cluster(started_cluster):
    """A client of two worker processes, which are started again when they die."""
    started_cluster.wait_for_workers(2, timeout=60)
    return started_cluster


@pytest.fixture(scope="module")
def started_cluster():
    dask = pytest.importorskip("dask", reason="needs pip install 'pairmend[dask]'")
    distributed = pytest.importorskip("distributed", reason="needs pip install 'pairmend[dask]'")
    # One death of a worker is forgiven, not three: starting workers takes time.
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        # On a busy machine it takes long, and is no reason to do without the worker.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client
