"""Sums of all labels directly from the rows, compiled for plain numbers."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import batches
from pairmend._utils.compilation import compiled, use_compiled
from pairmend._utils.threads import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.naive_bayes.design_matrix import MAX_DISTANCE, Design
from pairmend.naive_bayes.sums import LabelSums, Sums, sum_exclusive, with_virtual

MOST_SHARED = 2**23
"""Number of sums over the rows of two labels above which numpy is faster."""
DENSE_LABELS = 64
"""Number of labels up to which a dense product counts faster than a sparse one."""
AT_ONCE = 32
"""Features summed in one compiled call, at the least."""


@compiled
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
    """Add values and squares of features `first` to `last` over the rows of labels.

    Values are `(X - centre) * unit`. They are added to `labels`, (L, 2 (last - first)), values
    before squares, and for each two labels of a row to `shared` at their `number`.
    """
    width = last - first
    row = np.empty(2 * width)
    row_labels = np.empty(Y.shape[1], dtype=np.intp)
    zero, scale = centre[first:last], unit[first:last]
    for i in range(len(X)):
        n_row_labels = 0
        for label in range(Y.shape[1]):
            if Y[i, label]:
                row_labels[n_row_labels] = label
                n_row_labels += 1
        values = X[i, first:last]
        if n_row_labels == 1:
            total = labels[row_labels[0]]
            sums, squares = total[:width], total[width:]
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                sums[f] += value
                squares[f] += value * value
        elif n_row_labels:
            for f in range(width):
                value = (values[f] - zero[f]) * scale[f]
                row[f], row[width + f] = value, value * value
            for a in range(n_row_labels):
                total = labels[row_labels[a]]
                for c in range(2 * width):
                    total[c] += row[c]
                for b in range(a + 1, n_row_labels):
                    total = shared[number[row_labels[a], row_labels[b]]]
                    for c in range(2 * width):
                        total[c] += row[c]


def add_up_labels(
    X: Matrix, Y: BoolArray, weights: FloatArray | None, design: Design, *, has_virtual: bool
) -> LabelSums:
    """Sum rows by their labels, in the design's columns."""
    if isinstance(X, np.ndarray) and len(design.numeric) == X.shape[1] and weights is None:
        sums = _compiled(X, Y, design, has_virtual) if use_compiled(X.size) else None
        if sums is not None:
            return sums
    return LabelSums.over(Y, weights, design.expand(X), has_virtual=has_virtual)


def _compiled(X: FloatArray, Y: BoolArray, design: Design, has_virtual: bool) -> LabelSums | None:
    """Sum rows of numbers; None where there are other values, or too many sums."""
    X = np.ascontiguousarray(X)
    all_labels = with_virtual(Y) if has_virtual else Y
    n_labels, n_features = all_labels.shape[1], X.shape[1]
    together = _count_together(all_labels)
    first, second = np.nonzero(np.triu(together, k=1))
    if len(first) * n_features > MOST_SHARED:
        return None
    number = np.full((n_labels, n_labels), -1, dtype=np.int32)
    number[first, second] = number[second, first] = np.arange(len(first))
    labels, shared = (np.empty((n, 2 * n_features)) for n in (n_labels, len(first)))

    def add_up(features: slice) -> None:
        # Separate arrays: threads that write to adjacent memory slow each other down.
        width = features.stop - features.start
        ours = np.zeros((n_labels, 2 * width)), np.zeros((len(first), 2 * width))
        sum_labels(
            X, design.centre, design.unit, all_labels, number, features.start, features.stop, *ours
        )
        squares = slice(n_features + features.start, n_features + features.stop)
        for part, out in zip(ours, (labels, shared), strict=True):
            out[:, features], out[:, squares] = part[:, :width], part[:, width:]

    size = 2 * n_features * (len(X) + np.triu(together).sum())
    n_threads = thread_count(nanoseconds=0.3 * size)
    at_once = max(AT_ONCE, -(-n_features // n_threads))
    in_threads(add_up, list(batches(n_features, at_once)), n_threads)
    if (
        not labels[:, n_features:].max(initial=0) < MAX_DISTANCE**2
    ):  # NaN or beyond the largest distance
        return None
    none = np.zeros((0, 2 * n_features))
    sums = LabelSums(
        _dense_sums(np.diag(together).copy(), labels),
        _dense_sums(together[first, second], shared),
        number,
        _dense_sums(np.zeros(0, dtype=np.intp), none),
        np.full((len(first), 2), -1),
        has_virtual,
    ).with_exclusive_numbers()
    if len(pairs := sums.exclusive_pairs):
        extended = with_virtual(Y)
        chosen = np.flatnonzero((extended[:, pairs[:, 0]] & ~extended[:, pairs[:, 1]]).any(axis=1))
        sums = replace(
            sums, exclusive=sum_exclusive(pairs, Y[chosen], None, design.expand(X[chosen]))
        )
    return sums


def _count_together(Y: BoolArray) -> IntArray:
    """Count the rows of each two labels, and of each label."""
    if Y.shape[1] <= DENSE_LABELS:
        counted = Y.astype(float)
        return (counted.T @ counted).astype(np.intp)
    row_labels = sparse.csr_array(Y, dtype=np.intp)
    return (row_labels.T @ row_labels).toarray()


def _dense_sums(count: IntArray, columns: FloatArray) -> Sums:
    return Sums(count.astype(float), count, columns, None, None)
