"""The logistic function, many values at a time."""

import numpy as np

from pairmend._typing import FloatArray


def mean_logistic(against: FloatArray) -> FloatArray:
    """Average the probabilities that log-odds stand for.

    Works in place: the function is called for so many values that passes over memory are what
    it costs. Small probabilities keep all their digits.

    Parameters
    ----------
    against : ndarray of shape (n, ...)
        Log-odds against the event; holds anything afterwards.

    Returns
    -------
    ndarray of shape (...)
        Mean over the first axis.

    Examples
    --------
    >>> mean_logistic(np.array([[0.0, 1000.0], [np.log(3.0), 1000.0]])).tolist()
    [0.375, 0.0]
    """
    with np.errstate(over="ignore"):
        np.exp(against, out=against)
    against += 1
    np.divide(1, against, out=against)
    total = np.add.reduce(against, axis=0)
    total /= len(against)
    return total
