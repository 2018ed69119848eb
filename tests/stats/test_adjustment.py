"""Holm, Shaffer and Bergmann-Hommel against definitions followed to the letter."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.stats import adjust

# p-values with ties, zeros and ones among them
chance = st.one_of(st.sampled_from([0.0, 0.01, 0.05, 1.0]), st.floats(0, 1))


@st.composite
def pairwise(draw):
    """A number of algorithms, and p-values of their pairs."""
    k = draw(st.integers(3, 5))
    return k, draw(st.lists(chance, min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2))


@cache
def sets_that_can_be_true(k):
    """Sets of equal pairs, over all ways to give k algorithms one of k performances."""
    return {
        frozenset(pair for pair in combinations(range(k), 2) if len({p[i] for i in pair}) == 1)
        for p in product(range(k), repeat=k)
    }


def bergmann_hommel(p_values, k):
    p = dict(zip(combinations(range(k), 2), p_values, strict=True))
    return [
        min(1, max(len(s) * min(p[j] for j in s) for s in sets_that_can_be_true(k) if i in s))
        for i in p
    ]


def step_down(p_values, true_at_most):
    """true_at_most(n): how many of n hypotheses that are left can be true."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    for position, i in enumerate(order):
        factors = (p_values[order[j]] * true_at_most(len(order) - j) for j in range(position + 1))
        adjusted[i] = min(1, max(factors))
    return adjusted


DEFINITIONS = {
    "holm": lambda p_values, k: step_down(p_values, lambda left: left),
    "shaffer": lambda p_values, k: step_down(
        p_values, lambda left: max(n for n in map(len, sets_that_can_be_true(k)) if n <= left)
    ),
    "bergmann-hommel": bergmann_hommel,
}


@pytest.mark.parametrize("method", DEFINITIONS)
@given(pairwise(), st.randoms(use_true_random=False))
def test_adjusted_p_values_are_the_definition_also_renumbered(method, case, random):
    k, p_values = case
    adjusted = adjust(p_values, method)
    np.testing.assert_allclose(adjusted, DEFINITIONS[method](p_values, k), rtol=1e-12)
    new = random.sample(range(k), k)
    pairs = list(combinations(range(k), 2))
    moved = [pairs.index(tuple(sorted((new[i], new[j])))) for i, j in pairs]
    renumbered = np.empty(len(pairs))
    renumbered[moved] = p_values
    np.testing.assert_allclose(adjust(renumbered, method)[moved], adjusted, rtol=1e-12)


@pytest.mark.parametrize("method", DEFINITIONS)
def test_names_are_kept(method):
    assert adjust([0.03], method).tolist() == [0.03]
    names = ["b", "a", "c"]
    expected = adjust([0.02, 0.01, 0.5], method).tolist()
    for named in (pd.Series([0.02, 0.01, 0.5], names), {"b": 0.02, "a": 0.01, "c": 0.5}):
        adjusted = adjust(named, method)
        assert (adjusted.index.tolist(), adjusted.tolist()) == (names, expected)
    assert len(adjust(np.linspace(0, 1, 36), method)) == 36  # pairs of nine algorithms
    assert adjust({("a", "b"): 0.1}, method).index.tolist() == [("a", "b")]


@pytest.mark.parametrize(
    ("p_values", "method", "message"),
    [
        ([0.1, np.nan, 0.2], "holm", r"p_values is \[0.1, nan, 0.2\], expected numbers in"),
        ([0.1, 1.5, -2], "shaffer", r"is \[0.1, 1.5, -2.0\]"),
        ([], "bergmann-hommel", r"is \[\]"),
        (np.array([[0.1, 0.2]]), "holm", "1-dimensional"),
        (["low", "high", "no"], "holm", "could not convert"),
        ([0.1] * 4, "bergmann-hommel", "has 4 number\\(s\\), and all pairs .* 1, 3, 6"),
        ([0.1] * 45, "bergmann-hommel", "2 to 9 algorithms, and 10 were given: use Shaffer"),
        ([0.1], "bonferroni", "method must be one of 'holm', .* got 'bonferroni'"),
    ],
)
def test_invalid_p_values_are_refused(p_values, method, message):
    with pytest.raises(ValueError, match=message):
        adjust(p_values, method)
