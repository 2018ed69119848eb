"""Tests over folds and Bayesian tests, compared with baycomp, closed forms and slow loops."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats as scipy_stats

from pairmend.stats import (
    bayesian_correlated_t_test,
    bayesian_signed_rank,
    corrected_t_test,
    signed_rank_posterior,
)

PROBABILITIES = ["first_better", "equivalent", "second_better"]


def monte_carlo_error(n_samples):
    """Five standard errors of the least certain share."""
    return 5 * np.sqrt(0.25 / n_samples)


def slow_signed_rank(differences, rope, weights):
    """Count the regions pair by pair, sample by sample."""
    differences = [0.0, *differences]
    wins = np.zeros(3)
    for sample in weights:
        regions = np.zeros(3)
        for one, of_one in zip(differences, sample, strict=True):
            for other, of_other in zip(differences, sample, strict=True):
                mean = (one + other) / 2
                regions[0 if mean < -rope else 2 if mean > rope else 1] += of_one * of_other
        wins[regions.argmax()] += 1
    return wins / len(weights)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("runs", [1, 3])
def test_correlated_t_test_is_that_of_baycomp(rng, rope, runs):
    baycomp = pytest.importorskip("baycomp")
    index = pd.MultiIndex.from_product([range(runs), range(10)], names=["repeat", "fold"])
    losses = pd.DataFrame(rng.normal(0.3, 0.02, size=(10 * runs, 3)), index=index)
    losses[1] += 0.02
    for (first, second), row in bayesian_correlated_t_test(losses, rope=rope).iterrows():
        # baycomp takes scores, more being better
        scores = 1 - losses[first].to_numpy(), 1 - losses[second].to_numpy()
        reference = baycomp.two_on_single(*scores, rope=rope, runs=runs)
        expected = reference if rope else (reference[0], 0.0, reference[1])
        assert row[PROBABILITIES].tolist() == pytest.approx(expected, abs=1e-12)


def test_correlated_t_test_without_rope_is_half_of_the_p_value(rng):
    losses = rng.uniform(size=(8, 4))
    found = bayesian_correlated_t_test(losses, rope=0)
    smaller = found[["first_better", "second_better"]].min(axis=1)
    np.testing.assert_allclose(smaller, corrected_t_test(losses)["p_value"] / 2)


def test_correlated_t_test_is_the_share_of_draws(rng):
    losses = rng.normal(0.3, 0.02, size=(10, 2))
    (row,) = bayesian_correlated_t_test(losses)[PROBABILITIES].to_numpy()
    differences = losses[:, 0] - losses[:, 1]
    scale = np.sqrt((1 / 10 + 1 / 9) * differences.var(ddof=1))
    draws = differences.mean() + scale * rng.standard_t(9, size=200_000)
    shares = [(draws < -0.01).mean(), (abs(draws) <= 0.01).mean(), (draws > 0.01).mean()]
    np.testing.assert_allclose(row, shares, atol=monte_carlo_error(200_000))


@pytest.mark.parametrize(
    ("gap", "expected"), [(0.0, [0, 1, 0]), (0.01, [0, 1, 0]), (0.02, [1, 0, 0])]
)
def test_folds_without_spread_are_certain(gap, expected):
    """Also where the gap is the rope, but for rounding error."""
    first = np.array([0.1, 0.5, 0.3, 0.7])
    pairs = bayesian_correlated_t_test(np.column_stack([first, first + gap]))
    assert pairs[PROBABILITIES].iloc[0].tolist() == expected


@pytest.mark.parametrize("n_sets", [4, 15])
@pytest.mark.parametrize("rope", [0.01, 0.05])
def test_signed_rank_is_that_of_baycomp(rng, n_sets, rope):
    baycomp = pytest.importorskip("baycomp")
    losses = rng.normal([0.3, 0.32, 0.36], 0.05, size=(n_sets, 3))
    found = bayesian_signed_rank(losses, rope=rope, n_samples=20_000)
    for (first, second), row in found.iterrows():
        reference = baycomp.SignedRankTest.probs(
            1 - losses[:, first], 1 - losses[:, second], rope, nsamples=20_000, random_state=1
        )
        # two independent samples
        tolerance = np.sqrt(2) * monte_carlo_error(20_000)
        np.testing.assert_allclose(row[PROBABILITIES].tolist(), reference, atol=tolerance)


def test_signed_rank_is_that_of_a_slow_loop(rng):
    losses = rng.normal(0.3, 0.03, size=(5, 3))
    found = bayesian_signed_rank(losses, n_samples=300, prior_strength=0.8, seed=3)
    weights = np.random.default_rng(3).dirichlet([0.8, 1, 1, 1, 1, 1], 300)
    for (first, second), row in found.iterrows():
        differences = losses[:, first] - losses[:, second]
        expected = slow_signed_rank(differences, 0.01, weights)
        np.testing.assert_allclose(row[PROBABILITIES].tolist(), expected)
        assert row["mean_difference"] == pytest.approx(differences.mean())


@pytest.mark.parametrize("n_sets", [2, 4, 10])
@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_probabilities_of_an_algorithm_that_always_wins_have_a_closed_form(n_sets, strength):
    """All differences beyond twice the rope: only two draws of the prior are equivalent.

    The weight of the prior is of a beta distribution, and the first is better in a sample if that
    weight's square is below one half.
    """
    losses = np.column_stack([np.zeros(n_sets), np.linspace(0.1, 0.3, n_sets)])
    found = bayesian_signed_rank(losses, prior_strength=strength, n_samples=40_000)
    expected = scipy_stats.beta(strength, n_sets).cdf(np.sqrt(0.5))
    assert found["first_better"].iloc[0] == pytest.approx(expected, abs=monte_carlo_error(40_000))
    assert found["second_better"].iloc[0] == 0


@pytest.mark.parametrize("gap", [0.0, 0.004, 0.01])
def test_sets_within_the_rope_are_equivalent(gap):
    """A difference of the rope itself lies within it, also with rounding error."""
    first = np.array([0.1, 0.5, 0.3, 0.7, 0.2])
    found = bayesian_signed_rank(np.column_stack([first, first + gap]))
    assert found[PROBABILITIES].iloc[0].tolist() == [0, 1, 0]


def bayesian_tests():
    return [bayesian_correlated_t_test, bayesian_signed_rank]


@pytest.mark.parametrize("test", bayesian_tests())
def test_probabilities_add_up_and_exchanging_the_pair_mirrors_them(rng, test):
    losses = pd.DataFrame(rng.normal(0.3, 0.03, size=(6, 4)), columns=list("abcd"))
    found, turned = test(losses), test(losses[list("dcba")])
    np.testing.assert_allclose(found[PROBABILITIES].sum(axis=1), 1)
    for first, second in combinations("abcd", 2):
        expected = found.loc[(first, second), PROBABILITIES].tolist()
        mirrored = turned.loc[(second, first), PROBABILITIES[::-1]].tolist()
        assert mirrored == pytest.approx(expected, abs=1e-12)
        differences = found.loc[(first, second), "mean_difference"]
        assert turned.loc[(second, first), "mean_difference"] == pytest.approx(-differences)


@pytest.mark.parametrize("test", bayesian_tests())
def test_a_wider_rope_makes_equivalence_more_probable(rng, test):
    losses = rng.normal(0.3, 0.03, size=(6, 2))
    shares = [test(losses, rope=r)["equivalent"].iloc[0] for r in (0, 0.01, 0.02, 0.05, 0.2)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]
    assert shares[-1] > 0.9


def test_results_depend_on_the_seed(rng):
    losses = rng.normal(0.3, 0.03, size=(6, 3))
    first, again, other = (
        bayesian_signed_rank(losses, n_samples=1000, seed=seed) for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("test", "options", "message"),
    [
        (bayesian_signed_rank, {"rope": -0.1}, "rope must be a finite number of at least 0"),
        (bayesian_correlated_t_test, {"rope": "1"}, "rope must be a finite number .* got '1'"),
        (bayesian_correlated_t_test, {"test_share": 0}, "test_share must be between 0 and 1"),
        (bayesian_signed_rank, {"prior_strength": 0}, "prior_strength must be positive"),
        (bayesian_signed_rank, {"prior_strength": np.inf}, "prior_strength must be a finite"),
        (bayesian_signed_rank, {"n_samples": 10}, "n_samples must be a whole number of at least"),
        (bayesian_signed_rank, {"seed": None}, "seed must be a whole number of at least 0"),
    ],
)
def test_invalid_options_are_refused(test, options, message):
    with pytest.raises(ValueError, match=message):
        test([[1, 2], [2, 1]], **options)


def test_the_posterior_has_the_probabilities_of_the_test():
    losses = np.random.default_rng(0).uniform(0.2, 0.3, size=(6, 2))
    samples = signed_rank_posterior(losses, n_samples=2000, seed=3)
    assert samples.shape == (2000, 3)
    assert_allclose(samples.sum(axis=1), 1)
    shares = np.bincount(samples.argmax(axis=1), minlength=3) / 2000
    found = bayesian_signed_rank(losses, n_samples=2000, seed=3).to_numpy()[0, 1:]
    assert_allclose(shares, found, atol=1e-9)
    with pytest.raises(ValueError, match="losses has 3 columns, expected those of two"):
        signed_rank_posterior(np.column_stack([losses, losses[:, 0]]))


def slow_t_test(differences, n_train, n_test):
    """Nadeau and Bengio's formula, step by step."""
    n = len(differences)
    mean = sum(differences) / n
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    t = mean / ((1 / n + n_test / n_train) * variance) ** 0.5
    return t, 2 * scipy_stats.t(n - 1).sf(abs(t))


def folds_of(rng, *, repeats, folds, algorithms=3):
    """Losses of repeated cross-validation, indexed as a study's rows are."""
    index = pd.MultiIndex.from_product([range(repeats), range(folds)], names=["repeat", "fold"])
    names = [f"a{n}" for n in range(algorithms)]
    return pd.DataFrame(rng.uniform(size=(len(index), algorithms)), index=index, columns=names)


@pytest.mark.parametrize(("repeats", "folds"), [(1, 10), (3, 5), (10, 2)])
def test_statistics_equal_the_formula(rng, repeats, folds):
    losses = folds_of(rng, repeats=repeats, folds=folds)
    found = corrected_t_test(losses)
    for (first, second), row in found.iterrows():
        t, p = slow_t_test((losses[first] - losses[second]).tolist(), n_train=folds - 1, n_test=1)
        assert row["statistic"] == pytest.approx(t)
        assert row["p_value"] == pytest.approx(p)


def test_pivoted_rows_of_a_study_are_valid_input(rng):
    losses = folds_of(rng, repeats=2, folds=4)
    rows = losses.reset_index().melt(["repeat", "fold"], var_name="algorithm")
    pivoted = rows.pivot(index=["repeat", "fold"], columns="algorithm", values="value")
    pd.testing.assert_frame_equal(
        corrected_t_test(pivoted), corrected_t_test(losses), check_names=False
    )


def test_without_overlap_it_is_the_paired_t_test(rng):
    """With a vanishing test share the correction vanishes, too."""
    losses = rng.uniform(size=(12, 3))
    found = corrected_t_test(losses, test_share=1e-12)
    for (first, second), (_, row) in zip(combinations(losses.T, 2), found.iterrows(), strict=True):
        reference = scipy_stats.ttest_rel(first, second)
        assert row["statistic"] == pytest.approx(reference.statistic)
        assert row["p_value"] == pytest.approx(reference.pvalue)


def test_rows_without_names_are_the_folds_of_one_cross_validation(rng):
    losses = rng.uniform(size=(5, 2))
    expected = corrected_t_test(losses, test_share=0.2)
    pd.testing.assert_frame_equal(corrected_t_test(losses), expected)


def test_false_positives_stay_near_the_level():
    """With correlated folds the corrected test keeps its level, the plain one does not."""
    rng = np.random.default_rng(0)
    n_folds, rho, n_studies = 10, 0.1, 300
    corrected, plain = [], []
    for _ in range(8):
        shared = rng.normal(size=n_studies) * np.sqrt(rho)
        differences = shared + rng.normal(size=(n_folds, n_studies)) * np.sqrt(1 - rho)
        losses = np.column_stack([np.zeros(n_folds), differences])
        found = corrected_t_test(losses)["p_value"].iloc[:n_studies]  # against the first
        corrected.append((found < 0.1).mean())
        plain.append((scipy_stats.ttest_1samp(differences, 0).pvalue < 0.1).mean())
    # four standard errors of 2400 draws
    assert abs(np.mean(corrected) - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 2400)
    assert np.mean(plain) > 0.2


def test_folds_that_do_not_vary():
    losses = pd.DataFrame({"a": [0.1, 0.5, 0.3], "b": [0.1, 0.5, 0.1 + 0.2], "c": [0.2, 0.6, 0.4]})
    pairs = corrected_t_test(losses)
    assert pairs.loc[("a", "b"), ["mean_difference", "statistic", "p_value"]].tolist() == [0, 0, 1]
    assert pairs.loc[("a", "c"), ["statistic", "p_value"]].tolist() == [-np.inf, 0]
    assert pairs.loc[("a", "c"), "standard_error"] == 0


def test_folds_of_several_sets_are_refused(rng):
    one = folds_of(rng, repeats=1, folds=3)
    both = pd.concat({"yeast": one, "flags": one}, names=["set"])
    with pytest.raises(ValueError, match=r"folds of 2 sets: .* one set; pass losses.loc\[name\]"):
        corrected_t_test(both)


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        ([[1, 2]], {}, "needs at least 2 fold"),
        ([[1, 2], [2, 1]], {"test_share": 1}, "test_share must be between 0 and 1"),
        ([[1, 2], [2, np.nan]], {}, "needs a value on every fold"),
        (
            pd.DataFrame([[1, 2], [2, 1]], index=pd.Index([0, 0], name="fold")), {},
            r"two rows of one fold: \[0\]; .* by \['repeat', 'fold'\]",
        ),
    ],
)  # fmt: skip
def test_invalid_input_is_refused(losses, options, message):
    with pytest.raises(ValueError, match=message):
        corrected_t_test(losses, **options)
