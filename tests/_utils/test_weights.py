"""The unit of weight, and draws of rows by their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from correction_reference import unit
from pairmend._utils.training import relative_weights, unit_weight, without_negligible
from pairmend.mended.rows import draw_rows


@given(st.lists(st.sampled_from([1e-9, 0.1, 0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=40))
def test_unit_equals_the_definition(weights):
    weights = np.array(weights)
    assert unit_weight(np.append(weights, [0.0, 0.0])) == unit(weights)
    for factor in (1e-3, 1e3, 1 / weights.sum()):
        assert unit_weight(factor * weights) == factor * unit(weights)


def test_unit_and_negligible_weights():
    assert unit_weight(np.zeros(3)) == 1.0
    # Rows of weight 1 hold 2 of 100, which is 2 %, and then 2 of 102.
    assert unit_weight(np.array([1.0] * 2 + [2.0] * 49)) == 1.0
    assert unit_weight(np.array([1.0] * 2 + [2.0] * 50)) == 2.0
    weights = np.array([2.0, 2.0, 1e-6, 3e-6])
    assert without_negligible(weights).tolist() == [2.0, 2.0, 0.0, 3e-6]
    assert without_negligible(weights, 1e-3).tolist() == weights.tolist()
    assert relative_weights(weights[:2]).tolist() == [1.0, 1.0]


def test_rows_are_drawn_by_their_weights():
    rng = np.random.RandomState(0)
    weights = rng.choice([0.1, 1.0, 40.0], size=200, p=[0.3, 0.65, 0.05])
    hits, totals = np.zeros(200), []
    for _ in range(2000):
        rows, counts = draw_rows(rng.permutation(200), weights, 60, rng)
        assert len(np.unique(rows)) == len(rows)
        assert abs(len(rows) - 60) <= 1
        hits[rows] += 1
        totals.append(counts[rows].sum())
    # Horvitz and Thompson: the total is exact in the mean. Three standard errors.
    error = 3 * np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(weights.sum(), abs=error + 1e-9)
    light, heavy = hits[weights == 0.1].mean(), hits[weights == 1.0].mean()
    assert heavy / light == pytest.approx(10, rel=0.1)
    assert (hits[weights == 40] == 2000).all()
    rows, counts = draw_rows(np.array([3, 1, 0, 2]), np.full(4, 0.5), 2, None)
    assert (rows.tolist(), counts.tolist()) == ([3, 1], [0.5] * 4)  # equal ones from the front
