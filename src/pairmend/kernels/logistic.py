"""The logistic function, many values at a time."""

import numpy as np

from pairmend._utils.typing import FloatArray

LIMIT = 700.0
"""Log-odds beyond which the exponential leaves its range, and its fast path."""


def mean_logistic(against: FloatArray) -> FloatArray:
    """Average the probabilities that log-odds stand for.

    Works in place: the function is called for so many values that passes over memory are what
    it costs. Small probabilities keep all their digits.

    Parameters
    ----------
    against : ndarray of shape (n, ...)
        Log-odds against the event; holds anything afterwards. Fastest if it is contiguous, or
        has three axes and is so with the last one first.

    Returns
    -------
    ndarray of shape (...)
        Mean over the first axis.

    Examples
    --------
    >>> mean_logistic(np.array([[0.0, -1000.0], [np.log(3.0), -1000.0]])).tolist()
    [0.375, 1.0]
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
