"""The corrected resampled t-test over folds."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from pairmend.stats import corrected_t_test


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
    assert found.test_share == pytest.approx(1 / folds)
    assert found.n_folds == repeats * folds
    for (first, second), row in found.pairs.iterrows():
        t, p = slow_t_test((losses[first] - losses[second]).tolist(), n_train=folds - 1, n_test=1)
        assert row["statistic"] == pytest.approx(t)
        assert row["p_value"] == pytest.approx(p)


def test_pivoted_rows_of_a_study_are_valid_input(rng):
    losses = folds_of(rng, repeats=2, folds=4)
    rows = losses.reset_index().melt(["repeat", "fold"], var_name="algorithm")
    pivoted = rows.pivot(index=["repeat", "fold"], columns="algorithm", values="value")
    pd.testing.assert_frame_equal(
        corrected_t_test(pivoted).pairs, corrected_t_test(losses).pairs, check_names=False
    )


def test_without_overlap_it_is_the_paired_t_test(rng):
    """With a vanishing test share the correction vanishes, too."""
    losses = rng.uniform(size=(12, 3))
    found = corrected_t_test(losses, test_share=1e-12).pairs
    for (first, second), (_, row) in zip(combinations(losses.T, 2), found.iterrows(), strict=True):
        reference = scipy_stats.ttest_rel(first, second)
        assert row["statistic"] == pytest.approx(reference.statistic)
        assert row["p_value"] == pytest.approx(reference.pvalue)


def test_rows_without_names_are_the_folds_of_one_cross_validation(rng):
    losses = rng.uniform(size=(5, 2))
    assert corrected_t_test(losses).test_share == pytest.approx(0.2)


def test_false_positives_stay_near_the_level():
    """With correlated folds the corrected test keeps its level, the plain one does not."""
    rng = np.random.default_rng(0)
    n_folds, rho, n_studies = 10, 0.1, 300
    corrected, plain = [], []
    for _ in range(8):
        shared = rng.normal(size=n_studies) * np.sqrt(rho)
        differences = shared + rng.normal(size=(n_folds, n_studies)) * np.sqrt(1 - rho)
        losses = np.column_stack([np.zeros(n_folds), differences])
        found = corrected_t_test(losses).pairs["p_value"].iloc[:n_studies]  # against the first
        corrected.append((found < 0.1).mean())
        plain.append((scipy_stats.ttest_1samp(differences, 0).pvalue < 0.1).mean())
    # four standard errors of 2400 draws
    assert abs(np.mean(corrected) - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 2400)
    assert np.mean(plain) > 0.2


def test_folds_that_do_not_vary():
    losses = pd.DataFrame({"a": [0.1, 0.5, 0.3], "b": [0.1, 0.5, 0.1 + 0.2], "c": [0.2, 0.6, 0.4]})
    pairs = corrected_t_test(losses).pairs
    assert pairs.loc[("a", "b"), ["mean_difference", "statistic", "p_value"]].tolist() == [0, 0, 1]
    assert pairs.loc[("a", "c"), ["statistic", "p_value"]].tolist() == [-np.inf, 0]
    assert pairs.loc[("a", "c"), "standard_error"] == 0


def test_representation(rng):
    text = str(corrected_t_test(folds_of(rng, repeats=2, folds=10)))
    assert text.startswith(
        "Corrected resampled t-tests over 20 folds that test on 0.1 of the rows\n"
    )


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
