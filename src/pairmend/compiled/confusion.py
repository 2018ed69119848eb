"""Sums of weights by what a label's pairs decided, for all its pairs at once."""

import numpy as np

from pairmend._typing import BoolArray, FloatArray, IntArray
from pairmend.compiled._numba import compile_loops


@compile_loops
def multiply(
    weights: FloatArray,
    rows: IntArray,
    decided: FloatArray,
    Y: BoolArray,
    label: int,
    columns: slice,
    first_shared: int,
    offset: IntArray,
    alone: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """Multiply what a label's pairs decided at its rows with the weights of these.

    Parameters
    ----------
    weights : ndarray of shape (M, t)
        Weights of all validation rows around points.
    rows : ndarray of int, shape (n,)
        Rows of the label.
    decided : ndarray of shape (n, L)
        What its pairs with other labels decided there, see :func:`pairmend.kernels.rrc.decide`.
    Y : ndarray of bool, shape (M, L)
        Labels of all validation rows.
    label : int
        The label.
    columns : slice
        Other labels in question.
    first_shared : int
        First of those for which rows that carry both labels are wanted.
    offset : ndarray of int
        The pair of labels i and j, i counted from the first in question, is at
        ``offset[i] + j``.
    alone : ndarray of shape (2, 2, n_pairs, t)
        Sums over rows without the other label are put there; indices: truth, decision, pair,
        point.

    Returns
    -------
    shared : ndarray of shape (2 n_shared, t)
        Sums of decisions for this label, then for the other, at rows with both.
    others : ndarray of int
        Those others, counted from the first in question: all that share a row.
    """
    first, last = columns.start, columns.stop
    n_rows, n_points, n_others = len(rows), weights.shape[1], last - first
    place = np.full(n_others, -1)
    for i in range(n_rows):
        for j in range(first_shared, last):
            if Y[rows[i], j]:
                place[j - first] = 0
    others = np.flatnonzero(place == 0)
    n_shared = len(others)
    for k in range(n_shared):
        place[others[k]] = 2 * n_others + k
    cells = np.zeros((n_rows, 2 * (n_others + n_shared)))
    around = np.empty((n_rows, n_points))
    for i in range(n_rows):
        around[i] = weights[rows[i]]
        carried, here = Y[rows[i]], cells[i]
        for j in range(n_others):
            smaller = abs(decided[i, first + j])
            turned = np.signbit(decided[i, first + j])
            own, other = (1 - smaller, smaller) if turned else (smaller, 1 - smaller)
            if not carried[first + j]:
                here[j], here[n_others + j] = own, other
            elif place[j] >= 0:
                here[place[j]], here[n_shared + place[j]] = own, other
    products = np.dot(cells.T, around)
    for j in range(n_others):
        own, other = products[j], products[n_others + j]
        if label < first + j:
            pair = offset[label - first] + first + j
            alone[0, 0, pair], alone[0, 1, pair] = own, other
        elif label > first + j:
            pair = offset[j] + label
            alone[1, 0, pair], alone[1, 1, pair] = other, own
    return products[2 * n_others :], others
