"""The memory of predictions, and work in several threads."""

import threading
import time
import tracemalloc

import pytest
from sklearn import config_context
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier
from pairmend._utils.computing import in_threads


@pytest.mark.parametrize(
    ("base", "n_rows", "n_labels", "memory"), [(GaussianNB(), 3000, 8, 3), (None, 600, 100, 16)]
)
def test_memory_of_prediction_is_bounded(rng, base, n_rows, n_labels, memory):
    X, Y = rng.rand(n_rows, 4), rng.rand(n_rows, n_labels) < 0.15
    clf = CorrectedPairwiseClassifier(base, random_state=0).fit(X, Y)
    clf.predict(X[:5])
    tracemalloc.start()
    with config_context(working_memory=memory):
        clf.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All pairs of all rows and their confusion matrices would take 3.8 and 136 MiB.
    assert peak < memory * 2**20


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_threads_work_at_the_same_time_and_end_after_an_error(error):
    together, begun = threading.Barrier(3, timeout=30), []
    in_threads(lambda _: together.wait(), range(3), 3)  # times out if one waits for another

    def work(item):
        begun.append(item)
        time.sleep(0.001)
        if item == 4:
            raise error

    with pytest.raises(error):
        in_threads(work, range(1000), 2)
    assert sorted(begun) == list(range(len(begun)))
    assert len(begun) < 1000
