"""Local fuzzy confusion matrices of pairs, as matrix products over the rows of labels.

A row counts in the pairs of its own labels only. So there is, for each label, a dense matrix
of its validation rows and all other labels: what the pair of the two decided there. Weights
times these matrices are the confusion sums of all pairs.

A virtual label has all rows, and no row carries it: a row with a label counts for the label
in the pair of the two, never for both, and a row without it for the virtual label.
"""

from dataclasses import dataclass

import numpy as np

from pairmend._utils.compilation import compiled, use_compiled
from pairmend._utils.products import LARGEST, multiply
from pairmend._utils.threads import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.indexing import check_indices, check_shape
from pairmend.kernels.pairs import LabelRows, pairs_of
from pairmend.kernels.rrc import unfold

COMPILED = 4
"""Weights, for each of the labels, that are as much work as a value is elsewhere."""


DEPTH = 128
"""Rows whose cells are multiplied at once."""
SIDE = 48
"""Cells of a block, if there are many points, too."""


@compiled()
def _add_product(
    cells: FloatArray, weights: FloatArray, rows: IntArray, products: FloatArray
) -> None:
    """Add the product of cells, transposed, and some rows of weights, in blocks.

    Each block is small enough for BLAS to stay in this thread, see :mod:`pairmend._utils.products`.
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


@compiled()
def multiply_loops(
    weights: FloatArray,
    rows: IntArray,
    p_decide: FloatArray,
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
    p_decide : ndarray of shape (n, L)
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
            label_rows, line = Y[rows[start + i]], here[i]
            for j in range(n_others):
                decision = p_decide[start + i, first + j]
                smaller, turned = abs(decision), np.signbit(decision)
                own, other = (1 - smaller, smaller) if turned else (smaller, 1 - smaller)
                if not label_rows[first + j]:
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


def balance_weights(n_first: FloatArray, n_second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights of the two classes of a pair, against imbalance (FCM-W, section 3.4.2).

    With the numbers of rows that carry one label without the other, they make the two classes
    count alike.

    Parameters
    ----------
    n_first, n_second : ndarray of shape (n_pairs,)
        How many validation rows each class has.

    Returns
    -------
    w_first, w_second : ndarray of shape (n_pairs,)
        ``min(1, n_second / n_first)`` and the other way round; a class without rows,
        which has nothing to weigh, gets 1.

    Examples
    --------
    >>> w_first, w_second = balance_weights(np.array([10, 2, 0]), np.array([5, 4, 3]))
    >>> w_first.tolist(), w_second.tolist()
    ([0.5, 1.0, 1.0], [1.0, 0.5, 0.0])
    """

    def weight(own: FloatArray, other: FloatArray) -> FloatArray:
        return np.minimum(1, np.where(own > 0, other / np.where(own > 0, own, 1), 1))

    return weight(n_first, n_second), weight(n_second, n_first)


@dataclass(frozen=True)
class ConfusionSums:
    """Sums around points from which the confusion matrices of all variants are made.

    Attributes
    ----------
    alone : ndarray of shape (2, 2, B, t)
        Over rows that carry one label of the pair; indices: truth, decision, pair, point.
    shared : ndarray of shape (2, n_sharing, t)
        Over rows that carry both labels; indices: decision, pair among `sharing`, point.
    sharing : ndarray of int, shape (n_sharing,)
        Pairs whose labels share rows; none if they were not asked for.
    """

    alone: FloatArray
    shared: FloatArray
    sharing: IntArray

    def confusion(
        self, overlap: float = 0.0, balance: tuple[FloatArray, FloatArray] | None = None
    ) -> FloatArray:
        """Make confusion matrices.

        Parameters
        ----------
        overlap : float
            Membership in both classes of rows that carry both labels: 0 for FCM, 1/2 for
            FCM-O (section 3.4.3).
        balance : tuple of two ndarrays of shape (B,), default=None
            Weights of the two classes of each pair (FCM-W).

        Returns
        -------
        ndarray of shape (t, B, 2, 2)
            Indices: point, pair, truth, decision. Possibly a view of the sums.
        """
        e = self.alone
        if overlap and len(self.sharing):
            e = self.alone.copy()
            e[:, :, self.sharing] += overlap * self.shared
        if balance is not None:
            e = e * np.stack(balance)[:, np.newaxis, :, np.newaxis]
        return e.transpose(3, 2, 0, 1)


@dataclass(frozen=True)
class ValidationDecisions:
    """What the pair classifiers decided on the validation rows.

    Attributes
    ----------
    label_rows : LabelRows
        Validation rows of each label.
    Y : ndarray of bool, shape (M, L)
        Labels of the validation rows. The column of a virtual label is false, so that in its
        pair with another label no row belongs to both.
    p_decide : ndarray of shape (n_entries, L)
        What the pair of an entry's label and each other label decided there, see
        :func:`~pairmend.kernels.rrc.decide`.
    """

    label_rows: LabelRows
    Y: BoolArray
    p_decide: FloatArray

    def sizes(self, row_weights: FloatArray) -> FloatArray:
        """Return the weight of the rows of each label without each other, (L, L).

        Parameters
        ----------
        row_weights : ndarray of shape (M,)
            Weights of the validation rows themselves.

        Examples
        --------
        >>> Y = np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)
        >>> decisions = ValidationDecisions(LabelRows.of(Y), Y, np.zeros((4, 2)))
        >>> decisions.sizes(np.array([1.0, 5.0, 2.0])).tolist()
        [[0.0, 1.0], [2.0, 0.0]]
        """
        own = np.zeros(self.Y.shape)
        own[self.label_rows.rows, self.label_rows.label] = row_weights[self.label_rows.rows]
        return own.T @ ~self.Y

    def cells(self, label: int, labels: slice, *, shared: bool) -> tuple[FloatArray, IntArray]:
        """Return what weights are multiplied with for the pairs of one label in a block.

        Parameters
        ----------
        label : int
            The label, not below the first of the block.
        labels : slice
            First labels of the block's pairs.
        shared : bool
            Whether rows that carry both labels are summed, too.

        Returns
        -------
        cells : ndarray of shape (n, n_cells)
            For each other label of the block decisions for this one, then for the other, at
            rows without the other; then the same at rows with it, for some others.
        others : ndarray of int
            Those others, counted from the start of the block: all that share a row.
        """
        n_labels = self.label_rows.n_labels
        entries = self.label_rows.entries(label)
        is_first = label < labels.stop
        columns = slice(labels.start, n_labels if is_first else labels.stop)
        also = self.Y[self.label_rows.rows[entries], columns]
        others = np.empty(0, dtype=np.intp)
        if shared and is_first:
            low = label + 1 - labels.start
            others = low + np.flatnonzero(also[:, low:].any(axis=0))
        decisions = unfold(self.p_decide[entries, columns])
        cells = [np.where(also, 0, part) for part in decisions]
        if len(others):
            cells += [np.where(also[:, others], part[:, others], 0) for part in decisions]
        return np.hstack(cells), others


class _Block:
    """Where the pairs of a label lie among those of a block: (i, j) at ``offset[i] + j``."""

    def __init__(self, labels: slice, n_labels: int):
        self.labels, self.n_labels = labels, n_labels
        first = np.arange(labels.start, labels.stop)
        self.offset = np.cumsum(n_labels - 1 - first) - n_labels

    def put(self, label: int, products: FloatArray, alone: FloatArray) -> FloatArray:
        """Write the sums of a label's pairs; return the rest, sums over shared rows."""
        labels, is_first = self.labels, label < self.labels.stop
        n_columns = (self.n_labels if is_first else labels.stop) - labels.start
        own, other = products[:n_columns], products[n_columns : 2 * n_columns]
        if is_first:
            at, low = self.start(label), label + 1 - labels.start
            here = slice(at + label + 1, at + self.n_labels)
            alone[0, 0][here], alone[0, 1][here] = own[low:], other[low:]
        # Pairs in which the label is the second.
        where = self.offset[: max(0, label - labels.start)] + label
        alone[1, 0][where] = other[: len(where)]
        alone[1, 1][where] = own[: len(where)]
        return products[2 * n_columns :]

    def columns(self, label: int) -> slice:
        """Return the labels that a label, not below the first of the block, meets there."""
        return slice(
            self.labels.start, self.n_labels if label < self.labels.stop else self.labels.stop
        )

    def start(self, label: int) -> int:
        """Return the offset of a first label."""
        return int(self.offset[label - self.labels.start])


def confusion_sums(
    weights: FloatArray, decisions: ValidationDecisions, labels: slice, *, shared: bool
) -> ConfusionSums:
    """Count, around each point, what the pair classifiers decided against the truth.

    With weights w, memberships v in the true class and probabilities r = P(h | x) of the
    decision h, the sums over validation rows (section 3.4.1, before division by the
    neighbourhood's size) are

        e[truth, decision] = sum of w * v[truth] * r[decision]

    Each is summed for itself: a difference of two sums would leave rounding where the method
    needs to see an exact zero.

    Parameters
    ----------
    weights : ndarray of shape (M, t)
        Weights of the validation rows around each point.
    decisions : ValidationDecisions
        What the pairs decided on the validation rows.
    labels : slice
        First labels of the pairs in question.
    shared : bool
        Whether rows that carry both labels are summed, too.

    Returns
    -------
    ConfusionSums
        For all pairs whose first label is one of `labels`.

    Examples
    --------
    >>> Y = np.array([[1, 0], [0, 1]], dtype=bool)
    >>> decisions = ValidationDecisions(LabelRows.of(Y), Y, np.array([[0.5, -0.25], [0.5, 0.5]]))
    >>> sums = confusion_sums(np.array([[1.0], [0.5]]), decisions, slice(0, 1), shared=False)
    >>> sums.confusion()[0, 0].tolist()
    [[0.75, 0.25], [0.25, 0.25]]
    """
    n_labels, n_points = decisions.label_rows.n_labels, weights.shape[1]
    pairs = pairs_of(labels, n_labels)
    block = _Block(labels, n_labels)
    alone = np.zeros((2, 2, pairs.stop - pairs.start, n_points))
    # Of rows that carry both labels, by the first of them.
    nothing = np.empty(0, dtype=np.intp), np.empty((2, 0, n_points))
    both = [nothing] * (labels.stop - labels.start)

    loops = use_compiled(weights.size * n_labels // COMPILED)
    if loops:
        weights = np.ascontiguousarray(weights)  # as neighbourhoods of the library give them
        label_rows = decisions.label_rows
        check_shape(decisions.Y, (len(weights), n_labels), "labels of validation rows")
        check_shape(decisions.p_decide, (len(label_rows.rows), n_labels), "decisions")
        check_indices(label_rows.rows, len(weights), "validation rows")

    def add_rows(label: int) -> None:
        entries = decisions.label_rows.entries(label)
        rows = decisions.label_rows.rows[entries]
        if loops:
            columns = block.columns(label)
            first_shared = label + 1 if shared and label < labels.stop else columns.stop
            left, others = multiply_loops(
                weights, rows, decisions.p_decide[entries], decisions.Y,
                label, columns, first_shared, block.offset, alone,
            )  # fmt: skip
        else:
            cells, others = decisions.cells(label, labels, shared=shared)
            left = block.put(label, multiply(cells.T, weights[rows]), alone)
        if len(others):
            sharing = block.start(label) + labels.start + others
            both[label - labels.start] = sharing, left.reshape(2, len(others), n_points)

    present = np.flatnonzero(np.diff(decisions.label_rows.indptr[labels.start :])) + labels.start
    size = 0.1 * decisions.p_decide.size * n_points
    in_threads(add_rows, present.tolist(), thread_count(nanoseconds=size))
    which, sums = zip(nothing, *both, strict=True)
    return ConfusionSums(alone, np.concatenate(sums, axis=1), np.concatenate(which))
