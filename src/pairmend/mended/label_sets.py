"""Label powerset decoding: the label sets seen in training, and their probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import SLACK

PROBA_MARGIN = 1e-6
"""Probabilities are clipped to this distance from 0 and 1, so that one label excludes no set."""


@dataclass(frozen=True)
class OwnSets:
    """Indices of the label sets of training rows, and the weights of these rows."""

    indices: IntArray
    weights: FloatArray

    def take(self, rows: IntArray | slice) -> "OwnSets":
        """Select rows."""
        return OwnSets(self.indices[rows], self.weights[rows])


@dataclass(frozen=True)
class LabelSets:
    """The distinct label sets of training rows; all other sets have the probability 0.

    The probability of a set is proportional to the product of the probabilities of its labels and
    of the complements of all other labels, times its lift to the power `lift_exponent`, times its
    weight where that is below 1. With the exponent 1 it is Bayes' rule for features that are
    independent given the labels, each of which depends on one label.

    Attributes
    ----------
    members : CSR of shape (n_sets, n_labels)
        Label indicators of the sets.
    counts : ndarray of shape (n_sets,)
        Weight of the rows with exactly this set, in units of the weight that counts as one row.
    log_lift : ndarray of shape (n_sets,)
        Log ratio of a set's frequency to that under independence of the labels.
    lift_exponent : float, default=0.0
        Exponent of the lift.
    """

    members: Any
    counts: FloatArray
    log_lift: FloatArray
    lift_exponent: float = 0.0

    @classmethod
    def from_indicators(
        cls, Y: BoolArray, weights: FloatArray | None = None
    ) -> tuple["LabelSets", IntArray]:
        """Return the distinct label sets of rows, and the index of each row's set."""
        weights = np.ones(len(Y)) if weights is None else weights
        distinct, indices = np.unique(Y, axis=0, return_inverse=True)
        indices = indices.ravel()
        counts: FloatArray = np.zeros(len(distinct))
        np.add.at(counts, indices, weights)
        total = weights.sum()
        members = sparse.csr_array(distinct.astype(np.float64))
        share = (weights @ Y + 1) / (total + 2)
        independent = members @ (np.log(share) - np.log1p(-share)) + np.log1p(-share).sum()
        log_lift = np.log(counts / total) - independent
        return cls(members, counts, log_lift), indices

    def most_likely(self, proba: FloatArray, own: OwnSets | None = None) -> IntArray:
        """Return the indicators of the most likely set of each row, (n_rows, n_labels).

        `own` holds the sets of training rows. Each row is then left out of the count of its set,
        and a set of no other row has the probability 0.
        """
        best = [scores.argmax(axis=1) for _, scores in self._log_scores(proba, own)]
        return self.members[np.concatenate(best)].toarray().astype(np.int64)

    def marginals(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the probability of each label over all sets; `own` as in `most_likely`."""
        out = np.empty(proba.shape)
        for rows, scores in self._log_scores(proba, own):
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            out[rows] = scores @ self.members
        return np.clip(out, 0, 1, out=out)

    def top_sets(self, proba: FloatArray, n_sets: int) -> IntArray:
        """Return the indices of the most likely sets of each row, the most likely first."""
        found = [
            np.argsort(-scores, axis=1, kind="stable")[:, :n_sets]
            for _, scores in self._log_scores(proba, None)
        ]
        return np.concatenate(found)

    def proba_of_sets(self, indices: IntArray, proba: FloatArray) -> FloatArray:
        """Return the probabilities of some sets of each row; both have the shape (n_rows, k)."""
        found = [
            np.take_along_axis(softmax(scores, axis=1), indices[rows], axis=1)
            for rows, scores in self._log_scores(proba, None)
        ]
        return np.concatenate(found)

    def _log_scores(
        self, proba: FloatArray, own: OwnSets | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield chunks of rows with the log-probabilities of sets, up to a constant per row."""
        n_sets, n_labels = self.members.shape
        # A set of less than one row counts in proportion to its weight.
        log_counts = np.log(np.minimum(self.counts, 1.0))
        prior = self.lift_exponent * self.log_lift + log_counts
        for rows in row_chunks(len(proba), 3 * n_sets + 2 * n_labels):
            p = np.clip(proba[rows], PROBA_MARGIN, 1 - PROBA_MARGIN)
            # The product of all complements is a constant per row: only log-odds are added.
            scores = np.ascontiguousarray((self.members @ (np.log(p) - np.log1p(-p)).T).T)
            scores += prior
            if own is not None and n_sets > 1:
                here = own.take(rows)
                scores[np.arange(len(here.indices)), here.indices] += self._leave_out(here)
            yield rows, scores

    def _leave_out(self, own: OwnSets) -> FloatArray:
        """Return the change of the score of each row's own set when the row is left out."""
        counts = self.counts[own.indices]
        left = 1 - own.weights / counts
        has_others = left > SLACK
        left = np.where(has_others, left, 1.0)
        change = np.log(np.minimum(left * counts, 1.0)) - np.log(np.minimum(counts, 1.0))
        return np.where(has_others, self.lift_exponent * np.log(left) + change, -np.inf)
