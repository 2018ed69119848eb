"""Support vector machines with two parallel hyperplanes."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from pairmend._utils.typing import BoolArray, FloatArray, Matrix

SIDES = np.array([1.0, -1.0])
"""The first label lies on the positive side of its hyperplane, the second on the negative."""


def fit_parallel_hyperplanes(
    X: Matrix, label_rows: BoolArray, costs: FloatArray, *, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, bool, int]:
    """Find one direction with a threshold for each of two labels.

    A row x is said to carry the first label if w x > a, the second if w x < b. Minimised is
    w² / 2 plus, for each row and label, half the row's cost times the square of what the row
    lacks of the distance 1 to the label's hyperplane, on the right side.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n, d)
        Rows.
    label_rows : ndarray of bool, shape (n, 2)
        Which of the two labels each row carries: at least one.
    costs : ndarray of shape (n,)
        Cost of each row.
    tol : float
        Largest component of the gradient at which to stop.
    max_iter : int
        Number of steps at the most.

    Returns
    -------
    direction : ndarray of shape (d,)
        w.
    thresholds : ndarray of shape (2,)
        a and b, a <= b but for the tolerance. That of a label that all rows carry, or none, is
        infinite.
    converged : bool
        Whether the gradient is small enough.
    n_iter : int
        Number of steps taken.

    Examples
    --------
    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> label_rows = np.array([[False, True], [True, True], [True, False]])
    >>> w, (a, b), *_ = fit_parallel_hyperplanes(
    ...     X, label_rows, np.full(3, 1e6), tol=1e-6, max_iter=99
    ... )
    >>> w.round(3).tolist(), round(float(a), 3), round(float(b), 3)
    ([1.0], -1.0, 1.0)
    """
    varying = np.flatnonzero(label_rows.any(axis=0) & ~label_rows.all(axis=0))
    # All rows carry it: every w x is beyond its threshold, or none is.
    thresholds = np.where(label_rows.all(axis=0), -np.inf, np.inf) * SIDES
    if len(varying) == 0:
        return np.zeros(X.shape[1]), thresholds, True, 0
    sides = SIDES[varying]
    signs = np.where(label_rows[:, varying], 1.0, -1.0)
    # Thresholds cost nothing, so rows may be taken from their mean; that, and columns of like
    # curvature, is the same problem in coordinates in which descent is quick.
    mean = np.asarray(costs @ X).ravel() / costs.sum()
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    spread = np.asarray(costs @ squares).ravel() - costs.sum() * mean**2
    scale = 1 / np.sqrt(1 + np.maximum(spread, 0))
    threshold_scale = 1 / np.sqrt(costs.sum())

    def loss(unknowns: FloatArray) -> tuple[float, FloatArray]:
        w = scale * unknowns[: len(mean)]
        places = unknowns[len(mean) :] * threshold_scale
        along = X @ w - mean @ w
        lacking = np.maximum(1 - signs * sides * (along[:, np.newaxis] - places), 0)
        weighted = costs[:, np.newaxis] * lacking
        slopes = -weighted * signs * sides
        by_row = slopes.sum(axis=1)
        gradient = w + np.asarray(by_row @ X).ravel() - mean * by_row.sum()
        total = (w @ w + (weighted * lacking).sum()) / 2
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
    places = _settle(X @ direction, mean @ direction, found.x, threshold_scale, signs * sides)
    thresholds[varying] = places
    # Where steps no longer change the digits of the loss, the gradient is as good as none: in
    # these coordinates curvatures are about 1, and its square is like what the loss lacks.
    slack = 1e-7 * max(1.0, float(np.sqrt(found.fun)))
    converged = bool(np.abs(found.jac).max() <= max(10 * tol, slack))
    return direction, thresholds, converged, int(found.nit)


def _settle(
    along: FloatArray, centre: float, unknowns: FloatArray, scale: float, above: FloatArray
) -> FloatArray:
    """Return thresholds, those that may lie anywhere between two distances in the middle."""
    places = unknowns[-above.shape[1] :] * scale + centre
    for k, side in enumerate(above.T):
        low, high = along[side < 0].max() + 1, along[side > 0].min() - 1
        if low < high:
            places[k] = (low + high) / 2
    return np.asarray(places)
