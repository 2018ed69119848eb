"""Wilcoxon's test of all pairs."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pairmend.stats import bergmann_hommel, holm, shaffer, wilcoxon


def normal_p_value(differences):
    """The textbook's approximation: continuity and tie correction, zeros dropped."""
    d = differences[differences != 0]
    n = len(d)
    if not n:
        return 1.0
    ranks = scipy_stats.rankdata(abs(d))
    _, ties = np.unique(abs(d), return_counts=True)
    spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48)
    distance = abs(ranks[d > 0].sum() - n * (n + 1) / 4)
    return 2 * scipy_stats.norm.sf(max(0, distance - 0.5) / spread)


def exact_p_value(differences):
    """The share of all sign patterns whose rank sum is as far from the middle."""
    d = differences[differences != 0]
    ranks = scipy_stats.rankdata(abs(d))
    middle = ranks.sum() / 2
    observed = abs(ranks[d > 0].sum() - middle)
    patterns = list(product([0, 1], repeat=len(d)))
    return np.mean([abs(np.dot(signs, ranks) - middle) >= observed - 1e-9 for signs in patterns])


@given(data=st.data())
def test_normal_approximation_is_the_textbooks(loss_tables, data):
    losses = data.draw(loss_tables)
    result = wilcoxon(losses, adjust=None, method="normal")
    expected = [normal_p_value(a - b) for a, b in combinations(losses.T, 2)]
    np.testing.assert_allclose(result.pairs["p_value"], expected, rtol=1e-9)


@given(data=st.data())
def test_exact_distribution_is_that_of_all_signs(data):
    shape = data.draw(st.tuples(st.integers(2, 8), st.just(2)))
    cells = st.lists(st.integers(0, 6), min_size=shape[0] * 2, max_size=shape[0] * 2)
    losses = np.array(data.draw(cells)).reshape(shape)
    found = wilcoxon(losses, adjust=None, method="exact").pairs["p_value"].iloc[0]
    assert found == pytest.approx(exact_p_value(losses[:, 0] - losses[:, 1]))


@pytest.mark.parametrize("n_sets", [5, 12, 25])
def test_up_to_25_sets_without_ties_are_scipys_exact(rng, n_sets):
    losses = rng.uniform(size=(n_sets, 3))
    pairs = wilcoxon(losses, adjust=None).pairs
    found = pairs["p_value"]
    assert pairs["method"].tolist() == ["exact"] * 3
    expected = [
        scipy_stats.wilcoxon(a - b, method="exact").pvalue for a, b in combinations(losses.T, 2)
    ]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("size", [lambda n: 0.1, lambda n: 0.01 * (n + 1)])
@pytest.mark.parametrize("n_sets", [2, 5, 9])
def test_an_algorithm_that_always_wins_has_the_smallest_p_value(n_sets, size):
    """All of 2**n signs but two are less extreme, whether the differences are equal or not."""
    losses = [[0.5, 0.5 + size(n)] for n in range(n_sets)]
    (p_value,) = wilcoxon(losses).pairs["p_value"]
    assert p_value == pytest.approx(2 / 2**n_sets)


@pytest.mark.parametrize(("n_different", "method"), [(0, "exact"), (25, "exact"), (26, "normal")])
def test_the_method_depends_on_the_number_of_different_sets(rng, n_different, method):
    losses = np.repeat(rng.uniform(size=(40, 1)), 2, axis=1)
    losses[:n_different, 1] += rng.uniform(size=n_different)
    result = wilcoxon(losses, adjust=None)
    assert result.pairs["method"].tolist() == [method]
    assert result.method == "auto"
    same = wilcoxon(losses, adjust=None, method=method).pairs
    pd.testing.assert_frame_equal(result.pairs, same)


@pytest.mark.parametrize("criterion", ["hamming", "macro_f1", "micro_f1", "zero_one"])
def test_published_losses_have_the_p_values_of_scipy(published, thousandths, criterion):
    found = wilcoxon(published[criterion], adjust=None, method="normal").pairs
    for (first, second), row in found.iterrows():
        d = thousandths[criterion][first] - thousandths[criterion][second]
        reference = scipy_stats.wilcoxon(d, zero_method="wilcox", correction=True, method="approx")
        assert row["p_value"] == pytest.approx(reference.pvalue)
        assert row["statistic"] == reference.statistic
        assert row["n_different"] == (d != 0).sum()


def test_holm_adjusted_table_is_that_of_scikit_posthocs(thousandths):
    posthocs = pytest.importorskip("scikit_posthocs")
    table = thousandths["hamming"]
    reference = posthocs.posthoc_wilcoxon(
        table.melt(), val_col="value", group_col="variable", method="approx",
        zero_method="wilcox", correction=True, p_adjust="holm",
    )  # fmt: skip
    found = wilcoxon(table, adjust="holm", method="normal").p_values
    np.testing.assert_allclose(found, reference.loc[found.index, found.columns])


@pytest.mark.parametrize(
    ("adjust", "by"),
    [
        (None, lambda p: p), ("holm", holm), ("shaffer", shaffer),
        ("bergmann-hommel", bergmann_hommel),
    ],
)  # fmt: skip
def test_each_adjustment_is_applied(published, adjust, by):
    result = wilcoxon(published["hamming"], adjust=adjust)
    expected = by(result.pairs["p_value"])
    pd.testing.assert_series_equal(result.pairs["adjusted_p_value"], expected, check_names=False)
    assert result.adjust == adjust
    for first, second in result.pairs.index:
        cell = result.pairs.loc[(first, second), "adjusted_p_value"]
        assert result.p_values.loc[first, second] == result.p_values.loc[second, first] == cell
    assert (np.diag(result.p_values) == 1).all()


@pytest.mark.parametrize("method", ["auto", "normal", "exact"])
def test_a_pair_that_never_differs_has_p_value_1(method):
    losses = pd.DataFrame({"a": [0.1, 0.5, 0.3], "b": [0.1, 0.5, 0.3], "c": [0.2, 0.6, 0.7]})
    result = wilcoxon(losses, method=method)
    assert result.pairs.loc[("a", "b")].drop("method").tolist() == [0, 0, 1, 1]
    assert result.pairs.loc[("a", "c"), "p_value"] < 1


@given(data=st.data())
@pytest.mark.parametrize("adjust", [None, "holm", "shaffer", "bergmann-hommel"])
def test_permuting_algorithms_permutes(loss_tables, adjust, data):
    losses = pd.DataFrame(data.draw(loss_tables) / 10)
    order = data.draw(st.permutations(list(losses.columns)))
    result, moved = wilcoxon(losses, adjust=adjust), wilcoxon(losses[order], adjust=adjust)
    pd.testing.assert_frame_equal(moved.p_values, result.p_values.loc[order, order])


@given(data=st.data(), scale=st.sampled_from([1e-3, 0.1, 1 / 3, 1e6]))
def test_the_unit_of_the_losses_does_not_matter(loss_tables, data, scale):
    losses = data.draw(loss_tables)
    pd.testing.assert_frame_equal(wilcoxon(losses * scale).pairs, wilcoxon(losses).pairs)


def test_nine_algorithms_work_and_ten_are_refused(rng):
    losses = rng.uniform(size=(15, 10))
    assert wilcoxon(losses[:, :9]).p_values.shape == (9, 9)
    with pytest.raises(ValueError, match="10 were given: use Shaffer.*adjust='shaffer'"):
        wilcoxon(losses)
    assert wilcoxon(losses, adjust="shaffer").p_values.shape == (10, 10)


def test_representation(published):
    text = str(wilcoxon(published["zero_one"], method="normal"))
    assert text.startswith(
        "Wilcoxon signed-rank tests on 29 sets, normal approximation, "
        "p-values adjusted by Bergmann-Hommel\n"
    )
    assert "0.0629" in text
    assert "29 sets, exact distribution, " in str(wilcoxon(published["zero_one"]))
    both = str(wilcoxon(published["hamming"]))  # pairs that differ on 20 to 28 sets
    assert "29 sets, exact distribution or normal approximation, " in both
    assert "not adjusted" in str(wilcoxon(published["zero_one"], adjust=None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adjust": "bonferroni"}, "adjust must be one of None, 'holm', .* got 'bonferroni'"),
        ({"adjust": "none"}, "adjust must be one of None, 'holm', .* got 'none'"),
        ({"method": "asymptotic"}, "method must be one of 'auto', 'normal', 'exact'"),
    ],
)
def test_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        wilcoxon([[1, 2], [2, 1]], **options)
