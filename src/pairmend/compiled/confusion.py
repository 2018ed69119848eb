"""Sums of weights by what a label's pairs decided, for all its pairs at once."""

import numpy as np

from pairmend._products import LARGEST
from pairmend._typing import BoolArray, FloatArray, IntArray
from pairmend.compiled._numba import compile_inner, compile_loops

DEPTH = 128
"""Rows whose cells are multiplied at once."""
SIDE = 48
"""Cells of a block, if there are many points, too."""


@compile_inner()
def _add_product(
    cells: FloatArray, weights: FloatArray, rows: IntArray, products: FloatArray
) -> None:
    """Add the product of cells, transposed, and some rows of weights, in blocks.

    Each block is small enough for BLAS to stay in this thread, see :mod:`pairmend._products`.
    """
    (depth, m), n = cells.shape, weights.shape[1]
    width = min(n, max(1, LARGEST // (depth * min(m, SIDE))))
    height = min(m, max(1, LARGEST // (depth * width)))
    first, second = np.empty(depth * height), np.empty(depth * width)
    product = np.empty(height * width)
    for left in range(0, n, width):
        right = min(left + width, n)
        b = second[: depth * (right - left)].reshape((depth, right - left))
        for i in range(depth):
            b[i] = weights[rows[i], left:right]
        for top in range(0, m, height):
            bottom = min(top + height, m)
            a = first[: depth * (bottom - top)].reshape((depth, bottom - top))
            a[:] = cells[:, top:bottom]
            block = product[: (bottom - top) * (right - left)]
            block = block.reshape((bottom - top, right - left))
            np.dot(a.T, b, block)
            for j in range(bottom - top):
                line = products[top + j, left:right]
                for k in range(right - left):
                    line[k] += block[j, k]


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
    n_cells = 2 * (n_others + n_shared)
    products = np.zeros((n_cells, n_points))
    depth = min(n_rows, DEPTH)
    cells = np.empty((depth, n_cells))
    for start in range(0, n_rows, depth):
        here = cells[: min(depth, n_rows - start)]
        here[:] = 0
        for i in range(len(here)):
            carried, line = Y[rows[start + i]], here[i]
            for j in range(n_others):
                decision = decided[start + i, first + j]
                smaller, turned = abs(decision), np.signbit(decision)
                own, other = (1 - smaller, smaller) if turned else (smaller, 1 - smaller)
                if not carried[first + j]:
                    line[j], line[n_others + j] = own, other
                elif place[j] >= 0:
                    line[place[j]], line[n_shared + place[j]] = own, other
        _add_product(here, weights, rows[start : start + depth], products)
    for j in range(n_others):
        own, other = products[j], products[n_others + j]
        if label < first + j:
            pair = offset[label - first] + first + j
            alone[0, 0, pair], alone[0, 1, pair] = own, other
        elif label > first + j:
            pair = offset[j] + label
            alone[1, 0, pair], alone[1, 1, pair] = other, own
    return products[2 * n_others :], others
