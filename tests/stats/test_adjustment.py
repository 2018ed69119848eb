"""Holm, Shaffer and Bergmann-Hommel against definitions followed to the letter."""

from functools import cache
from itertools import chain, combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.stats import bergmann_hommel, holm, shaffer
from pairmend.stats.adjustment import exhaustive_sets

BELL = {2: 2, 3: 5, 4: 15, 5: 52, 6: 203, 7: 877, 8: 4140, 9: 21147}  # OEIS A000110

# p-values with ties, zeros and ones among them
chance = st.one_of(st.sampled_from([0.0, 0.01, 0.05, 1.0]), st.floats(0, 1))


@st.composite
def pairwise(draw, fewest=3, most=5):
    """A number of algorithms, and p-values of their pairs."""
    k = draw(st.integers(fewest, most))
    return k, draw(st.lists(chance, min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2))


@cache
def sets_that_can_be_true(k):
    """Every subset of hypotheses that can hold with all others false, by trying all subsets."""
    pairs = list(combinations(range(k), 2))
    subsets = chain.from_iterable(combinations(pairs, r) for r in range(1, len(pairs) + 1))
    return [frozenset(s) for s in subsets if implied_by(s, k) == frozenset(s)]


def implied_by(equalities, k):
    """All equalities that follow, by closing the relation step by step."""
    equal = np.eye(k, dtype=bool)
    for i, j in equalities:
        equal[i, j] = equal[j, i] = True
    for _ in range(k):
        equal = (equal.astype(int) @ equal.astype(int)) > 0
    return frozenset(pair for pair in combinations(range(k), 2) if equal[pair])


def bergmann_hommel_by_definition(p_values, k):
    p = dict(zip(combinations(range(k), 2), p_values, strict=True))
    return [
        min(1, max(len(s) * min(p[j] for j in s) for s in sets_that_can_be_true(k) if i in s))
        for i in p
    ]


def step_down_by_definition(p_values, true_at_most):
    """true_at_most(n): how many of n hypotheses that are left can be true."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    for position, i in enumerate(order):
        adjusted[i] = min(
            1,
            max(p_values[order[j]] * true_at_most(len(p_values) - j) for j in range(position + 1)),
        )
    return adjusted


@cache
def true_counts(k):
    """Numbers of equal pairs over all ways to give k algorithms one of k performances."""
    return {
        sum(a == b for a, b in combinations(performance, 2))
        for performance in product(range(k), repeat=k)
    }


@given(pairwise())
def test_bergmann_hommel_is_the_definition_over_all_subsets(case):
    k, p_values = case
    np.testing.assert_allclose(
        bergmann_hommel(p_values), bergmann_hommel_by_definition(p_values, k), rtol=1e-12
    )


@given(pairwise(), st.sampled_from([0.01, 0.05, 0.1, 0.3]))
def test_bergmann_hommel_rejects_what_the_procedure_rejects(case, alpha):
    k, p_values = case
    p = dict(zip(combinations(range(k), 2), p_values, strict=True))
    accepted = set().union(
        *(s for s in sets_that_can_be_true(k) if len(s) * min(p[j] for j in s) > alpha)
    )
    assert (bergmann_hommel(p_values) <= alpha).tolist() == [i not in accepted for i in p]


@given(pairwise())
def test_shaffer_is_the_definition(case):
    k, p_values = case
    expected = step_down_by_definition(
        p_values, lambda left: max(count for count in true_counts(k) if count <= left)
    )
    np.testing.assert_allclose(shaffer(p_values), expected, rtol=1e-12)


def test_shaffer_factors_of_four_and_five_algorithms():
    # S(4) = {0, 1, 2, 3, 6} and S(5) = {0, 1, 2, 3, 4, 6, 10}: the factors follow.
    ascending = np.array([1, 1.5, 2, 2.5, 4, 9]) * 1e-4
    np.testing.assert_allclose(shaffer(ascending), np.array([6, 6, 6, 7.5, 8, 9]) * 1e-4)
    ascending = 10.0 ** np.arange(-12, -2)
    factors = [10, 6, 6, 6, 6, 4, 4, 3, 2, 1]
    np.testing.assert_allclose(shaffer(ascending), ascending * factors)


@given(st.lists(chance, min_size=1, max_size=12))
def test_holm_is_the_definition(p_values):
    expected = step_down_by_definition(p_values, lambda left: left)
    np.testing.assert_allclose(holm(p_values), expected, rtol=1e-12)


def test_holm_agrees_with_statsmodels(rng):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = rng.uniform(size=20) ** 3
    expected = multitest.multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(p_values), expected)


@given(pairwise(2, 7))
def test_more_powerful_procedures_have_smaller_p_values_not_below_the_raw(case):
    _, p_values = case
    slack = 1 + 1e-12
    assert (bergmann_hommel(p_values) * slack >= p_values).all()
    assert (bergmann_hommel(p_values) <= shaffer(p_values) * slack).all()
    assert (shaffer(p_values) <= holm(p_values) * slack).all()
    assert (holm(p_values) <= 1).all()


@given(pairwise(2, 6), st.data())
@pytest.mark.parametrize("adjust", [holm, shaffer, bergmann_hommel])
def test_raising_a_p_value_lowers_none(adjust, case, data):
    _, p_values = case
    raised = list(p_values)
    i = data.draw(st.integers(0, len(p_values) - 1))
    raised[i] = data.draw(st.floats(p_values[i], 1))
    assert (adjust(raised) >= adjust(p_values) - 1e-15).all()


@given(pairwise(2, 6))
@pytest.mark.parametrize("adjust", [holm, shaffer])
def test_step_down_keeps_the_order(adjust, case):
    _, p_values = case
    order = np.argsort(p_values)
    assert (np.diff(adjust(p_values).to_numpy()[order]) >= 0).all()


def test_bergmann_hommel_can_change_the_order():
    # {01, 02, 12} bounds 01 by 3 * 0.02; 23 is in no set of three without a tiny p-value.
    adjusted = bergmann_hommel([0.02, 0.02, 0, 0.02, 0, 0.021])
    np.testing.assert_allclose(adjusted[[0, 5]], [0.06, 0.04])


@given(pairwise(3, 6), st.randoms(use_true_random=False))
@pytest.mark.parametrize("adjust", [shaffer, bergmann_hommel])
def test_renumbering_algorithms_permutes(adjust, case, random):
    k, p_values = case
    new = random.sample(range(k), k)
    pairs = list(combinations(range(k), 2))
    moved = [pairs.index(tuple(sorted((new[i], new[j])))) for i, j in pairs]
    renumbered = np.empty(len(pairs))
    renumbered[moved] = p_values
    np.testing.assert_allclose(adjust(renumbered)[moved], adjust(p_values), rtol=1e-12)


@pytest.mark.parametrize("k", BELL)
def test_there_is_an_exhaustive_set_for_each_partition(k):
    members = exhaustive_sets(k)
    assert members.shape == (BELL[k] - 1, k * (k - 1) // 2)
    assert len(np.unique(np.packbits(members, axis=1), axis=0)) == len(members)
    assert members.any(axis=1).all()


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_exhaustive_sets_are_those_found_by_trying_all_subsets(k):
    pairs = np.array(list(combinations(range(k), 2)))
    found = {frozenset(map(tuple, pairs[row].tolist())) for row in exhaustive_sets(k)}
    assert found == set(sets_that_can_be_true(k))


def test_exhaustive_sets_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        exhaustive_sets(3)[0, 0] = False


def test_nine_algorithms_work_and_ten_are_refused(rng):
    adjusted = bergmann_hommel(rng.uniform(size=36) ** 4)
    assert ((adjusted > 0) & (adjusted <= 1)).all()
    with pytest.raises(ValueError, match="2 to 9 algorithms, and 10 were given: use Shaffer"):
        bergmann_hommel(rng.uniform(size=45))
    assert len(shaffer(rng.uniform(size=45))) == 45


def test_two_algorithms_need_no_adjustment():
    for adjust in (holm, shaffer, bergmann_hommel):
        assert adjust([0.03]).tolist() == [0.03]


@pytest.mark.parametrize("adjust", [holm, shaffer, bergmann_hommel])
def test_names_are_kept(adjust):
    names = ["b", "a", "c"]
    expected = adjust([0.02, 0.01, 0.5]).tolist()
    for named in (pd.Series([0.02, 0.01, 0.5], names), {"b": 0.02, "a": 0.01, "c": 0.5}):
        adjusted = adjust(named)
        assert (adjusted.index.tolist(), adjusted.tolist()) == (names, expected)


def test_keys_of_a_mapping_may_be_pairs():
    assert holm({("a", "b"): 0.1, ("a", "c"): 0.2}).index.tolist() == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize("adjust", [holm, shaffer, bergmann_hommel])
@pytest.mark.parametrize(
    ("p_values", "message"),
    [
        ([0.1, np.nan, 0.2], "p_values has \\[nan\\], expected numbers in"),
        ([0.1, 1.5, -2], "has \\[1.5, -2.0\\]"),
        ([], "shape \\(0,\\)"),
        ([[0.1, 0.2]], "shape \\(1, 2\\)"),
        (["low", "high", "no"], "must be numbers"),
    ],
)
def test_invalid_p_values_are_refused(adjust, p_values, message):
    with pytest.raises(ValueError, match=message):
        adjust(p_values)


@pytest.mark.parametrize("adjust", [shaffer, bergmann_hommel])
def test_p_values_must_be_of_all_pairs(adjust):
    with pytest.raises(ValueError, match="has 4 number\\(s\\), and all pairs .* 1, 3, 6"):
        adjust([0.1, 0.2, 0.3, 0.4])
