"""The unit of weight, and draws of rows by their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from correction_reference import unit
from pairmend._utils.training import relative_weights, unit_weight, without_negligible
from pairmend.mended.distances import _weighted_median
from pairmend.mended.rows import draw_rows

lists = st.lists(st.sampled_from([1e-9, 0.1, 0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=40)


@given(lists)
def test_unit_equals_the_definition(weights):
    weights = np.array(weights)
    assert unit_weight(weights) == unit(weights)
    assert unit_weight(np.append(weights, [0.0, 0.0])) == unit(weights)
    for factor in (1e-3, 1e3, 1 / weights.sum()):
        assert unit_weight(factor * weights) == factor * unit(weights)


def test_unit_of_no_weight():
    assert unit_weight(np.zeros(3)) == 1.0
    assert unit_weight(np.ones(1000)) == 1.0


def test_weights_of_one_row_among_rows_of_two():
    # Rows of weight 1 hold 2 of 100, which is 2 %, and then 2 of 102.
    assert unit_weight(np.array([1.0] * 2 + [2.0] * 49)) == 1.0
    assert unit_weight(np.array([1.0] * 2 + [2.0] * 50)) == 2.0


def test_negligible_weights():
    weights = np.array([2.0, 2.0, 1e-6, 3e-6])
    assert without_negligible(weights).tolist() == [2.0, 2.0, 0.0, 3e-6]
    assert without_negligible(weights, 1e-3).tolist() == weights.tolist()
    assert relative_weights(weights[:2]).tolist() == [1.0, 1.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=20))
def test_weighted_median_equals_that_of_repeated_values(pairs):
    values, weights = np.array(pairs, dtype=float).T
    expected = np.median(np.repeat(values, weights.astype(int)))
    for factor in (1.0, 1e-3, 1 / 7):
        assert _weighted_median(values, factor * weights) == expected


def test_rows_are_drawn_by_their_weights():
    rng = np.random.RandomState(0)
    weights = rng.choice([0.1, 1.0, 40.0], size=200, p=[0.3, 0.65, 0.05])
    values = rng.rand(200)
    hits, totals, means = np.zeros(200), [], []
    for _ in range(2000):
        rows, counts = draw_rows(rng.permutation(200), weights, 60, rng)
        assert len(np.unique(rows)) == len(rows)
        assert abs(len(rows) - 60) <= 1
        hits[rows] += 1
        totals.append(counts[rows].sum())
        means.append(np.average(values[rows], weights=counts[rows]))
    # Horvitz and Thompson: the total is exact in the mean. Three standard errors.
    error = 3 * np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(weights.sum(), abs=error + 1e-9)
    assert np.mean(means) == pytest.approx(np.average(values, weights=weights), abs=0.005)
    light, heavy = hits[weights == 0.1].mean(), hits[weights == 1.0].mean()
    assert heavy / light == pytest.approx(10, rel=0.1)
    assert (hits[weights == 40] == 2000).all()


def test_equal_weights_are_drawn_from_the_front():
    order = np.array([3, 1, 0, 2])
    rows, weights = draw_rows(order, np.full(4, 0.5), 2, None)
    assert rows.tolist() == [3, 1]
    assert weights.tolist() == [0.5] * 4
    rows, weights = draw_rows(order, np.array([1.0, 2.0, 3.0, 4.0]), 9, None)
    assert rows.tolist() == [3, 1, 0, 2]
