"""The sums of all labels from the rows themselves: compiled, where these are plain numbers."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import batches
from pairmend._utils.compilation import compiled, use_compiled
from pairmend._utils.products import multiply
from pairmend._utils.threads import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.naive_bayes.design_matrix import FAR, Design
from pairmend.naive_bayes.sums import LabelSums, Sums, sum_alone, with_virtual

MOST_SHARED = 2**23
"""Sums of features over the rows of two labels beyond which numpy adds up faster."""
FEW_LABELS = 64
"""Labels up to which a dense product counts faster than a sparse one."""
AT_ONCE = 32
"""Features that compiled code adds up at once, at the least."""


@compiled()
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
    labels_here = np.empty(Y.shape[1], dtype=np.intp)
    zero, scale = centre[first:last], unit[first:last]
    for i in range(len(X)):
        n_labels_here = 0
        for label in range(Y.shape[1]):
            if Y[i, label]:
                labels_here[n_labels_here] = label
                n_labels_here += 1
        values = X[i, first:last]
        if n_labels_here == 1:
            total = labels[labels_here[0]]
            sums, squares = total[:width], total[width:]
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                sums[f] += value
                squares[f] += value * value
        elif n_labels_here:
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                row[f], row[width + f] = value, value * value
            for a in range(n_labels_here):
                _add(row, labels[labels_here[a]])
                for b in range(a + 1, n_labels_here):
                    _add(row, shared[number[labels_here[a], labels_here[b]]])


@compiled()
def _add(row: FloatArray, total: FloatArray) -> None:
    for c in range(len(row)):
        total[c] += row[c]


def add_up_labels(
    X: Matrix, Y: BoolArray, weights: FloatArray | None, design: Design, *, has_virtual: bool
) -> LabelSums:
    """Add up rows by their labels.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Rows.
    Y : ndarray of bool, shape (n, L)
        Label indicators.
    weights : ndarray of shape (n,) or None
        Weights of the rows, if they are not all 1.
    design : Design
        In which the rows are to be written.
    has_virtual : bool
        Whether a virtual label is to be added.

    Returns
    -------
    LabelSums
    """
    if isinstance(X, np.ndarray) and len(design.numeric) == X.shape[1] and weights is None:
        sums = _compiled(X, Y, design, has_virtual) if use_compiled(X.size) else None
        if sums is not None:
            return sums
    return LabelSums.over(Y, weights, design.expand(X), has_virtual=has_virtual)


def _compiled(X: FloatArray, Y: BoolArray, design: Design, has_virtual: bool) -> LabelSums | None:
    """Add up rows of numbers; None where there are other values, or too many sums."""
    X = np.ascontiguousarray(X)
    ranked = with_virtual(Y) if has_virtual else Y
    n_labels, n_features = ranked.shape[1], X.shape[1]
    together = _count_together(ranked)
    first, second = np.nonzero(np.triu(together, k=1))
    if len(first) * n_features > MOST_SHARED:
        return None
    number = np.full((n_labels, n_labels), -1, dtype=np.int32)
    number[first, second] = number[second, first] = np.arange(len(first))
    labels, shared = (np.empty((n, 2 * n_features)) for n in (n_labels, len(first)))

    def add_up(features: slice) -> None:
        # Sums of their own: threads that write side by side get in each other's way.
        width = features.stop - features.start
        ours = np.zeros((n_labels, 2 * width)), np.zeros((len(first), 2 * width))
        sum_labels(
            X, design.centre, design.unit, ranked, number, features.start, features.stop, *ours
        )
        squares = slice(n_features + features.start, n_features + features.stop)
        for part, out in zip(ours, (labels, shared), strict=True):
            out[:, features], out[:, squares] = part[:, :width], part[:, width:]

    size = 2 * n_features * (len(X) + np.triu(together).sum())
    n_threads = thread_count(nanoseconds=0.3 * size)
    at_once = max(AT_ONCE, -(-n_features // n_threads))
    in_threads(add_up, list(batches(n_features, at_once)), n_threads)
    if not labels[:, n_features:].max(initial=0) < FAR**2:  # NaN, or far beyond
        return None
    none = np.zeros((0, 2 * n_features))
    sums = LabelSums(
        _dense_sums(np.diag(together).copy(), labels),
        _dense_sums(together[first, second], shared),
        number,
        _dense_sums(np.zeros(0, dtype=np.intp), none),
        np.full((len(first), 2), -1),
        has_virtual,
    ).marked()
    if len(pairs := sums.alone_pairs):
        full = with_virtual(Y)
        few = np.flatnonzero((full[:, pairs[:, 0]] & ~full[:, pairs[:, 1]]).any(axis=1))
        sums = replace(sums, alone=sum_alone(pairs, Y[few], None, design.expand(X[few])))
    return sums


def _count_together(Y: BoolArray) -> IntArray:
    """Count the rows of each two labels, and of each label."""
    if Y.shape[1] <= FEW_LABELS:
        counted = Y.astype(float)
        return multiply(counted.T, counted).astype(np.intp)
    labels_here = sparse.csr_array(Y, dtype=np.intp)
    return (labels_here.T @ labels_here).toarray()


def _dense_sums(count: IntArray, columns: FloatArray) -> Sums:
    return Sums(count.astype(float), count, columns, None, None)
