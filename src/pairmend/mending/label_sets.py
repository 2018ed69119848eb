"""Sets of labels that were seen in training, and how likely each is at a row."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from pairmend._streaming import row_chunks
from pairmend._typing import BoolArray, FloatArray, IntArray

SURE = 1e-6
"""Probabilities are kept that far from 0 and 1: one label must not rule out a set alone."""


@dataclass(frozen=True)
class LabelSets:
    """Distinct label sets.

    Only seen sets are taken for possible. The probability of a set is proportional to the product
    of the probabilities of its labels and of the complements of all others, times a power of its
    affinity: how much more often it was seen than it would be if labels were independent. With
    the power 1 that is Bayes' rule for features that depend on each label apart.

    Attributes
    ----------
    members : CSR of shape (n_sets, L)
        Ones where a set holds a label.
    counts : ndarray of int, shape (n_sets,)
        How many rows carry exactly this set.
    affinity : ndarray of shape (n_sets,)
        Logarithms of affinities.
    dependence : float, default=0.0
        The power.

    Examples
    --------
    >>> sets, number = LabelSets.seen_in(np.array([[1, 1], [0, 0], [1, 1]], dtype=bool))
    >>> number.tolist(), sets.counts.tolist()
    ([1, 0, 1], [1, 2])
    >>> sets.most_likely(np.array([[0.9, 0.4]])).tolist()
    [[1, 1]]
    >>> sets.marginals(np.array([[0.9, 0.4]])).round(3).tolist()
    [[0.857, 0.857]]
    """

    members: Any
    counts: IntArray
    affinity: FloatArray
    dependence: float = 0.0

    @classmethod
    def seen_in(cls, Y: BoolArray) -> tuple["LabelSets", IntArray]:
        """Collect the sets of rows; also return which of them each row carries."""
        distinct, number, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
        members = sparse.csr_array(distinct.astype(np.float64))
        share = (np.count_nonzero(Y, axis=0) + 1) / (len(Y) + 2)
        independent = members @ (np.log(share) - np.log1p(-share)) + np.log1p(-share).sum()
        affinity = np.log(counts / len(Y)) - independent
        return cls(members, counts, affinity), number.ravel()

    def most_likely(self, probabilities: FloatArray, own: IntArray | None = None) -> IntArray:
        """Return the most likely set of each row.

        Parameters
        ----------
        probabilities : ndarray of shape (n, L)
            Probabilities of labels.
        own : ndarray of int, shape (n,), default=None
            The set each row is known to carry. The row itself is not counted for it, and one
            that no other row carries counts as unseen, as it would be if the row were new.

        Returns
        -------
        ndarray of int, shape (n, L)
            Label indicators.
        """
        best = [scores.argmax(axis=1) for _, scores in self._scores(probabilities, own)]
        return self.members[np.concatenate(best)].toarray().astype(np.int64)

    def marginals(self, probabilities: FloatArray, own: IntArray | None = None) -> FloatArray:
        """Return the probability of each label over all seen sets.

        Parameters
        ----------
        probabilities : ndarray of shape (n, L)
            Probabilities of labels, each taken alone.
        own : ndarray of int, shape (n,), default=None
            See :meth:`most_likely`.

        Returns
        -------
        ndarray of shape (n, L)
        """
        out = np.empty(probabilities.shape)
        for rows, scores in self._scores(probabilities, own):
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            out[rows] = scores @ self.members
        return np.clip(out, 0, 1, out=out)

    def ranked(self, probabilities: FloatArray, n_sets: int) -> IntArray:
        """Return the numbers of the most likely sets of each row, the likeliest first."""
        found = [
            np.argsort(-scores, axis=1, kind="stable")[:, :n_sets]
            for _, scores in self._scores(probabilities, None)
        ]
        return np.concatenate(found)

    def probabilities_of(self, numbers: IntArray, probabilities: FloatArray) -> FloatArray:
        """Return the probabilities of some sets of each row, among all sets.

        Parameters
        ----------
        numbers : ndarray of int, shape (n, k)
            Numbers of the sets.
        probabilities : ndarray of shape (n, L)
            Probabilities of labels.

        Returns
        -------
        ndarray of shape (n, k)
        """
        found = [
            np.take_along_axis(softmax(scores, axis=1), numbers[rows], axis=1)
            for rows, scores in self._scores(probabilities, None)
        ]
        return np.concatenate(found)

    def _scores(
        self, probabilities: FloatArray, own: IntArray | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield chunks of rows with the log-probabilities of sets, up to a constant a row."""
        n_sets, n_labels = self.members.shape
        alone = self.counts == 1
        uncounted = self.dependence * np.log(np.maximum(1 - 1 / self.counts, 0.5))
        for rows in row_chunks(len(probabilities), 3 * n_sets + 2 * n_labels):
            p = np.clip(probabilities[rows], SURE, 1 - SURE)
            # A label's complement is in every set without it: only log-odds are left to add.
            scores = np.ascontiguousarray((self.members @ (np.log(p) - np.log1p(-p)).T).T)
            scores += self.dependence * self.affinity
            if own is not None and n_sets > 1:
                here = own[rows]
                penalty = np.where(alone[here], -np.inf, uncounted[here])
                scores[np.arange(len(here)), here] += penalty
            yield rows, scores
