"""Ways to measure distances."""

import numpy as np
import pytest
from scipy import sparse

from pairmend.mended.distances import Scaling, fit_scalings


def names(X, supports):
    return [s.name for s in fit_scalings("auto", None, X, supports, None)]


def test_which_compete(rng):
    X, supports = rng.rand(20, 40) * (rng.rand(20, 40) < 0.03), rng.rand(20, 3)
    assert names(X, supports) == ["range", "standard", "supports"]
    assert names(sparse.csr_array(X), supports) == ["unit", "supports"]
    assert names(["text"] * 20, supports) == ["supports"]
    assert names([{"a": 1}] * 20, supports) == ["supports"]
    assert names(rng.rand(20, 2, 2), supports) == ["supports"]
    (only,) = fit_scalings("unit", None, X, supports, None)
    assert only.name == "unit"


@pytest.mark.parametrize("name", ["range", "standard", "unit", "supports"])
def test_weights(name, rng):
    X, supports = rng.randn(30, 4), rng.rand(30, 2)
    scaling = Scaling(name).fit(X, supports, None)
    scaling.neighbourhood.set_params(beta=0.7)
    clipped = np.clip(supports, 1e-3, 1 - 1e-3)
    points = {
        "range": X / np.ptp(X, axis=0),
        "standard": X / X.std(axis=0),
        "unit": X / np.sqrt((X**2).sum(axis=1, keepdims=True)),
        "supports": np.log(clipped / (1 - clipped)),
    }[name]
    squared = ((points[:5, np.newaxis] - points) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        scaling.weights(X[:5], supports[:5]), np.exp(-0.7 * squared), rtol=1e-6, atol=1e-9
    )
    whole = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
    expected = np.median(whole[np.triu_indices(30, k=1)])
    assert scaling.typical(np.random.RandomState(0)) == pytest.approx(expected)


def test_equal_rows_are_at_no_distance(rng):
    supports = np.full((30, 3), 0.3)
    X = sparse.csr_array(np.full((30, 7), 0.1))
    for name in ("range", "unit", "supports"):
        assert Scaling(name).fit(X, supports, None).typical(rng) == 0.0
    single = Scaling("unit").fit(np.full((30, 7), 0.1, dtype=np.float32), supports, None)
    assert single.typical(rng) == 0.0
    # Rows that are there twice do not count.
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert Scaling("range").fit(X, supports, None).typical(rng) == pytest.approx(1.0)
