"""Support vector machines with two parallel hyperplanes: the optimisation."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from pairmend._utils.typing import BoolArray, FloatArray, Matrix

SIDES = np.array([1.0, -1.0])
"""The first label lies on the positive side of its hyperplane, the second on the negative."""


def fit_parallel_hyperplanes(
    X: Matrix, Y: BoolArray, costs: FloatArray, *, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, bool, int]:
    """Return the direction w, thresholds (a, b), whether it converged, and the number of steps.

    A row x is predicted to have the first label if w x > a, the second if w x < b; Y is (n, 2), and
    each row has at least one label. Minimised is w² / 2 plus, for each row and label, half the
    row's cost times the squared hinge loss at the label's hyperplane. Then a <= b within the
    tolerance. The threshold of a label that all rows have, or none, is infinite.
    """
    varying = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    # If all rows have a label, every w x is beyond its threshold; if none has it, none is.
    thresholds = np.where(Y.all(axis=0), -np.inf, np.inf) * SIDES
    if len(varying) == 0:
        return np.zeros(X.shape[1]), thresholds, True, 0
    sides = SIDES[varying]
    signs = np.where(Y[:, varying], 1.0, -1.0)
    # Thresholds are not regularised, so rows may be centred; with columns scaled to similar
    # curvature it is the same problem in coordinates in which descent is fast.
    mean = np.asarray(costs @ X).ravel() / costs.sum()
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    spread = np.asarray(costs @ squares).ravel() - costs.sum() * mean**2
    scale = 1 / np.sqrt(1 + np.maximum(spread, 0))
    threshold_scale = 1 / np.sqrt(costs.sum())

    def loss(unknowns: FloatArray) -> tuple[float, FloatArray]:
        w = scale * unknowns[: len(mean)]
        places = unknowns[len(mean) :] * threshold_scale
        along = X @ w - mean @ w
        hinge = np.maximum(1 - signs * sides * (along[:, np.newaxis] - places), 0)
        weighted = costs[:, np.newaxis] * hinge
        slopes = -weighted * signs * sides
        by_row = slopes.sum(axis=1)
        gradient = w + np.asarray(by_row @ X).ravel() - mean * by_row.sum()
        total = (w @ w + (weighted * hinge).sum()) / 2
        return total, np.append(scale * gradient, -threshold_scale * slopes.sum(axis=0))

    with np.errstate(over="ignore", invalid="ignore"):  # the line search rejects such steps
        found: Any = minimize(
            loss,
            np.zeros(len(mean) + len(varying)),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "gtol": tol, "ftol": 0.0,
            },
        )  # fmt: skip
    direction = scale * found.x[: len(mean)]
    places = _thresholds(X @ direction, mean @ direction, found.x, threshold_scale, signs * sides)
    thresholds[varying] = places
    # In these coordinates curvatures are about 1, so the squared gradient is about the excess of
    # the loss: below `slack`, a step does not change the digits of the loss.
    slack = 1e-7 * max(1.0, float(np.sqrt(found.fun)))
    converged = bool(np.abs(found.jac).max() <= max(10 * tol, slack))
    return direction, thresholds, converged, int(found.nit)


def _thresholds(
    along: FloatArray, centre: float, unknowns: FloatArray, scale: float, above: FloatArray
) -> FloatArray:
    """Return thresholds; one that may lie anywhere between two distances is put in the middle."""
    places = unknowns[-above.shape[1] :] * scale + centre
    for k, side in enumerate(above.T):
        low, high = along[side < 0].max() + 1, along[side > 0].min() - 1
        if low < high:
            places[k] = (low + high) / 2
    return np.asarray(places)
