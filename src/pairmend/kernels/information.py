"""Weights of pairs by the information of their decisions, from local confusion matrices."""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from pairmend._utils.typing import FloatArray


def information(confusion: FloatArray) -> FloatArray:
    """Return 1 bit less the conditional entropy of the truth given the decision, in [0, 1].

    It is 0 for random decisions, and 1 where each decision, right or wrong, always has the same
    truth; 0 where the confusion matrix, (..., 2, 2) in any scale, is empty.
    """
    total = confusion.sum(axis=(-2, -1), keepdims=True)
    nonempty = total > 0
    cells = np.where(nonempty, confusion / np.where(nonempty, total, 1), 0)
    decision = cells.sum(axis=-2)
    conditional = _entropy(cells).sum(axis=(-2, -1)) - _entropy(decision).sum(axis=-1)
    return np.clip(decision.sum(axis=-1) - conditional, 0, 1)


WEIGHTINGS: dict[str, Callable[[FloatArray], FloatArray]] = {"information": information}
"""Weights of pairs by the name of the parameter `weighting`."""


def weigh(votes: FloatArray, weights: FloatArray) -> FloatArray:
    """Move the votes of pairs towards 1/2, the more the smaller their weight.

    The sum of weighted votes exceeds half of their number exactly where the weighted mean of the
    votes exceeds 1/2.
    """
    return (0.5 + weights * (votes - 0.5)).astype(votes.dtype, copy=False)


def _entropy(shares: FloatArray) -> FloatArray:
    """Return the summands of an entropy, in bits."""
    summands: FloatArray = -xlogy(shares, shares) / np.log(2)
    return summands
