"""Local fuzzy confusion matrices of pairs, as matrix products over the rows of labels.

A row counts in the pairs of its own labels only. So there is, for each label, a dense matrix
of its validation rows and all other labels: what the pair of the two decided there. Weights
times these matrices are the confusion sums of all pairs.
"""

from dataclasses import dataclass

import numpy as np

from pairmend._pairs import LabelRows, pairs_of
from pairmend._typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.rrc import unfold


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
            e = e.copy()
            e[:, :, self.sharing] += (overlap * self.shared).astype(e.dtype, copy=False)
        if balance is not None:
            e = e * np.stack(balance).astype(e.dtype)[:, np.newaxis, :, np.newaxis]
        return e.transpose(3, 2, 0, 1)


def confusion_sums(
    weights: FloatArray,
    carried: LabelRows,
    Y: BoolArray,
    decided: FloatArray,
    labels: slice,
    *,
    shared: bool,
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
    carried : LabelRows
        Validation rows of each label.
    Y : ndarray of bool, shape (M, L)
        Labels of the validation rows.
    decided : ndarray of shape (n_entries, L)
        What the pair of an entry's label and each other label decided there, see
        :func:`~pairmend.kernels.rrc.decide`.
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
    >>> sums = confusion_sums(np.array([[1.0], [0.5]]), LabelRows.of(Y), Y,
    ...                       np.array([[0.5, -0.25], [0.5, 0.5]]), slice(0, 1), shared=False)
    >>> sums.confusion()[0, 0].tolist()
    [[0.75, 0.25], [0.25, 0.25]]
    """
    n_labels, n_points = carried.n_labels, weights.shape[1]
    pairs = pairs_of(labels, n_labels)
    n_pairs = pairs.stop - pairs.start
    alone = np.zeros((2, 2, n_pairs, n_points), dtype=weights.dtype)
    both = [np.empty((2, 0, n_points), dtype=weights.dtype)]
    sharing = [np.empty(0, dtype=np.intp)]
    # Pair (i, j) of the block lies at `offset[i] + j`.
    first = np.arange(labels.start, labels.stop)
    offset = np.array([pairs_of(slice(i, i + 1), n_labels).start - i - 1 for i in first])
    offset -= pairs.start
    for label in range(labels.start, n_labels):
        entries = carried.entries(label)
        rows = carried.rows[entries]
        if not len(rows):
            continue
        is_first = label < labels.stop
        columns = slice(labels.start, n_labels if is_first else labels.stop)
        low = label + 1 - labels.start  # columns from here on are second labels of pairs
        also = Y[rows, columns]
        decisions = np.concatenate(unfold(decided[entries, columns]), axis=1)
        cells = [np.where(np.hstack([also, also]), 0, decisions)]
        n_columns = also.shape[1]
        used = np.empty(0, dtype=np.intp)
        if shared and is_first:
            used = low + np.flatnonzero(also[:, low:].any(axis=0))
            cells += [
                np.where(also[:, used], decisions[:, shift + used], 0) for shift in (0, n_columns)
            ]
        # All sums of the label's rows in one product.
        products = np.hstack(cells).astype(weights.dtype, copy=False).T @ weights[rows]
        own, other = products[:n_columns], products[n_columns : 2 * n_columns]
        if is_first:
            at = int(offset[label - labels.start])
            here = slice(at + label + 1, at + n_labels)
            alone[0, 0, here], alone[0, 1, here] = own[low:], other[low:]
            sharing.append(at + labels.start + used)
            both.append(products[2 * n_columns :].reshape(2, len(used), n_points))
        earlier = min(label, labels.stop) - labels.start  # first labels of pairs it is second in
        where = offset[:earlier] + label
        alone[1, 0, where], alone[1, 1, where] = other[:earlier], own[:earlier]
    return ConfusionSums(alone, np.concatenate(both, axis=1), np.concatenate(sharing))
