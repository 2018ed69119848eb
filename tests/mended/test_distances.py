"""Scalings and their distances."""

import numpy as np
import pytest
from scipy import sparse

from pairmend.mended.rows import Scaling, fit_scalings


def names(X, proba):
    return [s.name for s in fit_scalings("auto", None, X, proba, None)]


def test_scalings_suit_the_rows(rng):
    X, proba = rng.rand(20, 40) * (rng.rand(20, 40) < 0.03), rng.rand(20, 3)
    assert names(X, proba) == ["range", "standard", "log_odds"]
    assert names(sparse.csr_array(X), proba) == ["unit", "log_odds"]
    assert names(["text"] * 20, proba) == ["log_odds"]
    assert names([{"a": 1}] * 20, proba) == ["log_odds"]
    assert names(rng.rand(20, 2, 2), proba) == ["log_odds"]
    (only,) = fit_scalings("unit", None, X, proba, None)
    assert only.name == "unit"


@pytest.mark.parametrize("name", ["range", "standard", "unit", "log_odds"])
def test_points_and_distances_of_the_scaled_space(name, rng):
    X, proba = rng.randn(30, 4), rng.rand(30, 2)
    scaling = Scaling(name).fit(X, proba, None)
    clipped = np.clip(proba, 1e-3, 1 - 1e-3)
    points = {
        "range": X / np.ptp(X, axis=0),
        "standard": X / X.std(axis=0),
        "unit": X / np.sqrt((X**2).sum(axis=1, keepdims=True)),
        "log_odds": np.log(clipped / (1 - clipped)),
    }[name]
    squared = ((points[:5, np.newaxis] - points) ** 2).sum(axis=2)
    found = scaling.points(X[:5], proba[:5])
    fitted = scaling.neighbourhood.points_
    distances = ((found[:, np.newaxis] - fitted) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, squared, rtol=1e-6, atol=1e-9)
    whole = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
    expected = np.median(whole[np.triu_indices(30, k=1)])
    assert scaling.median_squared_distance(np.random.RandomState(0)) == pytest.approx(expected)


def test_equal_rows_are_left_out_of_the_median_distance(rng):
    proba = np.full((30, 3), 0.3)
    X = sparse.csr_array(np.full((30, 7), 0.1))
    for name in ("range", "unit", "log_odds"):
        assert Scaling(name).fit(X, proba, None).median_squared_distance(rng) == 0.0
    single = Scaling("unit").fit(np.full((30, 7), 0.1, dtype=np.float32), proba, None)
    assert single.median_squared_distance(rng) == 0.0
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert Scaling("range").fit(X, proba, None).median_squared_distance(rng) == pytest.approx(1.0)
