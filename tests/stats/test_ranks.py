"""Ranks, ties and rounding error."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from pairmend.stats import average_ranks
from pairmend.stats.ranks import levels, rank_sums, ranks_within_sets, signed_levels


def rank_by_counting(row):
    """1 + how many are less, plus half of the others that are equal."""
    return [1 + sum(b < a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row]


@given(data=st.data())
def test_ranks_equal_those_of_counting(loss_tables, data):
    losses = data.draw(loss_tables)
    expected = np.mean([rank_by_counting(row) for row in losses.tolist()], axis=0)
    np.testing.assert_allclose(average_ranks(losses), expected)
    np.testing.assert_allclose(average_ranks(losses), pd.DataFrame(losses).rank(axis=1).mean())


def test_rounding_error_decides_no_rank():
    losses = np.array([[0.1 + 0.2, 0.3, 0.2], [0.7, 0.6999999999999999, 0.9]])
    assert losses[0, 0] != losses[0, 1]
    assert average_ranks(losses).tolist() == [2.0, 2.0, 2.0]


def test_small_differences_above_rounding_error_count():
    assert average_ranks([[1.0, 1.0 + 1e-9]]).tolist() == [1.0, 2.0]
    assert average_ranks([[1e-20, 2e-20]]).tolist() == [1.0, 2.0]


@given(data=st.data())
def test_levels_keep_order_and_equality(loss_tables, data):
    values = data.draw(loss_tables).astype(float)
    noisy = values * 0.1 + data.draw(st.sampled_from([0, 1e-16, -1e-16])) * values
    whole = levels(noisy, np.abs(noisy).max(axis=1, keepdims=True))
    np.testing.assert_array_equal(rankdata(whole, axis=1), rankdata(values, axis=1))
    assert (whole.min(axis=1) == 0).all()


def test_rounding_error_does_not_break_ties_of_differences(thousandths, published):
    for criterion in published:
        exact, printed = thousandths[criterion], published[criterion]
        for first, second in [("LPW", "FCM"), ("FCM", "FCM-W"), ("FCM-W", "FCM-O")]:
            whole = signed_levels(printed[first].to_numpy(), printed[second].to_numpy())
            expected = (exact[first] - exact[second]).to_numpy()
            np.testing.assert_array_equal(np.sign(whole), np.sign(expected))
            np.testing.assert_array_equal(rankdata(abs(whole)), rankdata(abs(expected)))


def test_rank_sums_add_up():
    ranks, less, more = rank_sums(np.array([3, -1, 0, 0, 2, -2]))
    assert less + more == ranks.sum() == 4 * 5 / 2
    assert (less, more) == (1 + 2.5, 4 + 2.5)


def test_names_are_kept_and_input_is_not_modified():
    losses = pd.DataFrame({"b": [1, 2], "a": [2, 1]}, index=["x", "y"])
    before = losses.copy()
    assert average_ranks(losses).to_dict() == {"b": 1.5, "a": 1.5}
    pd.testing.assert_frame_equal(losses, before)


@pytest.mark.parametrize("values", [np.zeros((3, 4)), np.full((2, 2), 7.5)])
def test_equal_everywhere(values):
    assert (ranks_within_sets(values) == (values.shape[1] + 1) / 2).all()
