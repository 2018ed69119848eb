"""Stacking weights by non-negative least squares; shrinkage of rare labels."""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import nnls

from pairmend._utils.threads import one_blas_thread
from pairmend._utils.typing import BoolArray, FloatArray

RIDGE = 1e-6
"""Size of the penalty of stacking weights, if predictions are equal, relative to them."""


@one_blas_thread()
def fit_stacking_weights(
    predictions: Mapping[str, FloatArray], Y: BoolArray, row_weights: FloatArray
) -> dict[str, float]:
    """Return weights >= 0 of sum <= 1 that minimize the squared error of the weighted sum."""
    columns = list(predictions.values())
    weighted = [column * row_weights[:, np.newaxis] for column in columns]
    products = np.array([[np.vdot(a, b) for b in columns] for a in weighted])
    weights = _least_squares(products, np.array([np.vdot(a, Y) for a in weighted]))
    return dict(zip(predictions, weights.tolist(), strict=True))


def _least_squares(products: FloatArray, target: FloatArray) -> FloatArray:
    """Minimize w'Pw - 2w't over w >= 0 whose sum is at most 1."""
    values, vectors = np.linalg.eigh(products)
    positive = values > len(values) * np.finfo(np.float64).eps * values[-1]
    if not positive.any():  # all predictions are 0
        return np.zeros_like(target)
    # With the square root A of the products, the objective is |Aw - b|^2 up to a constant.
    roots = np.sqrt(values[positive])
    A, b = roots[:, np.newaxis] * vectors[:, positive].T, vectors[:, positive].T @ target / roots
    scale = roots.max()
    A, b = A / scale, b / scale
    weights = _non_negative(A, b)
    if weights.sum() <= 1:
        return weights
    # The minimum lies where weights sum to 1, and there Aw - b = (A - b1')w. Its shortest vector
    # has the direction of the least |(A - b1')w|^2 + (1'w - 1)^2, constrained by w >= 0 only.
    weights = _non_negative(
        np.vstack([A - b[:, np.newaxis], np.ones(len(target))]), np.r_[0 * b, 1.0]
    )
    return weights / weights.sum()


def _non_negative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the w >= 0 of least |Aw - b|^2."""
    try:
        weights: FloatArray = nnls(A, b)[0]
    except RuntimeError:
        # With equal columns, scipy's iteration may not end. A tiny penalty makes them unequal.
        n_columns = A.shape[1]
        penalty = RIDGE * np.linalg.norm(A) * np.eye(n_columns)
        weights = nnls(np.vstack([A, penalty]), np.r_[b, np.zeros(n_columns)])[0]
    return weights


def stack(predictions: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of predictions; those of weight 0 may be missing."""
    total = sum(weight * predictions[name] for name, weight in weights.items() if weight > 0)
    if np.ndim(total):
        return np.minimum(np.maximum(total, 0), 1)
    return np.zeros_like(next(iter(predictions.values())))


def shrink_rare_labels(
    uncorrected: FloatArray, corrected: FloatArray, n_examples: FloatArray, prior_mass: float
) -> FloatArray:
    """Shrink corrected probabilities towards uncorrected ones by n / (n + prior mass).

    Probabilities have the shape (n_rows, n_labels), `n_examples` the shape (n_labels,).
    """
    share = n_examples / (n_examples + prior_mass)
    return share * corrected + (1 - share) * uncorrected
