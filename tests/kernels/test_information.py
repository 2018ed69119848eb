"""Weights of pairs by information theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from pairmend.kernels.confusion import information, weigh

tables = arrays(np.int64, (2, 2), elements=st.integers(0, 50)).filter(lambda table: table.any())


@given(tables)
def test_information_is_one_less_the_conditional_entropy(table):
    sizes = table.sum(axis=0)
    left = sum(entropy(table[:, h], base=2) * sizes[h] for h in range(2) if sizes[h]) / sizes.sum()
    # Scale, order of labels, and order of decisions do not matter.
    for same in (table * 0.3, table[::-1], table[:, ::-1]):
        assert information(same) == pytest.approx(1 - left, abs=1e-12)


def test_empty_confusion_matrix_has_no_information():
    np.testing.assert_array_equal(information(np.zeros((3, 2, 2))), 0)


@given(arrays(float, (6,), elements=st.floats(0, 1)), arrays(float, (6,), elements=st.floats(0, 1)))
def test_sum_of_weighted_votes_decides_as_the_weighted_mean(votes, weights):
    by_sum = weigh(votes, weights).mean() - 0.5
    lead = weights @ (votes - 0.5)
    assert by_sum == pytest.approx(lead / 6, abs=1e-15)
    # Votes for the other label of each pair are complements.
    np.testing.assert_allclose(weigh(1 - votes, weights), 1 - weigh(votes, weights), atol=1e-15)
