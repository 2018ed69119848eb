"""Chunks of rows, blocks of pairs, and work in several threads."""

import threading
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

from pairmend import CorrectedPairwiseClassifier
from pairmend._utils.computing import (
    BLOCK_ARRAYS,
    FLOAT_BYTES,
    in_threads,
    pair_blocks,
    row_chunks,
    thread_count,
)
from pairmend.kernels.pairs import pairs_of

MIB = 2**20


@given(st.integers(2, 60), st.integers(1, 500), st.integers(1, 100), st.floats(1e-4, 1))
def test_chunks_and_blocks_cover_everything_within_the_budget(n_labels, n_rows, row_size, memory):
    with config_context(working_memory=memory):
        chunks = list(row_chunks(n_rows, row_size))
        blocks = list(pair_blocks(n_labels, n_rows))
    assert [row for c in chunks for row in range(n_rows)[c]] == list(range(n_rows))
    assert [label for b in blocks for label in range(n_labels)[b]] == list(range(n_labels - 1))
    for chunk in chunks:
        size = chunk.stop - chunk.start
        assert size == 1 or size * row_size * FLOAT_BYTES <= memory * MIB / 2
    for block in blocks:
        pairs = pairs_of(block, n_labels)
        cells = (pairs.stop - pairs.start) * n_rows * BLOCK_ARRAYS
        assert block.stop - block.start == 1 or cells * FLOAT_BYTES <= memory * MIB / 2


@pytest.mark.parametrize(("base", "n_labels", "memory"), [(GaussianNB(), 8, 3), (None, 25, 16)])
def test_memory_of_prediction_is_bounded(rng, base, n_labels, memory):
    X, Y = rng.rand(3000, 4), rng.rand(3000, n_labels) < 0.15
    clf = CorrectedPairwiseClassifier(base, random_state=0).fit(X, Y)
    clf.predict(X[:5])
    tracemalloc.start()
    with config_context(working_memory=memory):
        clf.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All pairs of all rows and their confusion matrices would take 3.8 and 34 MiB.
    assert peak < memory * MIB


def squares_in_threads(n, n_threads=4):
    done = {}
    in_threads(lambda i: done.__setitem__(i, i * i), range(n), n_threads)
    return [done[i] for i in range(n)]


def test_every_item_is_done_once_and_calls_may_be_nested():
    for n_threads in (1, 2, 100):
        for n_items in (0, 1, 7):
            assert squares_in_threads(n_items, n_threads) == [i * i for i in range(n_items)]
    together = threading.Barrier(3, timeout=30)
    in_threads(lambda _: together.wait(), range(3), 3)  # times out if they run one after the other
    done = []
    in_threads(lambda i: done.append(squares_in_threads(5)), range(70), 70)
    assert done == [[0, 1, 4, 9, 16]] * 70


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_after_all_threads_have_ended(error):
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.01)
        if item == 1:
            raise error

    with pytest.raises(error):
        in_threads(work, range(1000), 2)
    n_begun = len(begun)
    assert n_begun < 1000
    assert squares_in_threads(3) == [0, 1, 4]
    assert len(begun) == n_begun


def test_default_number_of_threads_is_that_of_blas():
    for limit in (1, 2):
        with threadpool_limits(limits=limit):
            assert (thread_count(None), thread_count(3)) == (limit, 3)
            assert thread_count(3, nanoseconds=1e3) == 1
