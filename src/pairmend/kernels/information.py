"""Weights of pairs by the information of their decisions, from local confusion matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray


def information(confusion: FloatArray, xp: Any = np) -> FloatArray:
    """Return 1 bit less the conditional entropy of the truth given the decision, in [0, 1].

    It is 0 for random decisions, and 1 where each decision, right or wrong, always has the same
    truth; 0 where the confusion matrix, (..., 2, 2) in any scale, is empty.
    """
    total = xp.sum(confusion, axis=(-2, -1), keepdims=True)
    nonempty = total > 0
    cells = xp.where(nonempty, confusion / xp.where(nonempty, total, 1.0), 0.0)
    decision = xp.sum(cells, axis=-2)
    of_decisions = xp.sum(_entropy(decision, xp), axis=-1)
    conditional = xp.sum(_entropy(cells, xp), axis=(-2, -1)) - of_decisions
    return xp.clip(xp.sum(decision, axis=-1) - conditional, 0.0, 1.0)


WEIGHTINGS: dict[str, Callable[..., FloatArray]] = {"information": information}
"""Weights of pairs by the name of the parameter `weighting`."""


def weigh(votes: FloatArray, weights: FloatArray) -> FloatArray:
    """Move the votes of pairs towards 1/2, the more the smaller their weight.

    The sum of weighted votes exceeds half of their number exactly where the weighted mean of the
    votes exceeds 1/2.
    """
    return 0.5 + weights * (votes - 0.5)


def _entropy(shares: FloatArray, xp: Any) -> FloatArray:
    """Return the summands of an entropy, in bits."""
    return -shares * xp.log2(xp.where(shares > 0, shares, 1.0))
