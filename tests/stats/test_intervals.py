"""Bootstrap intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from pairmend.stats import average_ranks, bootstrap_intervals

OF = ["mean_losses", "mean_differences", "average_ranks"]


def test_percentiles_are_those_of_a_plain_loop(published):
    table = published["hamming"]
    found = bootstrap_intervals(table, method="percentile", confidence=0.9, n_resamples=4000)
    rng = np.random.default_rng(7)
    means = [table.iloc[rng.integers(0, 29, 29)].mean() for _ in range(4000)]
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    width = high - low
    assert (abs(found.table["low"] - low) < 0.06 * width).all()
    assert (abs(found.table["high"] - high) < 0.06 * width).all()
    np.testing.assert_allclose(found.table["estimate"], table.mean())


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_each_column_is_scipys(published, method):
    table = published["zero_one"]
    found = bootstrap_intervals(table, method=method, seed=5, n_resamples=500)
    for name in table:
        reference = scipy_stats.bootstrap(
            (table[name].to_numpy(),), np.mean, n_resamples=500, method=method,
            random_state=np.random.default_rng(5), batch=500,
        ).confidence_interval  # fmt: skip
        row = found.table.loc[name]
        assert (row["low"], row["high"]) == pytest.approx((reference.low, reference.high))


def test_estimates_are_the_averages(published):
    table = published["hamming"]
    options = {"n_resamples": 100}
    ranks = bootstrap_intervals(table, of="average_ranks", **options).table["estimate"]
    pd.testing.assert_series_equal(ranks, average_ranks(table), check_names=False)
    differences = bootstrap_intervals(table, of="mean_differences", **options).table["estimate"]
    assert differences[("LPW", "FCM-W")] == pytest.approx((table["LPW"] - table["FCM-W"]).mean())
    assert len(differences) == 6


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_contain_their_estimates_and_widen_with_confidence(published, of, method):
    narrow, wide = (
        bootstrap_intervals(published["hamming"], of=of, method=method, confidence=c).table
        for c in (0.5, 0.99)
    )
    assert (narrow["low"] < narrow["estimate"]).all()
    assert (narrow["estimate"] < narrow["high"]).all()
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()


@pytest.mark.parametrize("of", ["mean_losses", "average_ranks"])
def test_permuting_algorithms_permutes(published, of):
    table = published["hamming"]
    order = ["FCM-O", "LPW", "FCM-W", "FCM"]
    found = bootstrap_intervals(table, of=of).table
    pd.testing.assert_frame_equal(bootstrap_intervals(table[order], of=of).table, found.loc[order])


def test_results_depend_on_the_seed(published):
    table = published["hamming"]
    first, again, other = (bootstrap_intervals(table, seed=s).table for s in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert (first["low"] != other["low"]).all()


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_interval_of_a_constant_is_a_point(of, method):
    losses = pd.DataFrame({"a": [0.3] * 4, "b": [0.1 + 0.2, 0.3, 0.3, 0.3], "c": [0.7] * 4})
    table = bootstrap_intervals(losses, of=of, method=method).table
    assert (table["low"] == table["estimate"]).all()
    assert (table["high"] == table["estimate"]).all()


def test_a_constant_column_does_not_change_others():
    losses = pd.DataFrame({"a": [0.3] * 5, "b": [0.1, 0.5, 0.2, 0.4, 0.9]})
    table = bootstrap_intervals(losses).table
    assert table.loc["a"].nunique() == 1
    assert table.loc["b", "low"] < table.loc["b", "estimate"] < table.loc["b", "high"]


def test_coverage_of_95_per_cent_intervals():
    rng = np.random.default_rng(3)
    losses = rng.normal(size=(40, 300))  # 300 algorithms of true mean 0
    table = bootstrap_intervals(losses, n_resamples=1000).table
    held = ((table["low"] < 0) & (table["high"] > 0)).mean()
    assert 0.90 < held < 0.98


def test_representation(published):
    result = bootstrap_intervals(published["hamming"], of="average_ranks", n_resamples=200, seed=4)
    assert str(result).startswith(
        "95 % bootstrap intervals (BCa, 200 resamples, seed 4) of average ranks\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "medians"}, "of must be one of 'mean_losses'"),
        ({"method": "BCA"}, "method must be one of 'percentile', 'bca', got 'BCA'"),
        ({"confidence": 95}, "confidence must be between 0 and 1, such as 0.95, got 95"),
        ({"n_resamples": 10}, "n_resamples must be a whole number of at least 100, got 10"),
        ({"n_resamples": 1e4}, "n_resamples must be a whole number"),
        ({"seed": None}, "seed must be a whole number of at least 0, got None"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_intervals([[1, 2], [2, 1]], **options)
