"""Shares of the rows that have each label."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import relative_weights


def smoothed_share(Y: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the Laplace-smoothed, weighted share of rows with each label."""
    weights = relative_weights(weights)
    share: FloatArray = (weights @ Y + 1) / (weights.sum() + 2)
    return share


def varying_labels(Y: BoolArray) -> IntArray:
    """Return the indices of the labels that some rows have and some have not."""
    return np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
