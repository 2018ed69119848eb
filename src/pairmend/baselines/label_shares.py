"""Shares of the rows that have each label."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import relative_weights


def smoothed_share(Y: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the Laplace-smoothed share of rows, by their weights, that carry each label.

    Examples
    --------
    >>> smoothed_share(np.array([[True, False], [True, True]]), np.array([1.0, 0.5])).tolist()
    [0.8, 0.4]
    """
    weights = relative_weights(weights)
    share: FloatArray = (weights @ Y + 1) / (weights.sum() + 2)
    return share


def varying_labels(Y: BoolArray) -> IntArray:
    """Return the numbers of the labels that some rows carry and some do not.

    Examples
    --------
    >>> varying_labels(np.array([[True, False, True], [True, False, False]])).tolist()
    [2]
    """
    return np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
