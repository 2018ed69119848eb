"""The one order of label pairs, and which rows carry which label.

Pair ``m = (i, j)``, ``i < j``, is one binary problem: label ``i`` against label ``j``.
Everywhere in the library pairs come in the order (0, 1), (0, 2), ..., (L-2, L-1).

A calibrated ranking has a virtual label, number L, behind all others: the pairs are those of
L + 1 labels, and pair (i, L) is label i against its absence, a problem of all rows.
"""

from dataclasses import dataclass

import numpy as np

from pairmend._utils.typing import BoolArray, IntArray


def label_pairs(n_labels: int) -> IntArray:
    """Return the pairs of labels in the library's order.

    Parameters
    ----------
    n_labels : int
        Number of labels L.

    Returns
    -------
    ndarray of shape (L * (L - 1) / 2, 2)
        First and second label of each pair.

    Examples
    --------
    >>> label_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.column_stack(np.triu_indices(n_labels, k=1))


@dataclass(frozen=True)
class LabelRows:
    """The rows that carry each label, label after label.

    Attributes
    ----------
    indptr : ndarray of shape (L + 1,)
        Entries ``indptr[i]:indptr[i + 1]`` are those of label ``i``.
    rows : ndarray of shape (n_entries,)
        Row number of each entry, ascending within a label.
    """

    indptr: IntArray
    rows: IntArray

    @classmethod
    def of(cls, Y: BoolArray, *, has_virtual: bool = False) -> "LabelRows":
        """Find the rows of each label.

        Parameters
        ----------
        Y : ndarray of bool, shape (n, L)
            Label indicators.
        has_virtual : bool, default=False
            Whether a virtual label comes behind the others. All rows are its own.

        Examples
        --------
        >>> label_rows = LabelRows.of(np.array([[1, 0], [1, 1], [0, 0]], dtype=bool))
        >>> [label_rows.rows[label_rows.entries(label)].tolist() for label in (0, 1)]
        [[0, 1], [1]]
        """
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
        """Return where the entries of a label lie."""
        return slice(int(self.indptr[label]), int(self.indptr[label + 1]))

    def among(self, rows: IntArray, n_rows: int) -> tuple["LabelRows", BoolArray]:
        """Keep the entries of some of the rows, numbered by their place among these.

        Parameters
        ----------
        rows : ndarray of int
            The rows to keep, ascending.
        n_rows : int
            How many rows there are in all.

        Returns
        -------
        kept : LabelRows
            The same labels with fewer rows.
        chosen : ndarray of bool, shape (n_entries,)
            Which entries were kept.
        """
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        place = place[self.rows]
        chosen = place >= 0
        counts = np.bincount(self.label[chosen], minlength=self.n_labels)
        return LabelRows(np.concatenate([[0], np.cumsum(counts)]), place[chosen]), chosen


def pairs_of(labels: slice, n_labels: int) -> slice:
    """Return the numbers of the pairs that have one of consecutive labels as their first.

    Examples
    --------
    >>> pairs_of(slice(1, 3), 4)
    slice(3, 6, None)
    """

    def before(label: int) -> int:
        return label * (2 * n_labels - label - 1) // 2

    return slice(before(labels.start), before(labels.stop))
