"""Sums over the rows of labels, and of two labels that share rows."""

import numpy as np

from pairmend._typing import BoolArray, FloatArray, IntArray
from pairmend.compiled._numba import compile_inner, compile_loops


@compile_loops
def sum_labels(
    X: FloatArray,
    centre: FloatArray,
    unit: FloatArray,
    Y: BoolArray,
    number: IntArray,
    first: int,
    last: int,
    labels: FloatArray,
    shared: FloatArray,
) -> None:
    """Add up values and squares of some features over the rows of labels.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    centre, unit : ndarray of shape (d,)
        Where each feature is 0, and what it is multiplied by from there.
    Y : ndarray of bool, shape (n, L)
        Label indicators.
    number : ndarray of int, shape (L, L)
        Place in `shared` of each two labels that share a row.
    first, last : int
        Which features.
    labels : ndarray of shape (L, 2 (last - first))
        Zeros; values, then squares, of the rows of each label are added there.
    shared : ndarray of shape (n_shared, 2 (last - first))
        Zeros; those of the rows of each two labels are added there.
    """
    width = last - first
    row = np.empty(2 * width)
    carried = np.empty(Y.shape[1], dtype=np.intp)
    zero, scale = centre[first:last], unit[first:last]
    for i in range(len(X)):
        n_carried = 0
        for label in range(Y.shape[1]):
            if Y[i, label]:
                carried[n_carried] = label
                n_carried += 1
        values = X[i, first:last]
        if n_carried == 1:
            total = labels[carried[0]]
            sums, squares = total[:width], total[width:]
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                sums[f] += value
                squares[f] += value * value
        elif n_carried:
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                row[f], row[width + f] = value, value * value
            for a in range(n_carried):
                _add(row, labels[carried[a]])
                for b in range(a + 1, n_carried):
                    _add(row, shared[number[carried[a], carried[b]]])


@compile_inner()
def _add(row: FloatArray, total: FloatArray) -> None:
    for c in range(len(row)):
        total[c] += row[c]
