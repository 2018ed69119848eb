"""The order of label pairs, the rows of each label, and votes: from pairs to scores of labels.

Pair ``m = (i, j)``, ``i < j``, is one binary problem: label ``i`` against label ``j``.
Everywhere in the library pairs have the order (0, 1), (0, 2), ..., (L-2, L-1).

A calibrated ranking has a virtual label, number L, after all others: the pairs are those of
L + 1 labels, and pair (i, L) is label i against its absence, a problem of all rows.

The namespace `xp` has the functions of the array API for arrays of any library.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.arrays import Namespace
from pairmend._utils.typing import BoolArray, FloatArray, IntArray


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


DIGITS = 12
"""Decimals to which scores and differences of supports are rounded, so that ties stay ties."""
SINGLE_DIGITS = 6
"""The same in single precision."""


def vote(supports: FloatArray, xp: Any = np) -> FloatArray:
    """Replace supports by votes 0, 1/2 or 1; a tie is half a vote for each label (eq. 5).

    Differences from 1/2 are rounded to `DIGITS` decimals, `SINGLE_DIGITS` in single precision.
    """
    digits = DIGITS if supports.dtype == xp.float64 else SINGLE_DIGITS
    return (1 + xp.sign(round_scores(supports - 0.5, digits, xp))) / 2


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
