"""Tests over folds and Bayesian tests, compared with baycomp, closed forms and slow loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from pairmend.stats import bayesian_signed_rank, corrected_t_test, signed_rank_posterior

PROBABILITIES = ["first_better", "equivalent", "second_better"]


@pytest.mark.parametrize(("repeats", "folds", "rope"), [(1, 10, 0), (3, 5, 0.01), (10, 2, 0.05)])
def test_t_tests_equal_the_formula_and_baycomp(rng, repeats, folds, rope):
    baycomp = pytest.importorskip("baycomp")
    index = pd.MultiIndex.from_product([range(repeats), range(folds)], names=["repeat", "fold"])
    losses = rng.normal([0.3, 0.32, 0.3], 0.02, (len(index), 3))
    losses = pd.DataFrame(losses, index, ["a0", "a1", "a2"])
    found = corrected_t_test(losses, rope=rope)
    for (first, second), row in found.iterrows():
        differences = (losses[first] - losses[second]).to_numpy()
        variance = (1 / len(losses) + 1 / (folds - 1)) * differences.var(ddof=1)
        t = differences.mean() / variance**0.5
        p_value = 2 * scipy_stats.t(len(losses) - 1).sf(abs(t))
        numbers = row[["mean_difference", "statistic", "p_value"]].tolist()
        assert numbers == pytest.approx([differences.mean(), t, p_value])
        # baycomp takes scores, more being better
        scores = 1 - losses[first].to_numpy(), 1 - losses[second].to_numpy()
        expected = baycomp.two_on_single(*scores, rope=rope, runs=repeats)
        expected = expected if rope else (expected[0], 0.0, expected[1])
        assert row[PROBABILITIES].tolist() == pytest.approx(expected, abs=1e-12)
    if repeats == 1:  # rows without names are folds of one repetition
        unnamed = corrected_t_test(losses.reset_index(drop=True), rope=rope)
        pd.testing.assert_frame_equal(unnamed, found)
    if not rope:  # without overlap of the training rows it is the paired t-test
        plain = corrected_t_test(losses, test_share=1e-12).loc[("a0", "a1")]
        expected = scipy_stats.ttest_rel(losses["a0"], losses["a1"])
        assert (plain["statistic"], plain["p_value"]) == pytest.approx(tuple(expected))


@pytest.mark.parametrize(
    ("gap", "expected", "statistic", "p_value"),
    [(0.0, [0, 1, 0], 0, 1), (0.01, [0, 1, 0], -np.inf, 0), (0.02, [1, 0, 0], -np.inf, 0)],
)
def test_folds_without_spread_are_certain(gap, expected, statistic, p_value):
    """Also where the gap is the rope, but for rounding error."""
    first = np.array([0.1, 0.5, 0.3, 0.7])
    row = corrected_t_test(np.column_stack([first, first + gap])).iloc[0]
    assert row[PROBABILITIES].tolist() == expected
    assert row[["standard_error", "statistic", "p_value"]].tolist() == [0, statistic, p_value]


def slow_signed_rank(differences, rope, weights):
    """Add up the weights of all pairs of differences in each region, sample by sample."""
    differences = np.array([0.0, *differences])
    means = np.add.outer(differences, differences) / 2
    regions = [means < -rope, abs(means) <= rope, means > rope]
    wins = [np.argmax([np.outer(w, w)[region].sum() for region in regions]) for w in weights]
    return np.bincount(wins, minlength=3) / len(weights)


@pytest.mark.parametrize("rope", [0.01, 0.05])
def test_signed_rank_is_that_of_a_slow_loop_and_of_its_posterior(rng, rope):
    losses = rng.normal(0.3, 0.03, size=(5, 3))
    options = {"rope": rope, "n_samples": 300, "prior_strength": 0.8}
    found = bayesian_signed_rank(losses, **options, seed=3)
    weights = np.random.default_rng(3).dirichlet([0.8, 1, 1, 1, 1, 1], 300)
    for (first, second), row in found.iterrows():
        differences = losses[:, first] - losses[:, second]
        expected = slow_signed_rank(differences, rope, weights)
        np.testing.assert_allclose(row[PROBABILITIES].tolist(), expected)
        assert row["mean_difference"] == pytest.approx(differences.mean())
        pair = losses[:, [first, second]]
        samples = signed_rank_posterior(pair, **options, seed=3)
        assert samples.shape == (300, 3)
        np.testing.assert_allclose(samples.sum(axis=1), 1)
        shares = np.bincount(samples.argmax(axis=1), minlength=3) / 300
        np.testing.assert_allclose(shares, expected)
    assert not found.equals(bayesian_signed_rank(losses, **options, seed=4))
    with pytest.raises(ValueError, match="losses has 3 columns, expected those of two"):
        signed_rank_posterior(losses)


TWO = pd.DataFrame([[1, 2], [2, 1]])
TWICE = TWO.set_axis(pd.Index([0, 0], name="fold"))
TWO_SETS = pd.concat({"yeast": TWO, "flags": TWO}, names=["set"])


@pytest.mark.parametrize(
    ("test", "losses", "options", "message"),
    [
        (bayesian_signed_rank, TWO, {"rope": -0.1}, "rope must be a finite number of at least 0"),
        (corrected_t_test, TWO, {"test_share": 0}, "test_share must be a number between 0 and 1"),
        (bayesian_signed_rank, TWO, {"prior_strength": np.inf}, "prior_strength must be a finite"),
        (bayesian_signed_rank, TWO, {"control": 7}, "control must be one of 0, 1, got 7"),
        (corrected_t_test, TWO[:1], {}, "needs at least 2 fold"),
        (corrected_t_test, [[1, 2], [2, np.nan]], {}, "Drop such folds"),
        (corrected_t_test, TWICE, {}, r"same name twice: \[0\].* by \['repeat', 'fold'\]"),
        (corrected_t_test, TWO_SETS, {}, r"folds of 2 sets: .* one set; pass losses.loc\[name\]"),
    ],
)
def test_invalid_input_is_refused(test, losses, options, message):
    with pytest.raises(ValueError, match=message):
        test(losses, **options)
