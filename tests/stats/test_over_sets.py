"""Friedman, Nemenyi, Wilcoxon, effect sizes, correlations and intervals."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pairmend import stats


@given(data=st.data())
def test_friedman_is_that_of_scipy(loss_tables, data):
    losses = data.draw(loss_tables)
    assume((np.ptp(losses, axis=1) > 0).any())
    n, k = losses.shape
    result, expected = stats.friedman(losses), scipy_stats.friedmanchisquare(*losses.T)
    assert result["chi_square"] == pytest.approx(expected.statistic, abs=1e-9)
    assert result["p_value"] == pytest.approx(expected.pvalue)
    assume(expected.statistic < n * (k - 1) - 1e-6)
    f = (n - 1) * expected.statistic / (n * (k - 1) - expected.statistic)
    assert result["iman_davenport"] == pytest.approx(f, abs=1e-9)
    tail = scipy_stats.f(k - 1, (k - 1) * (n - 1)).sf(f)
    assert result["iman_davenport_p_value"] == pytest.approx(tail)


def test_extremes_of_friedman():
    assert stats.friedman(np.ones((5, 3))).tolist() == [0, 1, 0, 1]
    assert stats.friedman([[1, 2, 3]] * 7).tolist() == [14, pytest.approx(np.exp(-7)), np.inf, 0]


@pytest.mark.parametrize(
    ("alpha", "k", "q"),
    [(0.05, 2, 1.960), (0.05, 5, 2.728), (0.05, 10, 3.164), (0.1, 2, 1.645), (0.1, 10, 2.920)],
)
def test_critical_differences_are_those_of_demsars_table(alpha, k, q, rng):
    """Demšar (2006), table 5: q of the two-tailed Nemenyi test."""
    expected = q * np.sqrt(k * (k + 1) / (6 * 12))
    assert stats.critical_difference(k, 12, alpha=alpha) == pytest.approx(expected, rel=6e-4)
    # A pair whose ranks differ by the critical difference has the p-value alpha.
    losses = rng.uniform(size=(12, k))
    pairs = stats.nemenyi(losses)
    beyond = pairs["rank_difference"].abs() >= stats.critical_difference(k, 12, alpha=alpha)
    assert (beyond == (pairs["p_value"] <= alpha)).all()


@given(data=st.data())
def test_exact_distribution_is_that_of_all_signs(loss_tables, data):
    """The p-value is the share of sign patterns whose rank sum is as far from the middle."""
    losses = data.draw(loss_tables)[:8, :2]
    d = losses[:, 0] - losses[:, 1]
    ranks = scipy_stats.rankdata(abs(d[d != 0]))
    signs = np.array(list(product([-1, 1], repeat=len(ranks))))
    observed = abs(np.sign(d[d != 0]) @ ranks)
    expected = (abs(signs @ ranks) >= observed - 1e-9).mean() if len(ranks) else 1
    found = stats.wilcoxon(losses, adjust=None, method="exact")["p_value"].iloc[0]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("n_different", "method"), [(0, "exact"), (25, "exact"), (26, "normal")])
def test_the_method_depends_on_the_number_of_different_sets(rng, n_different, method):
    losses = np.repeat(rng.uniform(size=(40, 1)), 2, axis=1)
    losses[:n_different, 1] += rng.uniform(size=n_different)
    result = stats.wilcoxon(losses, adjust=None)
    assert result["method"].tolist() == [method]
    same = stats.wilcoxon(losses, adjust=None, method=method)
    pd.testing.assert_frame_equal(result, same)


@pytest.mark.parametrize("criterion", ["hamming", "macro_f1", "micro_f1", "zero_one"])
def test_published_losses_have_the_p_values_of_scipy(published, criterion):
    found = stats.wilcoxon(published[criterion], adjust=None, method="normal")
    thousandths = (1000 * published[criterion]).round()  # without rounding errors
    for (first, second), row in found.iterrows():
        d = thousandths[first] - thousandths[second]
        reference = scipy_stats.wilcoxon(d, zero_method="wilcox", correction=True, method="approx")
        assert row["p_value"] == pytest.approx(reference.pvalue)
        assert row["statistic"] == reference.statistic
        assert row["wins"] + row["losses"] == (d != 0).sum()


@given(data=st.data())
def test_effects_are_the_definitions(loss_tables, data):
    losses = data.draw(loss_tables)
    found = stats.wilcoxon(losses / 10)
    for i, j in combinations(range(losses.shape[1]), 2):
        a, b, row = losses[:, i], losses[:, j], found.loc[(i, j)]
        d = (b - a)[a != b]
        # Of the ranks of the differences, the favourable less the unfavourable share.
        ranks = scipy_stats.rankdata(abs(d))
        effect = np.average(np.sign(d), weights=ranks) if len(d) else 0
        assert row["rank_biserial"] == pytest.approx(effect)
        assert row["median_difference"] == pytest.approx(np.median(a - b) / 10)
        counted = (a < b).sum(), (a == b).sum(), (a > b).sum()
        assert tuple(row[["wins", "ties", "losses"]]) == counted


@given(data=st.data())
def test_correlations_are_those_of_scipy(loss_tables, data):
    losses = data.draw(loss_tables)
    assume(len(losses) > 2)
    assume((np.ptp(losses, axis=0) > 0).all())
    result = stats.spearman(losses / 10, losses[:, :2] * 3.7)
    for i, j in product(range(losses.shape[1]), range(2)):
        expected = scipy_stats.spearmanr(losses[:, i], losses[:, j])
        assert result["rho"].loc[j, i] == pytest.approx(expected.statistic, abs=1e-9)
        assert result["p_value"].loc[j, i] == pytest.approx(expected.pvalue, abs=1e-9)


def test_frames_are_matched_by_their_sets(published):
    losses = published["hamming"]
    known = pd.DataFrame({"x": losses["LPW"], "y": -losses["FCM"]})
    shuffled = pd.concat([known, pd.DataFrame({"x": 1.0, "y": 2.0}, index=[99])])[::-1]
    result = stats.spearman(losses, shuffled)
    assert result["rho"].loc["x", "LPW"] == pytest.approx(1)
    assert result["rho"].loc["y", "FCM"] == pytest.approx(-1)
    by_name = stats.spearman(losses, known).reindex(result.index)
    pd.testing.assert_frame_equal(result, by_name)
    constant = stats.spearman([[1, 2], [2, 3], [4, 3]], [[7, 1], [7, 2], [7, 3]])
    assert constant.loc[0].isna().all(axis=None)
    assert constant.loc[1].notna().all(axis=None)


NAMED = pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz"))


@pytest.mark.parametrize(
    ("losses", "characteristics", "message"),
    [
        ([[1, 2], [2, 1], [3, 1]], [[1], [2]], "losses has 3 sets and characteristics 2"),
        ([[1], [2], [3]], [["a"], ["b"], ["c"]], "characteristics has no numbers .* \\[0\\]"),
        (NAMED, pd.DataFrame({"L": [1, 2, 3]}, index=list("xyw")), "1 cell.* in row 'z'"),
        (NAMED, pd.DataFrame({"L": [1, 2, 3, 4]}, index=list("xyzz")), "duplicate"),
    ],
)
def test_invalid_characteristics_are_refused(losses, characteristics, message):
    with pytest.raises(ValueError, match=message):
        stats.spearman(losses, characteristics)


def test_intervals_are_scipys(published):
    table = published["zero_one"]
    found = stats.bootstrap_intervals(table, seed=5, n_resamples=500)
    assert not found.equals(stats.bootstrap_intervals(table, seed=6, n_resamples=500))
    for (first, second), row in found.iterrows():
        difference = (table[first] - table[second]).to_numpy()
        reference = scipy_stats.bootstrap(
            (difference,), np.mean, n_resamples=500, batch=500,
            random_state=np.random.default_rng(5),
        ).confidence_interval  # fmt: skip
        expected = [difference.mean(), reference.low, reference.high]
        assert row.tolist() == pytest.approx(expected)
    constant = {"a": [0.3] * 4, "b": [0.1 + 0.2, 0.3, 0.3, 0.3], "c": [0.7] * 4}
    points = stats.bootstrap_intervals(pd.DataFrame(constant))
    assert (points["low"] == points["estimate"]).all()
    assert (points["high"] == points["estimate"]).all()


@pytest.mark.parametrize(
    ("test", "options", "message"),
    [
        (stats.wilcoxon, {"adjust": "bonferroni"}, "adjust must be one of None, 'holm', .*"),
        (stats.wilcoxon, {"method": "asymptotic"}, "method must be one of 'auto', 'normal'"),
        (stats.wilcoxon, {"control": "c", "adjust": "holm"}, "control must be one of 0, 1, got"),
        (stats.wilcoxon, {"control": 0}, "adjust='bergmann-hommel' is for all"),
        (stats.bootstrap_intervals, {"confidence": 95}, "confidence must be a number"),
    ],
)
def test_invalid_options_are_refused(test, options, message):
    with pytest.raises(ValueError, match=message):
        test([[1, 2], [2, 1]], **options)
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        stats.critical_difference(3, 10, alpha=5)
    with pytest.raises(ValueError, match="expected 2 algorithms and 1 set or more, got 1, 10"):
        stats.critical_difference(1, 10)


def test_a_control_is_compared_with_each_other_algorithm(published):
    table = published["zero_one"]
    pairs = stats.wilcoxon(table, adjust="holm", control="FCM")
    assert pairs.index.tolist() == [("FCM", "LPW"), ("FCM", "FCM-W"), ("FCM", "FCM-O")]
    turned = table[["FCM", "LPW", "FCM-W", "FCM-O"]]
    of_all = stats.wilcoxon(turned, adjust=None).iloc[:3].drop(columns="adjusted_p_value")
    pd.testing.assert_frame_equal(pairs.drop(columns="adjusted_p_value"), of_all)
    assert pairs["adjusted_p_value"].tolist() == stats.adjust(of_all["p_value"]).tolist()
    expected = stats.bayesian_signed_rank(turned).iloc[:3]
    pd.testing.assert_frame_equal(stats.bayesian_signed_rank(table, control="FCM"), expected)
    expected = stats.bootstrap_intervals(turned, n_resamples=100).iloc[:3]
    found = stats.bootstrap_intervals(table, n_resamples=100, control="FCM")
    pd.testing.assert_frame_equal(found, expected)


# The published losses. They have three digits, and the paper computed with full precision, so its
# own numbers differ a little. Tests of reports check the p-values.

RANKS = {
    "hamming": [2.966, 1.931, 2.707, 2.397],
    "macro_f1": [2.241, 2.759, 2.414, 2.586],
    "micro_f1": [2.500, 2.448, 2.724, 2.328],
    "zero_one": [3.086, 2.293, 2.328, 2.293],
}


def test_average_ranks_and_critical_difference(published):
    for criterion, expected in RANKS.items():
        ranks = stats.average_ranks(published[criterion])
        assert ranks.index.tolist() == ["LPW", "FCM", "FCM-W", "FCM-O"]
        np.testing.assert_allclose(ranks, expected, atol=5e-4)
    assert stats.critical_difference(4, 29, alpha=0.1) == pytest.approx(0.777, abs=5e-4)
    differ = stats.nemenyi(published["hamming"])["p_value"] <= 0.1
    assert differ[differ].index.tolist() == [("LPW", "FCM")]
