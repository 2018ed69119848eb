"""Local lift of label sets: their frequency among rows with similar probabilities."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.lazy import lazy
from pairmend._utils.typing import FloatArray, IntArray
from pairmend._utils.weights import SLACK
from pairmend.kernels.neighbourhood import exponential, squared_norms
from pairmend.mended.distances import log_odds, median_squared_distance

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
