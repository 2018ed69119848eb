import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend._utils.computing import BLOCK_ARRAYS, FLOAT_BYTES, pair_blocks, row_chunks
from pairmend.kernels.pairs import pairs_between, pairs_of
from pairmend.pairwise.learners.generic import GenericPairLearner

MIB = 2**20


@given(st.integers(1, 500), st.integers(1, 100), st.floats(1e-4, 1))
def test_chunks_cover_all_rows_within_the_budget(n_rows, row_size, memory):
    with config_context(working_memory=memory):
        chunks = list(row_chunks(n_rows, row_size))
    assert [row for c in chunks for row in range(c.start, c.stop)] == list(range(n_rows))
    for chunk in chunks:
        size = chunk.stop - chunk.start
        assert size == 1 or size * row_size * FLOAT_BYTES <= memory * MIB / 2


@given(st.integers(2, 60), st.integers(1, 40), st.floats(1e-4, 1))
def test_blocks_cover_all_pairs_within_the_budget(n_labels, n_rows, memory):
    with config_context(working_memory=memory):
        blocks = list(pair_blocks(n_labels, n_rows))
    assert [label for b in blocks for label in range(b.start, b.stop)] == list(range(n_labels - 1))
    for block in blocks:
        pairs = pairs_of(block, n_labels)
        cost = (pairs.stop - pairs.start) * n_rows * FLOAT_BYTES * BLOCK_ARRAYS
        assert block.stop - block.start == 1 or cost <= memory * MIB / 2


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
