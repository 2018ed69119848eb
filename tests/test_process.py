"""Settings of the process do not change, also in forks."""

import gc
import logging
import os
import pickle
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn import get_config
from threadpoolctl import threadpool_info, threadpool_limits

from pairmend import CorrectedPairwiseClassifier, MendedClassifier
from pairmend._utils.computing import in_threads, one_blas_thread
from public_classifiers import CLASSIFIERS, data_for, made


def process_state():
    """Return the settings of the process and of its libraries."""
    state = {
        "environment": dict(os.environ),
        "warning filters": list(warnings.filters),
        "floating point errors": np.geterr(),
        "printing of arrays": np.get_printoptions(),
        "random state of numpy": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "random state": random.getstate(),
        "scikit-learn": get_config(),
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "handlers of logging": list(logging.getLogger().handlers),
    }
    if hasattr(os, "sched_getaffinity"):
        state["processors"] = os.sched_getaffinity(0)
    return state


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_settings_of_the_process_do_not_change(name):
    X, y = data_for(name)
    made(name).fit(X, y).predict(X)  # imports modules that are loaded on demand
    before = process_state()
    clf = made(name).fit(X, y)
    clf.predict(X)
    if hasattr(clf, "predict_proba"):
        clf.predict_proba(X)
    after = process_state()
    assert [setting for setting in before if before[setting] != after[setting]] == []


def blas_threads():
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info()
            if lib["user_api"] == "blas"}  # fmt: skip


def test_threads_of_blas_are_restored_after_fits_that_overlap(rng):
    X, Y = rng.rand(100, 10), rng.rand(100, 5) < 0.3
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        classifiers = [MendedClassifier(random_state=0), CorrectedPairwiseClassifier()] * 2
        Parallel(n_jobs=4, backend="threading")(delayed(clf.fit)(X, Y) for clf in classifiers)
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda number: 1 / number, range(3), 2)
        assert blas_threads() == before
        if hasattr(os, "fork"):  # as beside a thread that fits a classifier
            with one_blas_thread():
                child = os.fork()
                if child == 0:
                    os._exit(0 if blas_threads() == before else 1)
                assert os.waitpid(child, 0)[1] == 0


FORKS = """
import os, sys, threading
import numpy as np
from pairmend import CorrectedPairwiseClassifier

rng = np.random.RandomState(0)
X, Y = rng.rand(120, 6), rng.rand(120, 4) < 0.4
clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
expected = clf.predict_proba(X[:20])
sys.setswitchinterval(0.0005)
end = threading.Event()
def predict():
    while not end.is_set():
        clf.predict_proba(X[:20])

threads = [threading.Thread(target=predict) for _ in range(3)]
for thread in threads:
    thread.start()
n_wrong = 0
for _ in range(10):
    child = os.fork()
    if child == 0:
        same = np.array_equal(clf.predict_proba(X[:20]), expected)
        os._exit(0 if same else 1)
    n_wrong += os.waitpid(child, 0)[1] != 0
end.set()
for thread in threads:
    thread.join()
print("wrong:", n_wrong)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_while_other_threads_predict():
    """With one thread of BLAS: OpenBLAS with more does not support forks."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", FORKS]
    ran = subprocess.run(
        command, env={**os.environ, **one}, capture_output=True, text=True, timeout=120
    )  # a hung child
    assert (ran.stdout, ran.stderr) == ("wrong: 0\n", "")
