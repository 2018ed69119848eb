"""The logistic function, many values at a time."""

import numpy as np

from pairmend._typing import FloatArray


def add_logistic(against: FloatArray, total: FloatArray) -> None:
    """Add the probabilities that log-odds stand for to a running total.

    Works in place, on `against`, too: the function is called for so many values that passes
    over memory are what it costs. Small probabilities keep all their digits.

    Parameters
    ----------
    against : ndarray
        Log-odds against the event; holds anything afterwards.
    total : ndarray of the same shape
        What the probabilities are added to.

    Examples
    --------
    >>> total = np.zeros(3)
    >>> add_logistic(np.array([0.0, np.log(3.0), 1000.0]), total)
    >>> total.tolist()
    [0.5, 0.25, 0.0]
    """
    with np.errstate(over="ignore"):
        np.exp(against, out=against)
    against += 1
    np.divide(1, against, out=against)
    total += against
