"""The weights of opinions against a general optimizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pairmend.mended.stacking import blend_weights, blended, lean_on


def squared_error(weights, opinions, Y, row_weights):
    said = sum(w * opinion for w, opinion in zip(weights, opinions, strict=True))
    return (row_weights[:, np.newaxis] * (said - Y) ** 2).sum()


def by_optimizer(opinions, Y, row_weights):
    """The least squared error over weights from 0 whose sum is at most 1, from many starts."""
    k = len(opinions)
    starts = [np.zeros(k), np.full(k, 1 / k)]
    found = [
        minimize(
            squared_error, start, (opinions, Y, row_weights), method="SLSQP", bounds=[(0, 1)] * k,
            constraints={"type": "ineq", "fun": lambda w: 1 - w.sum()},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        for start in starts
    ]  # fmt: skip
    return min(result.fun for result in found)


@given(
    st.integers(0, 1000), st.integers(1, 5), st.sampled_from(["plain", "small", "large", "twin"])
)
def test_least_squares(seed, k, kind):
    rng = np.random.RandomState(seed)
    Y = rng.rand(15, 2) < 0.4
    opinions = [np.clip(rng.rand() * Y + rng.rand(15, 2), 0, 1) for _ in range(k)]
    if kind == "small":
        opinions = [opinion / 50 for opinion in opinions]  # all weights would like to exceed 1
    if kind == "large":
        opinions = [(opinion + 4) / 5 for opinion in opinions]
    if kind == "twin":
        opinions[-1] = opinions[0].copy()  # the least squares have no single solution
    row_weights = rng.rand(15) * 10.0 ** rng.randint(-6, 7)
    names = [f"opinion {k}" for k in range(k)]
    found = blend_weights(dict(zip(names, opinions, strict=True)), Y, row_weights)
    assert list(found) == names
    weights = np.array(list(found.values()))
    assert weights.min() >= 0
    assert weights.sum() <= 1 + 1e-12
    scale = row_weights.sum()
    best = by_optimizer(opinions, Y, row_weights / scale)
    assert squared_error(weights, opinions, Y, row_weights / scale) <= best + 1e-7


def test_who_says_nothing_counts_nothing():
    Y = np.array([[True, False]])
    nothing = np.zeros((1, 2))
    assert blend_weights({"silent": nothing}, Y, np.ones(1)) == {"silent": 0.0}
    assert blend_weights({"loud": np.ones((1, 2))}, ~Y & Y, np.ones(1)) == {"loud": 0.0}
    found = blend_weights({"silent": nothing, "right": Y * 1.0}, Y, np.ones(1))
    assert found == pytest.approx({"silent": 0.0, "right": 1.0})


def test_blended():
    said = {"a": np.array([[0.2, 1.0]]), "b": np.array([[0.6, 1.0]])}
    np.testing.assert_allclose(blended(said, {"a": 0.25, "b": 0.75}), [[0.5, 1.0]])
    np.testing.assert_allclose(blended(said, {"a": 0.5, "b": 0.0, "absent": 0.0}), [[0.1, 0.5]])
    np.testing.assert_array_equal(blended(said, {"a": 0.0}), [[0.0, 0.0]])


def test_lean_on():
    base, mended = np.array([[0.1, 0.2, 0.3]]), np.array([[0.5, 0.6, 0.7]])
    found = lean_on(base, mended, np.array([0.0, 10.0, 1e12]), 10.0)
    np.testing.assert_allclose(found, [[0.1, 0.4, 0.7]])
    np.testing.assert_allclose(lean_on(base, mended, np.zeros(3), 0.0), mended)
