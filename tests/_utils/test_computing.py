"""Chunks of rows, blocks of pairs, and work in several threads."""

import os
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend._utils import computing
from pairmend._utils.computing import in_threads, pair_blocks, row_chunks, thread_count
from pairmend.kernels.pairs import pairs_between, pairs_of
from pairmend.pairwise.learners.generic import GenericPairLearner

MIB = 2**20


@given(st.integers(2, 60), st.integers(1, 500), st.integers(1, 100), st.floats(1e-4, 1))
def test_chunks_and_blocks_cover_everything_within_the_budget(n_labels, n_rows, row_size, memory):
    with config_context(working_memory=memory):
        chunks = list(row_chunks(n_rows, row_size))
        blocks = list(pair_blocks(n_labels, n_rows))
    assert [row for c in chunks for row in range(c.start, c.stop)] == list(range(n_rows))
    for chunk in chunks:
        size = chunk.stop - chunk.start
        assert size == 1 or size * row_size * computing.FLOAT_BYTES <= memory * MIB / 2
    assert [label for b in blocks for label in range(b.start, b.stop)] == list(range(n_labels - 1))
    for block in blocks:
        pairs = pairs_of(block, n_labels)
        cells = (pairs.stop - pairs.start) * n_rows * computing.BLOCK_ARRAYS
        assert block.stop - block.start == 1 or cells * computing.FLOAT_BYTES <= memory * MIB / 2


@pytest.mark.parametrize("kind", [PairwiseClassifier, CorrectedPairwiseClassifier])
def test_prediction_uses_chunks_of_rows_and_blocks_of_pairs(kind, small_set, monkeypatch):
    X, Y = small_set
    clf = kind(GaussianNB(), random_state=0).fit(X, Y)
    whole = clf.predict_proba(X)
    seen = []
    original = GenericPairLearner.supports

    def recording(self, X, blocks):
        blocks = list(blocks)  # slices of the first labels of pairs
        seen.extend((len(X), len(pairs_between(block, 4)[0])) for block in blocks)
        return original(self, X, blocks)

    monkeypatch.setattr(GenericPairLearner, "supports", recording)
    with config_context(working_memory=0.001):
        np.testing.assert_allclose(clf.predict_proba(X), whole, atol=1e-12)
    assert len(seen) > 6
    assert max(rows for rows, _ in seen) < len(X)
    assert max(pairs for _, pairs in seen) < 6
    assert sum(rows * pairs for rows, pairs in seen) == len(X) * 6


@pytest.mark.parametrize(("base", "n_labels", "memory"), [(GaussianNB(), 14, 8), (None, 25, 16)])
def test_memory_of_prediction_is_bounded(rng, base, n_labels, memory):
    X, Y = rng.rand(3000, 4), rng.rand(3000, n_labels) < 0.15
    clf = CorrectedPairwiseClassifier(base, random_state=0).fit(X, Y)
    clf.predict(X)
    tracemalloc.start()
    with config_context(working_memory=memory):
        clf.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All pairs of all rows and their confusion matrices would take 10 and 34 MiB.
    assert peak < memory * MIB


def squares_in_threads(n, n_threads=4):
    done = {}
    in_threads(lambda i: done.__setitem__(i, i * i), range(n), n_threads)
    return [done[i] for i in range(n)]


@pytest.mark.parametrize("n_threads", [1, 2, 100])
@pytest.mark.parametrize("n_items", [0, 1, 7])
def test_every_item_is_done(n_threads, n_items):
    assert squares_in_threads(n_items, n_threads) == [i * i for i in range(n_items)]


def test_threads_run_at_the_same_time_and_may_be_nested():
    together = threading.Barrier(3, timeout=30)
    in_threads(lambda _: together.wait(), range(3), 3)  # times out if they run one after the other
    done = []
    in_threads(lambda i: done.append(squares_in_threads(5)), range(70), 70)
    assert done == [[0, 1, 4, 9, 16]] * 70


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("in_main_thread", [False, True])
def test_an_error_is_raised_after_all_threads_have_ended(error, in_main_thread):
    begun, go_on = [], threading.Event()

    def work(item):
        begun.append(item)
        if (threading.current_thread() is threading.main_thread()) is in_main_thread:
            go_on.set()
            raise error
        assert go_on.wait(30)
        time.sleep(0.01)

    with pytest.raises(error):
        in_threads(work, range(1000), 2)
    n_begun = len(begun)
    assert n_begun < 1000
    assert squares_in_threads(3) == [0, 1, 4]
    assert len(begun) == n_begun


def test_work_is_done_if_no_thread_can_start(monkeypatch):
    def raise_no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", raise_no_thread)
    assert squares_in_threads(4) == [0, 1, 4, 9]


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_predictions_are_equal_with_all_backends_of_joblib(backend, rng, monkeypatch):
    X, Y = rng.rand(300, 20), rng.rand(300, 6) < 0.3
    clf = CorrectedPairwiseClassifier(n_jobs=2, random_state=0).fit(X, Y)
    expected = clf.pair_corrected(X)
    monkeypatch.setattr(computing, "WORTHWHILE_THREADS", 1.0)
    jobs = (delayed(clf.pair_corrected)(X) for _ in range(4))
    for found in Parallel(n_jobs=2, backend=backend)(jobs):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


AFTER_THE_MAIN_THREAD = """
import threading, time
import sklearn  # as with every classifier: older versions of threadpoolctl find scipy's BLAS only
from pairmend._utils.computing import in_threads, thread_count
def work():
    threading.main_thread().join()
    time.sleep(0.1)  # the interpreter has begun to shut down
    done = []
    in_threads(done.append, range(5), 3)
    assert sorted(done) == [*range(5)]
    print("done", thread_count())
threading.Thread(target=work).start()
"""
IN_A_DESTRUCTOR = """
import time
from pairmend._utils.computing import in_threads, thread_count

class Late:
    def __del__(self, in_threads=in_threads, sleep=time.sleep, n=thread_count()):
        in_threads(lambda item: sleep(0.001), range(20), 2)
        print("done", n)

late = Late()
"""


@pytest.mark.parametrize("n_threads", ["1", "2"])
@pytest.mark.parametrize("program", [AFTER_THE_MAIN_THREAD, IN_A_DESTRUCTOR])
def test_work_while_the_interpreter_shuts_down_ends(program, n_threads):
    environment = {**os.environ, "OMP_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": n_threads}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == (f"done {n_threads}\n", "")


def test_default_number_of_threads_is_that_of_blas():
    with threadpool_limits(limits=1):
        assert thread_count(None) == 1
        assert thread_count(3) == 3
    with threadpool_limits(limits=2):
        assert thread_count(None) == 2
