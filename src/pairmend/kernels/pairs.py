"""Pairs of labels: their order, their local confusion matrices, and votes for scores of labels.

Pair ``m = (i, j)``, ``i < j``, is one binary problem: label ``i`` against label ``j``.
Everywhere in the library pairs have the order (0, 1), (0, 2), ..., (L-2, L-1).

A calibrated ranking has a virtual label, number L, after all others: the pairs are those of
L + 1 labels, and pair (i, L) is label i against its absence, a problem of all rows.

Fuzzy confusion matrices of pairs are matrix products over the rows of each label. A row enters the
pairs of its own labels only. For each label there is a dense matrix of its validation rows and all
other labels: the probabilities that their pair decides for the label. Weights times these matrices
are the confusion sums of all pairs.

A virtual label has all rows, and its column of Y is false: in its pair with another label, a row
with that label belongs to the label, and a row without it to the virtual label.

The namespace `xp` has the functions of the array API for arrays of any library.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.arrays import Convert, Namespace
from pairmend._utils.computing import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.rrc import DIGITS, unfold
from pairmend.kernels.rrc import share as share


def label_pairs(n_labels: int) -> IntArray:
    """Return the first and second label of each pair, (L * (L - 1) / 2, 2)."""
    return np.column_stack(np.triu_indices(n_labels, k=1))


@dataclass(frozen=True)
class LabelRows:
    """The rows that have each label, label after label, as in a CSR matrix."""

    indptr: IntArray  # (L + 1,), entries indptr[i]:indptr[i + 1] belong to label i
    rows: IntArray  # (n_entries,), row number of each entry, ascending within a label

    @classmethod
    def of(cls, Y: BoolArray, *, has_virtual: bool = False) -> "LabelRows":
        """Find the rows of each label; those of a virtual label, if there is one, are all rows."""
        if has_virtual:
            Y = np.column_stack([Y, np.ones(len(Y), dtype=bool)])
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(Y, axis=0))])
        return cls(indptr, np.nonzero(Y.T)[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.indptr) - 1

    @property
    def label(self) -> IntArray:
        """Label of each entry."""
        return np.repeat(np.arange(self.n_labels), np.diff(self.indptr))

    def entries(self, label: int) -> slice:
        """Return the slice of a label's entries."""
        return slice(int(self.indptr[label]), int(self.indptr[label + 1]))

    def weights(self, Y: BoolArray, row_weights: FloatArray) -> FloatArray:
        """Return the total weight of the rows of each label without each other label, (L, L)."""
        own = np.zeros(Y.shape)
        own[self.rows, self.label] = row_weights[self.rows]
        return own.T @ ~Y

    def among(self, rows: IntArray, n_rows: int) -> tuple["LabelRows", BoolArray]:
        """Keep the entries of some rows (ascending), renumbered; also return which were kept."""
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        place = place[self.rows]
        chosen = place >= 0
        counts = np.bincount(self.label[chosen], minlength=self.n_labels)
        return LabelRows(np.concatenate([[0], np.cumsum(counts)]), place[chosen]), chosen


def pairs_of(labels: slice, n_labels: int) -> slice:
    """Return the slice of the pairs whose first label is in a slice of labels."""

    def before(label: int) -> int:
        return label * (2 * n_labels - label - 1) // 2

    return slice(before(labels.start), before(labels.stop))


def pairs_between(labels: slice, n_labels: int) -> tuple[IntArray, IntArray]:
    """Return first and second labels of the pairs whose first label is in a slice of labels."""
    first, second = np.triu_indices(labels.stop - labels.start, 1, n_labels - labels.start)
    return first + labels.start, second + labels.start


def balance_weights(n_first: FloatArray, n_second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the two classes of each pair against imbalance (FCM-W, 3.4.2)."""
    first, second = share(n_second, n_first, 1.0), share(n_first, n_second, 1.0)
    return np.minimum(1, first), np.minimum(1, second)


@dataclass(frozen=True)
class ValidationDecisions:
    """Decisions of the pair classifiers at the validation rows."""

    label_rows: LabelRows  # validation rows of each label
    Y: BoolArray  # (M, L); false for a virtual label
    p_decide: FloatArray  # (n_entries, L), for an entry's label against each, folded

    def __sklearn_array_api_convert__(self, convert: Convert) -> "ValidationDecisions":
        return replace(self, p_decide=convert(self.p_decide))

    def confusion(
        self,
        weights: FloatArray,
        labels: slice,
        *,
        overlap: float = 0.0,
        balance: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return the confusion matrices of pairs whose first label is in `labels`, around t points.

        They are indexed by point, pair, truth and decision, (t, n_pairs, 2, 2). `weights`, (M, t),
        are those of the validation rows around the points. Rows with both labels of a pair belong
        to each with membership `overlap`: 0 for FCM, 1/2 for FCM-O (section 3.4.3). `balance` are
        the weights of the two classes of each pair (FCM-W).

        With weights w, memberships v in the true class and probabilities r = P(h | x) of the
        decision h, the sums over validation rows (section 3.4.1, before division by the
        neighbourhood's size) are

            e[truth, decision] = sum of w * v[truth] * r[decision]

        Each is summed separately: a difference of two sums would leave rounding errors in
        cells that must be exactly 0.
        """
        n_labels, pairs = self.label_rows.n_labels, pairs_of(labels, self.label_rows.n_labels)
        sums = np.zeros((2, 2, pairs.stop - pairs.start, weights.shape[1]))
        # Pair (i, j) has the position start[i - labels.start] + j.
        start = np.cumsum(n_labels - 1 - np.arange(labels.start, labels.stop)) - n_labels

        def add_rows(label: int) -> None:
            entries, number = self.label_rows.entries(label), label - labels.start
            is_first = label < labels.stop
            columns = slice(labels.start, n_labels if is_first else labels.stop)
            width, rows = columns.stop - columns.start, self.label_rows.rows[entries]
            is_virtual = not self.Y[rows[0], label]  # its rows with another label are the other's
            share = np.where(self.Y[rows, columns], 0.0 if is_virtual else overlap, 1.0)
            decisions = unfold(self.p_decide[entries, columns])
            products = np.hstack([part * share for part in decisions]).T @ weights[rows]
            own, other = products[:width], products[width:]
            if is_first:
                here = slice(start[number] + label + 1, start[number] + n_labels)
                sums[0, 0][here], sums[0, 1][here] = own[number + 1 :], other[number + 1 :]
            # Pairs in which the label is the second.
            where = start[: max(0, number)] + label
            sums[1, 0][where], sums[1, 1][where] = other[: len(where)], own[: len(where)]

        present = np.flatnonzero(np.diff(self.label_rows.indptr[labels.start :])) + labels.start
        size = 0.1 * self.p_decide.size * weights.shape[1]
        in_threads(add_rows, present.tolist(), thread_count(nanoseconds=size))
        if balance is not None:
            sums *= np.stack(balance)[:, np.newaxis, :, np.newaxis]
        return sums.transpose(3, 2, 0, 1)


def p_true_given_decision(confusion: FloatArray, xp: Any = np) -> tuple[FloatArray, FloatArray]:
    """Return P(first label is true | decision) for the decision "first" and for "second".

    A decision with no validation row near the point has an undefined probability, 0/0. The decision
    is then assumed to be true: 1 for the first label, 0 for the second, so that an empty confusion
    matrix changes nothing. Confusion matrices are (..., 2, 2), [truth, decision], the results (...)
    (section 3.4.1).
    """
    hit = confusion[..., 0, :]
    total = hit + confusion[..., 1, :]
    first, second = (share(hit[..., h], total[..., h], 1.0 - h, xp) for h in (0, 1))
    return first, second


def correct(p_decide: FloatArray, confusion: FloatArray, xp: Any = np) -> FloatArray:
    """Correct P(h = first | z) by local confusion matrices (..., 2, 2) in any scale (eq. 10).

    ``local_sums.corrected_by`` is a faster form with prior mass, for MendedClassifier.
    """
    given_first, given_second = p_true_given_decision(confusion, xp)
    return p_decide * given_first + (1 - p_decide) * given_second


def information(confusion: FloatArray, xp: Any = np) -> FloatArray:
    """Return 1 bit less the conditional entropy of the truth given the decision, in [0, 1].

    It is 0 for random decisions, and 1 where each decision, right or wrong, always has the same
    truth; 0 where the confusion matrix, (..., 2, 2) in any scale, is empty.
    """
    total = xp.sum(confusion, axis=(-2, -1), keepdims=True)
    nonempty = total > 0
    cells = xp.where(nonempty, confusion / xp.where(nonempty, total, 1.0), 0.0)
    decision = xp.sum(cells, axis=-2)
    of_decisions = xp.sum(_entropy(decision, xp), axis=-1)
    conditional = xp.sum(_entropy(cells, xp), axis=(-2, -1)) - of_decisions
    return xp.clip(xp.sum(decision, axis=-1) - conditional, 0.0, 1.0)


def weigh(votes: FloatArray, weights: FloatArray) -> FloatArray:
    """Move the votes of pairs towards 1/2, the more the smaller their weight.

    The sum of weighted votes exceeds half of their number exactly where the weighted mean of the
    votes exceeds 1/2.
    """
    return 0.5 + weights * (votes - 0.5)


def _entropy(shares: FloatArray, xp: Any) -> FloatArray:
    """Return the summands of an entropy, in bits."""
    return -shares * xp.log2(xp.where(shares > 0, shares, 1.0))


def class_confusion(weights: FloatArray, Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Return local confusion matrices (t, C, C), [truth, decision], of a problem with C classes.

    Weights are (t, M), dense or CSR; Y (M, C) has one true cell in each row.
    """
    members = (np.flatnonzero(column) for column in Y.T)
    return np.stack([weights[:, rows] @ p_decide[rows] for rows in members], axis=1)


def correct_classes(p_decide: FloatArray, confusion: FloatArray) -> FloatArray:
    """Correct the supports (t, C) of classes by local confusion matrices (t, C, C) in any scale.

    A decision with no validation row near the point is assumed to be true, as in
    :func:`~pairmend.kernels.pairs.p_true_given_decision`.
    """
    total = confusion.sum(axis=1, keepdims=True)
    p_true = share(confusion, total, np.eye(confusion.shape[2]))
    corrected: FloatArray = np.einsum("tij,tj->ti", p_true, p_decide)
    return corrected


def label_cells(Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Return the cells (M, 4 L) of the confusion matrices of labels against the rest.

    Probabilities of decisions are folded, see :mod:`pairmend.kernels.rrc`.
    """
    decisions = unfold(p_decide)
    return np.hstack([np.where(truth, part, 0) for truth in (Y, ~Y) for part in decisions])


def label_confusion(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Return local confusion matrices (t, L, 2, 2), [truth, decision], of labels against the rest.

    Index 0 is the label, 1 the rest. Weights are (t, M), dense or CSR.
    """
    sums = np.asarray(weights @ cells)
    return np.moveaxis(sums.reshape(len(sums), 2, 2, -1), 3, 1)


def round_scores(scores: FloatArray, digits: int = DIGITS, xp: Any = np) -> FloatArray:
    """Round scores of labels, so that scores that differ by rounding errors only are ties."""
    scale = 10.0**digits
    return xp.round(scores * scale) / scale


def sum_supports(
    supports: FloatArray, labels: slice, n_labels: int, space: Namespace | None = None
) -> FloatArray:
    """Sum the supports (t, B) of a block of pairs for each label, (t, L).

    `labels` are the first labels of the pairs. Over all blocks, the sums divided by L - 1 are the
    labels' scores (eq. 4). Supports are on a device if `space` is given.
    """
    space = Namespace(np, "cpu") if space is None else space
    xp, by_pair = space.xp, supports.T
    shape = (n_labels, supports.shape[0])
    total = xp.zeros(shape, dtype=space.float64, device=space.device)  # float32 loses digits
    start = 0
    for label in range(labels.start, labels.stop):
        n_others = n_labels - 1 - label
        own = by_pair[start : start + n_others, :]
        total[label, :] += xp.sum(own, axis=0, dtype=total.dtype)
        others = total[label + 1 :, :]
        others += 1
        others -= own
        start += n_others
    return total.T


def sum_to_one(scores: FloatArray) -> FloatArray:
    """Scale the scores of each row to sum 1; equal scores where all are 0."""
    total = scores.sum(axis=1, keepdims=True)
    uniform = np.full_like(scores, 1 / scores.shape[1])
    return np.divide(scores, total, out=uniform, where=total > 0)


def accept(scores: FloatArray, threshold: float | FloatArray) -> NDArray[np.int64]:
    """Accept labels whose score is strictly above the threshold, common or per label (eq. 7, 8)."""
    return (scores > threshold).astype(np.int64)
