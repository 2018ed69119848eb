"""Label powerset decoding: label sets seen in training, their lift and probabilities."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import in_blocks, lazy
from pairmend._utils.training import SLACK
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.neighbourhood import exponential, squared_norms
from pairmend.mended.rows import log_odds

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

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def log_lift(self, proba: FloatArray, own: "OwnSets | None" = None) -> FloatArray:
        """Return the logarithm of the local lift of each set at each row, (n_rows, n_sets).

        `own` is given for rows that are among the validation rows: each is left out.
        """
        members = self._members
        weights = self._weights(log_odds(proba))
        counts, total = self.counts[np.newaxis], np.full((1, 1), self.total)
        if own is not None:
            assert own.places is not None
            weights[np.arange(len(own.places)), own.places] = 0
            counts = np.repeat(counts, len(own.places), axis=0)
            kept = np.flatnonzero(own.indices >= 0)
            counts[kept, own.indices[kept]] -= own.weights[kept]
            total = total - own.weights[:, np.newaxis]
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
        """Which rows have each set, (n_sets, n_rows)."""
        kept = np.flatnonzero(self.sets >= 0)
        places = (self.sets[kept], kept)
        shape = len(self.counts), len(self.proba)
        return sparse.csr_array((np.ones(len(kept)), places), shape=shape)


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
        # Of equal counts, the first are kept.
        kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_SETS])
        places = np.full(len(distinct), -1)
        places[kept] = np.arange(len(kept))
        members = sparse.csr_array(distinct[kept].astype(np.float64))
        share = (weights @ Y + 1) / (weights.sum() + 2)
        independent = members @ (np.log(share) - np.log1p(-share)) + np.log1p(-share).sum()
        log_lift = np.log(counts[kept] / weights.sum()) - independent
        return cls(members, counts[kept], log_lift), places[indices]

    def most_likely(self, proba: FloatArray, own: OwnSets | None = None) -> IntArray:
        """Return the indicators of the most likely set of each row, (n_rows, n_labels).

        `own` holds the sets of training rows. Each row is then left out of the count of its set,
        and a set of no other row has the probability 0.
        """
        best = np.empty(len(proba), dtype=np.int64)

        def fill(rows: slice) -> None:
            here = None if own is None else own.take(rows)
            best[rows] = self.log_scores(proba[rows], here).argmax(axis=1)

        self._in_blocks(fill, len(proba))
        return np.asarray(self.members[best].toarray()).astype(np.int64)

    def marginals(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the probability of each label over all sets; `own` as in `most_likely`."""
        out = np.empty(proba.shape)
        members = self.members if self._dense_members is None else self._dense_members

        def fill(rows: slice) -> None:
            scores = self.log_scores(proba[rows], None if own is None else own.take(rows))
            scores -= np.maximum.reduce(scores, axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= np.add.reduce(scores, axis=1, keepdims=True)
            out[rows] = scores @ members

        self._in_blocks(fill, len(proba))
        return np.minimum(np.maximum(out, 0, out=out), 1, out=out)

    def log_scores(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the log-probabilities of sets, up to a constant per row, (n_rows, n_sets)."""
        prior = self.prior  # checks the sizes of the sets
        # The product of all complements is a constant per row: only log-odds are added.
        summands = log_odds(proba, PROBA_MARGIN)
        if self._dense_members is None:
            scores = np.ascontiguousarray((self.members @ summands.T).T)
        else:
            scores = summands @ self._dense_members.T
        scores += prior
        if own is not None and len(self.counts) > 1:
            found = np.flatnonzero(own.indices >= 0)
            here = own.take(found)
            scores[found, here.indices] += self._leave_out(here)
        if self.local is not None and self.local_exponent != 0:
            scores += self.local_exponent * self.local.log_lift(proba, own)
        return scores

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @lazy
    def _dense_members(self) -> FloatArray | None:
        """Indicators as an array if there are few labels: products with it are faster then."""
        return self.members.toarray() if self.members.shape[1] <= MAX_DENSE_LABELS else None

    @lazy
    def prior(self) -> FloatArray:
        """Logarithm of the factor of each set that does not depend on the row."""
        self._check()
        # A set of less than one row counts in proportion to its weight.
        return self.lift_exponent * self.log_lift + np.log(np.minimum(self.counts, 1.0))

    def _check(self) -> None:
        """Check sizes. A model file may hold anything: too many sets would need too much memory."""
        (n_sets, n_labels), local = self.members.shape, self.local
        fits = n_sets <= MAX_SETS and self.counts.shape == self.log_lift.shape == (n_sets,)
        if local is not None:
            n_rows = len(local.proba)
            fits &= local.proba.shape == (n_rows, n_labels) and local.counts.shape == (n_sets,)
            fits &= local.sets.shape == local.masses.shape == (n_rows,)
            fits &= bool(np.max(local.sets, initial=-1) < n_sets)
        if not fits:
            raise ValueError(
                f"The sizes of {n_sets} label sets, their counts, lifts and rows do not fit "
                f"together, or there are more than {MAX_SETS}. The model is damaged: fit the "
                "classifier again."
            )

    def _in_blocks(self, fill: Callable[[slice], None], n_rows: int) -> None:
        """Call a function for blocks of rows, in several threads if there is enough work."""
        n_local = 0 if self.local is None or self.local_exponent == 0 else len(self.local.proba)
        in_blocks(fill, n_rows, BLOCK, NANOSECONDS * n_rows * (self.members.shape[0] + n_local))

    def _leave_out(self, own: OwnSets) -> FloatArray:
        """Return the change of the score of each row's own set when the row is left out."""
        counts = self.counts[own.indices]
        left = 1 - own.weights / counts
        has_others = left > SLACK
        left = np.where(has_others, left, 1.0)
        change = np.log(np.minimum(left * counts, 1.0)) - np.log(np.minimum(counts, 1.0))
        return np.where(has_others, self.lift_exponent * np.log(left) + change, -np.inf)


def distinct_rows(Y: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct rows in ascending order, and the index of each row among them.

    The result of ``np.unique(Y, axis=0, return_inverse=True)``, but faster: rows are compared as
    packed bits.
    """
    packed = np.packbits(Y, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, indices = np.unique(keys, return_index=True, return_inverse=True)
    return Y[first], indices
