"""The logistic function of many values."""

import numpy as np

from pairmend._utils.typing import FloatArray
from pairmend.kernels.folding import fold

LIMIT = 700.0
"""Log-odds beyond which the exponential overflows, or leaves its fast path."""
SMALLEST = 2.0**-115
"""Smallest mean probability that is folded, about 2e-35.

Decisions of the reference classifier have about the square of it as probability. Weights times
that are no subnormal numbers, and its square root is in the range of single precision."""


def mean_logistic(against: FloatArray) -> FloatArray:
    """Return the mean over the first axis of the probabilities with these log-odds against.

    Works in place, as passes over memory dominate the cost; `against` is overwritten. Small
    probabilities keep all their digits. Fastest if `against` is contiguous, or has three axes and
    is contiguous with the last one first.
    """
    np.clip(against, -LIMIT, LIMIT, out=against)
    np.exp(against, out=against)
    against += 1
    np.divide(1, against, out=against)
    if against.ndim == 3 and not against.flags.c_contiguous:
        share = np.full(len(against), 1 / len(against), dtype=against.dtype)
        return (share @ against.transpose(2, 0, 1)).T
    mean: FloatArray = np.add.reduce(against, axis=0)
    mean /= len(against)
    return mean


def folded_mean_logistic(against: FloatArray) -> FloatArray:
    """Return the same mean and its complement as one number, see :mod:`pairmend.kernels.folding`.

    The probability that is smaller in the first of n summands is averaged. Its complement is then
    at least 1 / (2 n), and keeps its digits. `against` is overwritten.
    """
    side = np.copysign(1.0, against[0])
    against *= side
    return side * fold(np.maximum(mean_logistic(against), SMALLEST))
