"""Nemenyi's test."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.stats import nemenyi

# Demšar (2006), table 5: q of the two-tailed Nemenyi test for 2, 3, … 10 algorithms.
Q = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", Q)
@pytest.mark.parametrize("k", range(2, 11))
def test_critical_differences_are_those_of_demsars_table(alpha, k, rng):
    result = nemenyi(rng.uniform(size=(12, k)), alpha=alpha)
    expected = Q[alpha][k - 2] * np.sqrt(k * (k + 1) / (6 * 12))
    assert result.critical_difference == pytest.approx(expected, rel=6e-4)


@pytest.mark.parametrize("criterion", ["hamming", "zero_one"])
def test_p_values_are_those_of_scikit_posthocs(published, criterion):
    posthocs = pytest.importorskip("scikit_posthocs")
    table = published[criterion]
    reference = posthocs.posthoc_nemenyi_friedman(table)
    np.testing.assert_allclose(nemenyi(table).p_values, reference, atol=1e-9)


def test_two_algorithms_are_a_normal_test(rng):
    # The range of two normal variables is sqrt(2) times the size of one.
    from scipy.stats import norm

    losses = rng.uniform(size=(20, 2))
    result = nemenyi(losses)
    first, second = result.average_ranks
    z = abs(first - second) / np.sqrt(2 * 3 / (6 * 20))
    assert result.p_values.iloc[0, 1] == pytest.approx(2 * norm.sf(z))


@given(data=st.data(), alpha=st.sampled_from([0.01, 0.1, 0.5, 0.9]))
def test_groups_are_the_largest_sets_that_do_not_differ(loss_tables, data, alpha):
    result = nemenyi(data.draw(loss_tables), alpha=alpha)
    names = result.average_ranks.index
    alike = [
        frozenset(group)
        for size in range(2, len(names) + 1)
        for group in combinations(names, size)
        if all(result.p_values.loc[a, b] > alpha for a, b in combinations(group, 2))
    ]
    largest = {group for group in alike if not any(group < other for other in alike)}
    assert len(result.groups) == len(largest)
    assert {frozenset(group) for group in result.groups} == largest
    for group in result.groups:
        assert (np.diff(result.average_ranks[list(group)]) >= 0).all()


def test_clearly_different_algorithms_are_in_no_group():
    result = nemenyi([[1, 2, 3]] * 40)
    assert result.groups == ()
    assert "not different: none" in str(result)


@given(data=st.data())
def test_permuting_algorithms_permutes(loss_tables, data):
    losses = pd.DataFrame(data.draw(loss_tables))
    order = data.draw(st.permutations(list(losses.columns)))
    result, moved = nemenyi(losses), nemenyi(losses[order])
    pd.testing.assert_frame_equal(moved.p_values, result.p_values.loc[order, order])
    assert moved.critical_difference == result.critical_difference


def test_result_and_representation(published):
    result = nemenyi(published["hamming"], alpha=0.1)
    assert type(result.critical_difference) is float
    assert (np.diag(result.p_values) == 1).all()
    assert (result.p_values == result.p_values.T).all(axis=None)
    text = str(result)
    assert "critical difference 0.777 at alpha = 0.1" in text
    assert "not different: FCM, FCM-O, FCM-W; FCM-O, FCM-W, LPW" in text


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5, np.nan, "0.05", None])
def test_alpha_must_be_between_0_and_1(alpha):
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        nemenyi([[1, 2], [2, 1]], alpha=alpha)
