"""Weights that vanish are not multiplied.

In a narrow neighbourhood most validation rows weigh next to nothing around a point. Around each
point, of each label only those rows are kept that weigh a fair part of its nearest row there: a
label all of whose rows are far still counts by the nearest of them. What the others could do is
bounded (:func:`~pairmend.kernels.correction.unsettled`); where the bound does not do, they are
summed after all (:func:`~pairmend.kernels.confusion.add_up_again`).
"""

import numpy as np
from scipy import sparse

from pairmend._pairs import LabelRows
from pairmend._typing import FloatArray, Matrix

TOLERANCE = 1e-13
"""How much rows left out may move a corrected support, at the most.

Less than half of the 12th digit, to which scores are cut: what ties without them, ties."""

MARGIN = 1e-8
"""How small confusion sums may be, beside the weight of a label's nearest row, and still be
settled. The smaller, the more rows are kept, and the fewer pairs are summed again."""

# Nanoseconds on one processor of 2024; only their ratios matter.
DENSE, SPARSE = 0.05, 0.3  # a multiplication
SCAN = 3.0  # of a weight, in search of those to keep
CHECK = 20.0  # of a pair at a point
CALL = 1e5  # of a sparse product


def cut_for(n_rows: int) -> float:
    """Return the relative weight below which rows are left out, if there are so many of them."""
    return TOLERANCE * MARGIN / max(1, n_rows)


def leave_out(weights: FloatArray, cut: float) -> tuple[Matrix, FloatArray]:
    """Leave out rows that vanish beside the nearest one.

    Parameters
    ----------
    weights : ndarray of shape (n, t)
        Weights of some rows around each point.
    cut : float
        Relative to the nearest row, what is left out weighs less.

    Returns
    -------
    kept : CSR of shape (n, t)
        What is left; the weights as they are if that is too much to be worth it.
    skipped : ndarray of shape (t,)
        No more weight than this was left out around each point.

    Examples
    --------
    >>> weights = np.zeros((100, 2))
    >>> weights[:3] = [[1.0, 1e-30], [1e-40, 1e-30], [0.5, 1e-31]]
    >>> kept, skipped = leave_out(weights, cut=1e-20)
    >>> kept.nnz, skipped.tolist()
    (5, [9.8e-19, 9.7e-49])
    """
    nearest = weights.max(axis=0)
    low = cut * nearest
    # Weights that are zero are left out at no loss.
    place = np.flatnonzero(weights >= np.maximum(low, np.finfo(low.dtype).smallest_subnormal))
    if len(place) * SPARSE > weights.size * DENSE:
        return weights, np.zeros(weights.shape[1])
    row, column = np.divmod(place, weights.shape[1])
    indptr = np.searchsorted(row, np.arange(len(weights) + 1))
    kept = sparse.csr_array((weights.ravel()[place], column, indptr), shape=weights.shape)
    return kept, (len(weights) - np.bincount(column, minlength=weights.shape[1])) * low


def worth_skipping(weights: FloatArray, carried: LabelRows, cut: float) -> bool:
    """Estimate from some of the points whether leaving out rows saves time.

    Parameters
    ----------
    weights : ndarray of shape (M, t)
        Weights of the validation rows around each point.
    carried : LabelRows
        Validation rows of each label.
    cut : float
        See :func:`leave_out`.

    Returns
    -------
    bool

    Examples
    --------
    >>> carried = LabelRows.of(np.arange(50_000)[:, np.newaxis] % 100 == np.arange(100))
    >>> weights = np.where(np.arange(50_000) < 100, 1.0, 1e-30)[:, np.newaxis]
    >>> weights = np.broadcast_to(weights, (50_000, 500))
    >>> worth_skipping(weights, carried, cut=1e-20), worth_skipping(weights, carried, cut=1e-40)
    (True, False)
    """
    n_points, n_labels, n_entries = weights.shape[1], carried.n_labels, len(carried.rows)
    n_cells = 2 * (n_labels - 1)
    pairs = n_labels * (n_labels - 1) / 2
    spared = n_entries * (n_cells * DENSE - SCAN) - pairs * CHECK - n_labels * CALL / n_points
    if spared <= 0:
        return False
    sample = np.linspace(0, n_points - 1, min(n_points, 8)).astype(int)
    around = weights[:, sample][carried.rows]
    some = np.diff(carried.indptr) > 0
    nearest = np.maximum.reduceat(around, carried.indptr[:-1][some], axis=0)
    low = np.maximum(cut * nearest, np.finfo(nearest.dtype).smallest_subnormal)
    kept = around >= np.repeat(low, np.diff(carried.indptr)[some], axis=0)
    return bool(kept.mean() * n_entries * n_cells * SPARSE < spared)
