"""Stacking weights against a general optimizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pairmend.mended import corrector
from pairmend.mended.corrector import DrawnRows, _stacking_weights, fit_stacking_weights, stack
from pairmend.mended.validation import ValidationRows


def squared_error(weights, predictions, Y, row_weights):
    stacked = sum(w * proba for w, proba in zip(weights, predictions, strict=True))
    return (row_weights[:, np.newaxis] * (stacked - Y) ** 2).sum()


def by_optimizer(predictions, Y, row_weights):
    """Least squared error over weights >= 0 of sum <= 1, from several starts."""
    k = len(predictions)
    starts = [np.zeros(k), np.full(k, 1 / k)]
    found = [
        minimize(
            squared_error, start, (predictions, Y, row_weights), method="SLSQP",
            bounds=[(0, 1)] * k,
            constraints={"type": "ineq", "fun": lambda w: 1 - w.sum()},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        for start in starts
    ]  # fmt: skip
    return min(result.fun for result in found)


@given(
    st.integers(0, 1000), st.integers(1, 5), st.sampled_from(["plain", "small", "large", "equal"])
)
def test_stacking_weights_minimize_the_squared_error(seed, k, kind):
    rng = np.random.RandomState(seed)
    Y = rng.rand(15, 2) < 0.4
    predictions = [np.clip(rng.rand() * Y + rng.rand(15, 2), 0, 1) for _ in range(k)]
    if kind == "small":
        predictions = [proba / 50 for proba in predictions]  # unconstrained weights exceed 1
    if kind == "large":
        predictions = [(proba + 4) / 5 for proba in predictions]
    if kind == "equal":
        predictions[-1] = predictions[0].copy()  # the solution is not unique
    row_weights = rng.rand(15) * 10.0 ** rng.randint(-6, 7)
    names = [f"prediction {k}" for k in range(k)]
    found = fit_stacking_weights(dict(zip(names, predictions, strict=True)), Y, row_weights)
    assert list(found) == names
    weights = np.array(list(found.values()))
    assert weights.min() >= 0
    assert weights.sum() <= 1 + 1e-12
    scale = row_weights.sum()
    best = by_optimizer(predictions, Y, row_weights / scale)
    assert squared_error(weights, predictions, Y, row_weights / scale) <= best + 1e-7


def test_predictions_of_zeros_have_the_weight_zero():
    Y = np.array([[True, False]])
    zeros = np.zeros((1, 2))
    assert fit_stacking_weights({"zeros": zeros}, Y, np.ones(1)) == {"zeros": 0.0}
    assert fit_stacking_weights({"ones": np.ones((1, 2))}, ~Y & Y, np.ones(1)) == {"ones": 0.0}
    found = fit_stacking_weights({"zeros": zeros, "truth": Y * 1.0}, Y, np.ones(1))
    assert found == pytest.approx({"zeros": 0.0, "truth": 1.0})


def test_an_iteration_that_does_not_end_is_repeated_with_a_penalty(monkeypatch):
    rng = np.random.RandomState(0)
    Y = rng.rand(30, 2) < 0.4
    predictions = {name: np.clip(0.5 * Y + 0.6 * rng.rand(30, 2), 0, 1) for name in "abc"}
    expected = fit_stacking_weights(predictions, Y, np.ones(30))
    original = corrector.nnls

    def unless_penalized(A, b):
        if len(A) < 2 * A.shape[1]:
            raise RuntimeError("Maximum number of iterations reached.")
        return original(A, b)

    monkeypatch.setattr(corrector, "nnls", unless_penalized)
    assert fit_stacking_weights(predictions, Y, np.ones(30)) == pytest.approx(expected, abs=1e-6)


def test_stack_is_the_weighted_sum():
    predictions = {"a": np.array([[0.2, 1.0]]), "b": np.array([[0.6, 1.0]])}
    np.testing.assert_allclose(stack(predictions, {"a": 0.25, "b": 0.75}), [[0.5, 1.0]])
    np.testing.assert_allclose(
        stack(predictions, {"a": 0.5, "b": 0.0, "absent": 0.0}), [[0.1, 0.5]]
    )
    np.testing.assert_array_equal(stack(predictions, {"a": 0.0}), [[0.0, 0.0]])


def test_at_most_two_local_corrections_are_stacked(rng):
    """The remaining two are the best two, by comparison with all choices of two."""
    Y = rng.rand(300, 3) < 0.4
    names = ["uncorrected", "range", "standard", "log_odds"]
    terms = {name: np.clip(0.5 * Y + 0.25 + 0.2 * rng.randn(300, 3), 0, 1) for name in names}
    assert min(fit_stacking_weights(terms, Y, np.ones(300)).values()) > 0.1
    rows = ValidationRows(None, Y, terms["uncorrected"], np.ones(300), None)
    found = _stacking_weights(terms, DrawnRows(rows, np.ones(300)))
    assert list(found) == names
    assert [found[name] > 0 for name in names].count(True) == 3

    def error_without(name):
        used = {each: terms[each] for each in names if each != name}
        weights = fit_stacking_weights(used, Y, np.ones(300))
        return ((stack(used, weights) - Y) ** 2).mean()

    assert found[min(names[1:], key=error_without)] == 0
