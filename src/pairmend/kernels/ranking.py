"""From supports of pairs to scores of labels."""

import numpy as np

from pairmend._utils.typing import FloatArray


def vote(supports: FloatArray) -> FloatArray:
    """Replace supports by the winner's vote; a tie gives half a vote to each (eq. 5).

    A lead of less than 1e-12 is rounding, and counts as a tie.

    Parameters
    ----------
    supports : ndarray
        Supports for the first labels of pairs, in [0, 1].

    Returns
    -------
    ndarray
        0, 1/2 or 1, of the same shape and dtype.

    Examples
    --------
    >>> vote(np.array([0.2, 0.5, 0.7])).tolist()
    [0.0, 0.5, 1.0]
    """
    digits = 12 if supports.dtype == np.float64 else 6
    return (1 + np.sign(np.round(supports - 0.5, digits))) / 2


def sum_supports(supports: FloatArray, labels: slice, n_labels: int) -> FloatArray:
    """Add up what a block of pairs says for each label (eq. 4, before the division).

    Parameters
    ----------
    supports : ndarray of shape (t, B)
        Supports for the first labels of the pairs.
    labels : slice
        First labels of the pairs.
    n_labels : int
        Number of labels L.

    Returns
    -------
    ndarray of shape (t, L)
        Sums; over all blocks, divided by L - 1, they are the labels' scores.

    Examples
    --------
    >>> sum_supports(np.array([[0.75, 1.0, 0.5]]), slice(0, 2), 3).tolist()
    [[1.75, 0.75, 0.5]]
    """
    by_pair = supports.T
    total = np.zeros((n_labels, len(supports)))  # many single-precision numbers add up badly
    start = 0
    for label in range(labels.start, labels.stop):
        n_others = n_labels - 1 - label
        own = by_pair[start : start + n_others]
        total[label] += own.sum(axis=0, dtype=total.dtype)
        others = total[label + 1 :]
        others += 1
        others -= own
        start += n_others
    return total.T


def sum_to_one(scores: FloatArray) -> FloatArray:
    """Scale the scores of each row so that they sum to 1; alike where all are 0.

    Examples
    --------
    >>> sum_to_one(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    total = scores.sum(axis=1, keepdims=True)
    uniform = np.full_like(scores, 1 / scores.shape[1])
    return np.divide(scores, total, out=uniform, where=total > 0)
