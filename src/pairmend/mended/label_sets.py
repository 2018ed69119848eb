"""Label powerset decoding: label sets seen in training, their lift and probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from pairmend._utils.chunking import batches
from pairmend._utils.lazy import lazy
from pairmend._utils.threads import in_blocks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import SLACK
from pairmend.kernels.neighbourhood import exponential, squared_norms
from pairmend.mended.distances import log_odds, median_squared_distance

PROBA_MARGIN = 1e-6
"""Probabilities are clipped to this distance from 0 and 1, so that one label excludes no set."""

MAX_SETS = 2500
"""Largest number of label sets; of more, the most frequent are kept."""
MAX_DENSE_LABELS = 64
"""Number of labels up to which the indicators of sets are multiplied as a dense array."""
BLOCK = 64
"""Rows at once: their scores stay in the processor's cache."""
NANOSECONDS = 10.0
"""Time of one score, from which the number of threads follows."""
INVERSE_SQUARED_BANDWIDTH = 8.0
"""Beta of the Gaussian weights times the median squared distance of rows."""
PRIOR_MASS = 5.0
"""Mass of the frequencies of sets in all rows, in rows."""


@dataclass(frozen=True)
class LocalSets:
    """The label sets of validation rows, weighted by the similarity of their probabilities.

    The local lift of a set at a row is the ratio of two frequencies: that among the validation
    rows, with Gaussian weights of the distance between log-odds and with a prior mass of the
    frequency in all rows, and that in all rows.

    Attributes
    ----------
    proba : ndarray of shape (n_rows, n_labels)
        Corrected out-of-fold probabilities of the validation rows.
    sets : ndarray of int, shape (n_rows,)
        The number of the label set of each row, -1 if it is not kept.
    masses : ndarray of shape (n_rows,)
        Weights of the rows, in rows.
    counts : ndarray of shape (n_sets,)
        Weights of the sets in all rows, of which the validation rows may be a part.
    total : float
        Weight of all rows.
    beta : float
        Inverse squared bandwidth.
    """

    proba: FloatArray
    sets: IntArray
    masses: FloatArray
    counts: FloatArray
    total: float
    beta: float

    @classmethod
    def from_rows(
        cls,
        proba: FloatArray,
        sets: IntArray,
        masses: FloatArray,
        counts: FloatArray,
        total: float,
        rng: np.random.RandomState,
    ) -> "LocalSets":
        """Return the sets of validation rows, with a bandwidth by the median distance."""
        distance = median_squared_distance(log_odds(proba), rng, masses)
        # If all rows are equal, so are the weights.
        beta = INVERSE_SQUARED_BANDWIDTH / (distance or 1.0)
        return cls(proba, sets, masses, counts, total, beta)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def log_lift(
        self,
        proba: FloatArray,
        own: IntArray | None = None,
        own_weights: FloatArray | None = None,
    ) -> FloatArray:
        """Return the logarithm of the local lift of each set at each row, (n_rows, n_sets).

        `own` are numbers among the validation rows: each row is left out, with its weight.
        """
        members = self._members
        weights = self._weights(log_odds(proba))
        counts, total = self.counts[np.newaxis], np.full((1, 1), self.total)
        if own is not None and own_weights is not None:
            weights[np.arange(len(own)), own] = 0
            counts = np.repeat(counts, len(own), axis=0)
            kept = np.flatnonzero(self.sets[own] >= 0)
            counts[kept, self.sets[own[kept]]] -= own_weights[kept]
            total = total - own_weights[:, np.newaxis]
        lift = np.ascontiguousarray((members @ weights.T).T)
        lift *= total
        # Without other rows a set has the probability 0, whatever its local lift.
        lift /= np.where(counts > SLACK * self.total, counts, np.inf)
        lift += PRIOR_MASS
        lift /= weights.sum(axis=1, keepdims=True) + PRIOR_MASS
        return np.log(lift, out=lift)

    def _weights(self, queries: FloatArray) -> FloatArray:
        """Return the Gaussian weights of the rows around queries, times their masses."""
        exponents = queries @ self._points.T
        exponents *= 2
        exponents -= squared_norms(self._points)
        exponents -= squared_norms(queries)[:, np.newaxis]
        exponents *= self.beta
        weights = exponential(np.minimum(exponents, 0, out=exponents))
        weights *= self.masses
        return weights

    @lazy
    def _points(self) -> FloatArray:
        """The log-odds of the rows."""
        return log_odds(self.proba)

    @lazy
    def _members(self) -> Any:
        """Which rows have each set, (n_sets, n_rows). A model file may hold anything."""
        n_rows, n_sets = len(self.proba), len(self.counts)
        largest = np.max(self.sets, initial=-1)
        if not self.sets.shape == self.masses.shape == (n_rows,) or largest >= n_sets:
            raise ValueError(
                f"{n_rows} rows with label sets of shape {self.sets.shape}, the largest of number "
                f"{largest}, and weights of shape {self.masses.shape}; expected a set and a weight "
                f"for each row, and numbers below {n_sets}. The model is damaged: fit the "
                "classifier again."
            )
        kept = np.flatnonzero(self.sets >= 0)
        places = (self.sets[kept], kept)
        return sparse.csr_array((np.ones(len(kept)), places), shape=(n_sets, n_rows))


@dataclass(frozen=True)
class OwnSets:
    """The label sets of training rows.

    Attributes
    ----------
    indices : ndarray of int, shape (n_rows,)
        Numbers of the sets, -1 if not kept.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    places : ndarray of int, shape (n_rows,), or None
        Numbers of the rows among those of `LabelSets.local`; None without local lift.
    """

    indices: IntArray
    weights: FloatArray
    places: IntArray | None = None

    def take(self, rows: IntArray | slice) -> "OwnSets":
        """Select rows."""
        places = None if self.places is None else self.places[rows]
        return OwnSets(self.indices[rows], self.weights[rows], places)


@dataclass(frozen=True)
class LabelSets:
    """The distinct label sets of training rows; all other sets have the probability 0.

    The probability of a set is proportional to the product of the probabilities of its labels and
    of the complements of all other labels, times its lift to the power `lift_exponent`, times its
    weight where that is below 1, times its local lift to the power `local_exponent`. With the
    exponent 1 of the lift and 0 of the local lift it is Bayes' rule for features that are
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
    local : LocalSets or None, default=None
        Computes the local lift.
    local_exponent : float, default=0.0
        Exponent of the local lift.
    """

    members: Any
    counts: FloatArray
    log_lift: FloatArray
    lift_exponent: float = 0.0
    local: LocalSets | None = None
    local_exponent: float = 0.0

    @classmethod
    def from_indicators(
        cls, Y: BoolArray, weights: FloatArray | None = None
    ) -> tuple["LabelSets", IntArray]:
        """Return the distinct label sets of rows, and the index of each row's set.

        Of more than MAX_SETS sets the most frequent are kept; the index of any other is -1.
        """
        weights = np.ones(len(Y)) if weights is None else weights
        distinct, indices = distinct_rows(Y)
        counts: FloatArray = np.bincount(indices, weights, len(distinct)).astype(np.float64)
        kept = most_frequent(counts, MAX_SETS)
        places = np.full(len(distinct), -1)
        places[kept] = np.arange(len(kept))
        members = sparse.csr_array(distinct[kept].astype(np.float64))
        sets = cls.from_counts(members, counts[kept], weights @ Y, weights.sum())
        return sets, places[indices]

    @classmethod
    def from_counts(
        cls, members: Any, counts: FloatArray, label_counts: FloatArray, total: float
    ) -> "LabelSets":
        """Return label sets, given the weights of rows with each set, of each label, and of all."""
        share = (label_counts + 1) / (total + 2)
        independent = members @ (np.log(share) - np.log1p(-share)) + np.log1p(-share).sum()
        log_lift = np.log(counts / total) - independent
        return cls(members, counts, log_lift)

    def with_exponents(self, lift_exponent: float, local_exponent: float) -> "LabelSets":
        """Return the same sets with other exponents."""
        return replace(self, lift_exponent=lift_exponent, local_exponent=local_exponent)

    def indices_of(self, Y: BoolArray) -> IntArray:
        """Return the index of the label set of each row, -1 for a set that is not kept."""
        n_sets = len(self.counts)
        found, indices = distinct_rows(np.vstack([self.members.toarray() > 0, Y]))
        places = np.full(len(found), -1)
        places[indices[:n_sets]] = np.arange(n_sets)
        return places[indices[n_sets:]]

    def most_likely(self, proba: FloatArray, own: OwnSets | None = None) -> IntArray:
        """Return the indicators of the most likely set of each row, (n_rows, n_labels).

        `own` holds the sets of training rows. Each row is then left out of the count of its set,
        and a set of no other row has the probability 0.
        """
        best = np.empty(len(proba), dtype=np.int64)

        def fill(rows: slice) -> None:
            best[rows] = self._log_scores(rows, proba, own).argmax(axis=1)

        self._in_blocks(fill, len(proba))
        return self.indicators(best)

    def most_likely_by_exponent(
        self, proba: FloatArray, exponents: Sequence[float], own: OwnSets | None = None
    ) -> IntArray:
        """Return the number of the most likely set for each of several exponents of the lift.

        The result has the shape (n_exponents, n_rows); `indicators` returns the labels of sets.
        """
        best = np.empty((len(exponents), len(proba)), dtype=np.int64)
        variants = [replace(self, lift_exponent=exponent) for exponent in exponents]
        priors = [sets.prior for sets in variants]

        def fill(rows: slice) -> None:
            sums = self._sums_of_log_odds(rows, proba)
            for k, (sets, prior) in enumerate(zip(variants, priors, strict=True)):
                best[k, rows] = sets._add_prior(sums.copy(), prior, rows, own).argmax(axis=1)

        self._in_blocks(fill, len(proba))
        return best

    def indicators(self, numbers: IntArray) -> IntArray:
        """Return the label indicators of sets, (n, n_labels)."""
        return np.asarray(self.members[numbers].toarray()).astype(np.int64)

    def marginals(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the probability of each label over all sets; `own` as in `most_likely`."""
        out = np.empty(proba.shape)

        def fill(rows: slice) -> None:
            scores = self._log_scores(rows, proba, own)
            scores -= np.maximum.reduce(scores, axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= np.add.reduce(scores, axis=1, keepdims=True)
            out[rows] = self._times_members(scores)

        self._in_blocks(fill, len(proba))
        return np.minimum(np.maximum(out, 0, out=out), 1, out=out)

    def top_sets(self, proba: FloatArray, n_sets: int) -> IntArray:
        """Return the indices of the most likely sets of each row, the most likely first."""
        found = [
            np.argsort(-self._log_scores(rows, proba, None), axis=1, kind="stable")[:, :n_sets]
            for rows in batches(len(proba), BLOCK)
        ]
        return np.concatenate(found)

    def proba_of_sets(self, indices: IntArray, proba: FloatArray) -> FloatArray:
        """Return the probabilities of some sets of each row; both have the shape (n_rows, k)."""
        found = [
            np.take_along_axis(
                softmax(self._log_scores(rows, proba, None), axis=1), indices[rows], axis=1
            )
            for rows in batches(len(proba), BLOCK)
        ]
        return np.concatenate(found)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @lazy
    def _dense_members(self) -> FloatArray | None:
        """Indicators as an array if there are few labels: products with it are faster then."""
        return self.members.toarray() if self.members.shape[1] <= MAX_DENSE_LABELS else None

    @lazy
    def prior(self) -> FloatArray:
        """Logarithm of the factor of each set that does not depend on the row.

        A model file may hold anything: more sets than a fit keeps would need too much memory.
        """
        n_sets = self.members.shape[0]
        if n_sets > MAX_SETS or not self.counts.shape == self.log_lift.shape == (n_sets,):
            raise ValueError(
                f"{n_sets} label sets with counts of shape {self.counts.shape} and lifts of shape "
                f"{self.log_lift.shape}; expected at most {MAX_SETS} sets, with a count and a lift "
                "each. The model is damaged: fit the classifier again."
            )
        if self.local is not None:
            sizes = *self.local.proba.shape, *self.local.counts.shape
            if sizes[1:] != (self.members.shape[1], n_sets):
                raise ValueError(
                    f"Local lifts with probabilities of shape {self.local.proba.shape} and counts "
                    f"of shape {self.local.counts.shape}; expected {self.members.shape[1]} labels "
                    f"and {n_sets} sets. The model is damaged: fit the classifier again."
                )
        # A set of less than one row counts in proportion to its weight.
        return self.lift_exponent * self.log_lift + np.log(np.minimum(self.counts, 1.0))

    def _times_members(self, scores: FloatArray) -> FloatArray:
        """Add up the probabilities of sets by label."""
        members = self.members if self._dense_members is None else self._dense_members
        return np.asarray(scores @ members)

    def _in_blocks(self, fill: Callable[[slice], None], n_rows: int) -> None:
        """Call a function for blocks of rows, in several threads if there is enough work."""
        n_local = 0 if self.local is None or self.local_exponent == 0 else len(self.local.proba)
        in_blocks(fill, n_rows, BLOCK, NANOSECONDS * n_rows * (self.members.shape[0] + n_local))

    def _log_scores(self, rows: slice, proba: FloatArray, own: OwnSets | None) -> FloatArray:
        """Return the log-probabilities of sets, up to a constant per row, (n_rows, n_sets)."""
        prior = self.prior
        scores = self._add_prior(self._sums_of_log_odds(rows, proba), prior, rows, own)
        if self.local is not None and self.local_exponent != 0:
            scores += self.local_exponent * self._local_log_lift(rows, proba, own)
        return scores

    def _local_log_lift(self, rows: slice, proba: FloatArray, own: OwnSets | None) -> FloatArray:
        """Return the logarithm of the local lift of each set, (n_rows, n_sets)."""
        assert self.local is not None
        if own is None:
            return self.local.log_lift(proba[rows])
        here = own.take(rows)
        return self.local.log_lift(proba[rows], here.places, here.weights)

    def _sums_of_log_odds(self, rows: slice, proba: FloatArray) -> FloatArray:
        """Return the sum of the log-odds of the labels of each set, (n_rows, n_sets)."""
        # The product of all complements is a constant per row: only log-odds are added.
        summands = log_odds(proba[rows], PROBA_MARGIN)
        if self._dense_members is None:
            return np.ascontiguousarray((self.members @ summands.T).T)
        return summands @ self._dense_members.T

    def _add_prior(
        self, scores: FloatArray, prior: FloatArray, rows: slice, own: OwnSets | None
    ) -> FloatArray:
        """Add the factor of each set that does not depend on the row, in place."""
        scores += prior
        if own is not None and len(self.counts) > 1:
            here = own.take(rows)
            found = np.flatnonzero(here.indices >= 0)
            here = here.take(found)
            scores[found, here.indices] += self._leave_out(here)
        return scores

    def _leave_out(self, own: OwnSets) -> FloatArray:
        """Return the change of the score of each row's own set when the row is left out."""
        counts = self.counts[own.indices]
        left = 1 - own.weights / counts
        has_others = left > SLACK
        left = np.where(has_others, left, 1.0)
        change = np.log(np.minimum(left * counts, 1.0)) - np.log(np.minimum(counts, 1.0))
        return np.where(has_others, self.lift_exponent * np.log(left) + change, -np.inf)


def most_frequent(counts: FloatArray, n_sets: int) -> IntArray:
    """Return the numbers of the label sets of largest counts, ascending; of equals the first."""
    if len(counts) <= n_sets:
        return np.arange(len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:n_sets])


def distinct_rows(Y: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct rows in ascending order, and the index of each row among them.

    The result of ``np.unique(Y, axis=0, return_inverse=True)``, but faster: rows are compared as
    packed bits.
    """
    packed = np.packbits(Y, axis=1)
    n_bytes = packed.shape[1]
    if n_bytes <= 8:
        words = np.zeros((len(Y), 8), dtype=np.uint8)
        words[:, :n_bytes] = packed
        keys: Any = words.view(">u8").ravel().astype(np.uint64)
    else:
        keys = np.ascontiguousarray(packed).view(np.dtype((np.void, n_bytes))).ravel()
    _, first, indices = np.unique(keys, return_index=True, return_inverse=True)
    return Y[first], indices.ravel()
