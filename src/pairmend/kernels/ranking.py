"""From supports of pairs to scores of labels."""

import numpy as np
from scipy import sparse

from pairmend._typing import FloatArray, IntArray


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
    return (1 + np.sign(np.round(supports - 0.5, 12))) / 2


def sum_supports(supports: FloatArray, pairs: IntArray, n_labels: int) -> FloatArray:
    """Add up what a block of pairs says for each label (eq. 4, before the division).

    Parameters
    ----------
    supports : ndarray of shape (t, B)
        Supports for the first labels of the pairs.
    pairs : ndarray of shape (B, 2)
        The pairs.
    n_labels : int
        Number of labels L.

    Returns
    -------
    ndarray of shape (t, L)
        Sums; over all blocks, divided by L - 1, they are the labels' scores.

    Examples
    --------
    >>> supports = np.array([[0.75, 1.0, 0.5]])
    >>> sum_supports(supports, np.array([[0, 1], [0, 2], [1, 2]]), 3).tolist()
    [[1.75, 0.75, 0.5]]
    """

    def incidence(side: int) -> sparse.csr_array:
        ones = np.ones(len(pairs), dtype=supports.dtype)
        cells = (pairs[:, side], np.arange(len(pairs)))
        return sparse.csr_array((ones, cells), shape=(n_labels, len(pairs)))

    return (incidence(0) @ supports.T + incidence(1) @ (1 - supports).T).T
