"""The logistic function of many values."""

import numpy as np

from pairmend._utils.typing import FloatArray

LIMIT = 700.0
"""Log-odds beyond which the exponential overflows, or leaves its fast path."""


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
