"""The one order of label pairs, and which rows belong to which pair.

Pair ``m = (i, j)``, ``i < j``, is one binary problem: label ``i`` against label ``j``.
Everywhere in the library pairs come in the order (0, 1), (0, 2), ..., (L-2, L-1).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairmend._typing import BoolArray, IntArray

FIRST, SHARED, SECOND = 1, 0, -1
"""The side of a pair a row is on: the first label alone, both, the second label alone."""


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
class PairRows:
    """The rows that carry at least one label of each pair.

    Stored pair after pair like the rows of a CSR matrix, because a row belongs to few of
    the pairs: those of its own labels.

    Attributes
    ----------
    indptr : ndarray of shape (n_pairs + 1,)
        Entries ``indptr[m]:indptr[m + 1]`` are those of pair ``m``.
    rows : ndarray of shape (n_entries,)
        Row number of each entry, ascending within a pair.
    side : ndarray of shape (n_entries,)
        ``FIRST``, ``SHARED`` or ``SECOND``.
    """

    indptr: IntArray
    rows: IntArray
    side: NDArray[np.int8]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.indptr) - 1

    @property
    def pair(self) -> IntArray:
        """Pair number of each entry."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.indptr))

    def entries(self, block: slice) -> slice:
        """Return where the entries of a block of pairs lie."""
        return slice(int(self.indptr[block.start]), int(self.indptr[block.stop]))

    def block(self, block: slice) -> "PairRows":
        """Return the same for the pairs of a block alone."""
        entries = self.entries(block)
        indptr = self.indptr[block.start : block.stop + 1]
        return PairRows(indptr - indptr[0], self.rows[entries], self.side[entries])

    def among(self, rows: IntArray, n_rows: int) -> tuple["PairRows", BoolArray]:
        """Keep the entries of some of the rows, numbered by their place among these.

        Parameters
        ----------
        rows : ndarray of int
            The rows to keep, ascending.
        n_rows : int
            How many rows there are in all.

        Returns
        -------
        kept : PairRows
            The same pairs with fewer rows.
        chosen : ndarray of bool, shape (n_entries,)
            Which entries were kept.
        """
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        place = place[self.rows]
        chosen = place >= 0
        counts = np.bincount(self.pair[chosen], minlength=self.n_pairs)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return PairRows(indptr, place[chosen], self.side[chosen]), chosen

    @classmethod
    def join(cls, blocks: Iterable["PairRows"]) -> "PairRows":
        """Put consecutive blocks of pairs together."""
        parts = list(blocks)
        counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
        return cls(
            np.cumsum(counts),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.side for part in parts]),
        )


def pair_rows(Y: BoolArray, pairs: IntArray) -> PairRows:
    """Find the rows that carry at least one label of each pair.

    Parameters
    ----------
    Y : ndarray of bool, shape (n, L)
        Label indicators.
    pairs : ndarray of shape (n_pairs, 2)
        The pairs to look at: a block of those of :func:`label_pairs`.

    Returns
    -------
    PairRows

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], dtype=bool)
    >>> found = pair_rows(Y, label_pairs(2))
    >>> found.rows.tolist(), found.side.tolist()
    ([0, 1, 3], [1, 0, -1])
    """
    by_label = np.ascontiguousarray(Y.T)
    first, second = by_label[pairs[:, 0]], by_label[pairs[:, 1]]
    member = first | second
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(member, axis=1))])
    rows = np.nonzero(member)[1].astype(np.int32)
    side = first[member].astype(np.int8) - second[member].astype(np.int8)
    return PairRows(indptr, rows, side)
