"""Friedman's test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pairmend.stats import friedman, friedman_by_criterion


def chi_square_by_definition(losses):
    """Kruskal-like form with ties: between-algorithm over total variance of the ranks."""
    ranks = scipy_stats.rankdata(losses, axis=1)
    n, k = ranks.shape
    between = n**2 * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    within = ((ranks - (k + 1) / 2) ** 2).sum() / (k - 1)
    return between / within


@given(data=st.data())
def test_chi_square_is_the_definition_and_scipys(loss_tables, data):
    losses = data.draw(loss_tables)
    assume((np.ptp(losses, axis=1) > 0).any())
    n, k = losses.shape
    result = friedman(losses)
    expected = chi_square_by_definition(losses)
    assert result.chi_square == pytest.approx(expected, abs=1e-9)
    reference = scipy_stats.friedmanchisquare(*losses.T)
    assert result.p_value == pytest.approx(reference.pvalue)

    assume(expected < n * (k - 1) - 1e-6)
    f = (n - 1) * expected / (n * (k - 1) - expected)
    assert result.iman_davenport == pytest.approx(f, abs=1e-9)
    # The tail of F is a regularised incomplete beta function.
    a, b = k - 1, (k - 1) * (n - 1)
    tail = scipy_stats.beta.cdf(b / (b + a * f), b / 2, a / 2)
    assert result.iman_davenport_p_value == pytest.approx(tail)


def test_the_table_of_demsar():
    # J. Demšar (2006), table 6: AUC of 4 algorithms on 14 sets, more being better. He reports
    # average ranks 3.143, 2.000, 2.893, 1.964 and chi-square 9.28, without tie correction. In the
    # last row but one he prints 0.975 twice and ranks them 2 and 3: a digit is added to part them.
    auc = [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967], [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875], [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
    ]  # fmt: skip
    result = friedman(-np.array(auc))
    np.testing.assert_allclose(result.average_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    untied = 12 * 14 / (4 * 5) * ((result.average_ranks**2).sum() - 4 * 25 / 4)
    assert untied == pytest.approx(9.28, abs=5e-3)
    assert untied < result.chi_square < untied * 1.15  # the tie correction raises it


def test_all_equal_is_no_difference():
    result = friedman(np.ones((5, 3)))
    assert (result.chi_square, result.p_value) == (0, 1)
    assert (result.iman_davenport, result.iman_davenport_p_value) == (0, 1)


def test_perfect_agreement_has_the_largest_statistic():
    result = friedman([[1, 2, 3]] * 7)
    assert result.chi_square == pytest.approx(7 * 2)
    assert (result.iman_davenport, result.iman_davenport_p_value) == (np.inf, 0)


@given(data=st.data())
def test_permuting_algorithms_or_sets_changes_nothing(loss_tables, data):
    losses = data.draw(loss_tables)
    result = friedman(losses)
    columns = data.draw(st.permutations(range(losses.shape[1])))
    rows = data.draw(st.permutations(range(losses.shape[0])))
    moved = friedman(losses[rows][:, columns])
    assert moved.p_value == pytest.approx(result.p_value)
    np.testing.assert_allclose(moved.average_ranks, result.average_ranks[list(columns)])


def test_p_values_of_metrics_are_adjusted_together(published):
    result = friedman_by_criterion(published)
    p_values = {name: friedman(table).p_value for name, table in published.items()}
    assert result.table["p_value"].to_dict() == p_values
    assert result.table.index.tolist() == list(published)
    by_hand = 3 * p_values["hamming"], 4 * p_values["zero_one"]
    found = result.table["adjusted_p_value"]
    assert (found["hamming"], found["zero_one"]) == pytest.approx(by_hand)
    f_adjusted = result.table["iman_davenport_adjusted_p_value"]
    assert f_adjusted["zero_one"] == pytest.approx(
        4 * friedman(published["zero_one"]).iman_davenport_p_value
    )
    assert result.average_ranks.loc["hamming"].round(3).tolist() == [2.966, 1.931, 2.707, 2.397]


@pytest.mark.parametrize("losses", [{}, [[1, 2, 3], [3, 2, 1]], pd.DataFrame([[1, 2, 3]])])
def test_losses_must_be_a_mapping(losses):
    with pytest.raises(ValueError, match="must map names of metrics to tables"):
        friedman_by_criterion(losses)


def test_representations_and_plain_numbers(published):
    result = friedman(published["hamming"])
    assert str(result) == (
        "Friedman test of 4 algorithms on 29 sets\n"
        "  chi-square      11.439  p = 0.009574\n"
        "  Iman-Davenport   4.239  p = 0.007696"
    )
    for name in ("chi_square", "p_value", "iman_davenport", "iman_davenport_p_value"):
        assert type(getattr(result, name)) is float
    assert "adjusted by Holm" in str(friedman_by_criterion(published))
    with pytest.raises(AttributeError):
        result.p_value = 0.0
