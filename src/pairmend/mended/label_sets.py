"""Sets of labels that were seen in training, and how likely each is at a row."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import SLACK

SURE = 1e-6
"""Probabilities are kept that far from 0 and 1: one label must not rule out a set alone."""


@dataclass(frozen=True)
class Own:
    """The label sets that training rows carry.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        Number of the set of each row.
    weights : ndarray of shape (n,)
        Weights of the rows.
    """

    numbers: IntArray
    weights: FloatArray

    def at(self, rows: IntArray | slice) -> "Own":
        """Return those of some rows."""
        return Own(self.numbers[rows], self.weights[rows])


@dataclass(frozen=True)
class LabelSets:
    """Distinct label sets.

    Only seen sets are taken for possible, one that weighs less than a row in proportion to its
    weight. The probability of a set is proportional to the product
    of the probabilities of its labels and of the complements of all others, times a power of its
    affinity: how much more often it was seen than it would be if labels were independent. With
    the power 1 that is Bayes' rule for features that depend on each label apart.

    Attributes
    ----------
    members : CSR of shape (n_sets, L)
        Ones where a set holds a label.
    counts : ndarray of shape (n_sets,)
        Weight of the rows that carry exactly this set, in units of what counts as one row.
    affinity : ndarray of shape (n_sets,)
        Logarithms of affinities.
    dependence : float, default=0.0
        The power.

    Examples
    --------
    >>> sets, number = LabelSets.seen_in(np.array([[1, 1], [0, 0], [1, 1]], dtype=bool))
    >>> number.tolist(), sets.counts.tolist()
    ([1, 0, 1], [1.0, 2.0])
    >>> sets.most_likely(np.array([[0.9, 0.4]])).tolist()
    [[1, 1]]
    >>> sets.marginals(np.array([[0.9, 0.4]])).round(3).tolist()
    [[0.857, 0.857]]
    """

    members: Any
    counts: FloatArray
    affinity: FloatArray
    dependence: float = 0.0

    @classmethod
    def seen_in(
        cls, Y: BoolArray, weights: FloatArray | None = None
    ) -> tuple["LabelSets", IntArray]:
        """Collect the sets of rows; also return which of them each row carries.

        Weights of rows are in units of what counts as one row.
        """
        weights = np.ones(len(Y)) if weights is None else weights
        distinct, number = np.unique(Y, axis=0, return_inverse=True)
        number = number.ravel()
        counts: FloatArray = np.zeros(len(distinct))
        np.add.at(counts, number, weights)
        total = weights.sum()
        members = sparse.csr_array(distinct.astype(np.float64))
        share = (weights @ Y + 1) / (total + 2)
        independent = members @ (np.log(share) - np.log1p(-share)) + np.log1p(-share).sum()
        affinity = np.log(counts / total) - independent
        return cls(members, counts, affinity), number

    def most_likely(self, probabilities: FloatArray, own: Own | None = None) -> IntArray:
        """Return the most likely set of each row.

        Parameters
        ----------
        probabilities : ndarray of shape (n, L)
            Probabilities of labels.
        own : Own, default=None
            The set each row is known to carry. The row itself is not counted for it, and one
            that no other row carries counts as unseen, as it would be if the row were new.

        Returns
        -------
        ndarray of int, shape (n, L)
            Label indicators.
        """
        best = [scores.argmax(axis=1) for _, scores in self._scores(probabilities, own)]
        return self.members[np.concatenate(best)].toarray().astype(np.int64)

    def marginals(self, probabilities: FloatArray, own: Own | None = None) -> FloatArray:
        """Return the probability of each label over all seen sets.

        Parameters
        ----------
        probabilities : ndarray of shape (n, L)
            Probabilities of labels, each taken alone.
        own : Own, default=None
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
        self, probabilities: FloatArray, own: Own | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield chunks of rows with the log-probabilities of sets, up to a constant a row."""
        n_sets, n_labels = self.members.shape
        # A set seen in less than a row counts for as much of one as it weighs.
        rare = np.log(np.minimum(self.counts, 1.0))
        prior = self.dependence * self.affinity + rare
        for rows in row_chunks(len(probabilities), 3 * n_sets + 2 * n_labels):
            p = np.clip(probabilities[rows], SURE, 1 - SURE)
            # A label's complement is in every set without it: only log-odds are left to add.
            scores = np.ascontiguousarray((self.members @ (np.log(p) - np.log1p(-p)).T).T)
            scores += prior
            if own is not None and n_sets > 1:
                here = own.at(rows)
                scores[np.arange(len(here.numbers)), here.numbers] += self._uncounted(here)
            yield rows, scores

    def _uncounted(self, own: Own) -> FloatArray:
        """Return by how much the score of a row's own set changes if the row is left out."""
        counts = self.counts[own.numbers]
        left = 1 - own.weights / counts
        others = left > SLACK
        left = np.where(others, left, 1.0)
        rarer = np.log(np.minimum(left * counts, 1.0)) - np.log(np.minimum(counts, 1.0))
        return np.where(others, self.dependence * np.log(left) + rarer, -np.inf)
