"""Weights of pairs by information theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from pairmend.kernels.information import information, weigh

tables = arrays(np.int64, (2, 2), elements=st.integers(0, 50)).filter(lambda table: table.any())


@given(tables)
def test_information_is_what_the_decision_leaves_known(table):
    sizes = table.sum(axis=0)
    left = sum(entropy(table[:, h], base=2) * sizes[h] for h in range(2) if sizes[h]) / sizes.sum()
    # Scale, names of labels, and right and wrong, do not matter.
    for same in (table * 0.3, table[::-1], table[:, ::-1]):
        assert information(same) == pytest.approx(1 - left, abs=1e-12)


def test_where_nothing_is_known_a_pair_weighs_nothing():
    nothing = np.zeros((3, 2, 2))
    np.testing.assert_array_equal(information(nothing), 0)


@given(arrays(float, (6,), elements=st.floats(0, 1)), arrays(float, (6,), elements=st.floats(0, 1)))
def test_weighted_ballots_decide_like_their_weighted_mean(ballots, weights):
    by_sum = weigh(ballots, weights).mean() - 0.5
    lead = weights @ (ballots - 0.5)
    assert by_sum == pytest.approx(lead / 6, abs=1e-15)
    # The other label of each pair gets the complement.
    np.testing.assert_allclose(weigh(1 - ballots, weights), 1 - weigh(ballots, weights), atol=1e-15)
