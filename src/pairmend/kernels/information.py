"""How much a pair says near a point, by what its local confusion matrix holds."""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from pairmend._utils.typing import FloatArray


def information(confusion: FloatArray) -> FloatArray:
    """How much of the truth near a point is known, once the decision is, in bits.

    One less the conditional entropy of the truth given the decision: 0 for a coin, 1 where each
    decision, right or wrong, always meets the same truth.

    Parameters
    ----------
    confusion : ndarray of shape (..., 2, 2)
        Confusion matrices, [truth, decision], in any scale.

    Returns
    -------
    ndarray of shape (...)
        In [0, 1]; 0 where nothing is known.

    Examples
    --------
    >>> right, rare = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 0.0], [1.0, 3.0]])
    >>> information(np.stack([right, right[::-1], rare, np.ones((2, 2)), 0 * right])).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    total = confusion.sum(axis=(-2, -1), keepdims=True)
    known = total > 0
    cells = np.where(known, confusion / np.where(known, total, 1), 0)
    decision = cells.sum(axis=-2)
    unknown = _entropy(cells).sum(axis=(-2, -1)) - _entropy(decision).sum(axis=-1)
    return np.clip(decision.sum(axis=-1) - unknown, 0, 1)


WEIGHTINGS: dict[str, Callable[[FloatArray], FloatArray]] = {"information": information}
"""Weights of pairs by the name a user gives."""


def weigh(ballots: FloatArray, weights: FloatArray) -> FloatArray:
    """Bring what pairs say for their first labels towards the undecided, the less they weigh.

    The sum of weighted ballots exceeds half of their number exactly where the mean of ballots by
    weights exceeds 1/2.

    Parameters
    ----------
    ballots, weights : ndarray of shape (...)
        In [0, 1].

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> weigh(np.array([1.0, 0.0, 0.75]), np.array([1.0, 0.5, 0.0])).tolist()
    [1.0, 0.25, 0.5]
    """
    return (0.5 + weights * (ballots - 0.5)).astype(ballots.dtype, copy=False)


def _entropy(shares: FloatArray) -> FloatArray:
    """Return the summands of an entropy, in bits."""
    summands: FloatArray = -xlogy(shares, shares) / np.log(2)
    return summands
