"""What corrects probabilities and decides on labels: local corrections, label sets, thresholds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import take_rows
from pairmend._utils.computing import in_blocks, lazy, row_chunks
from pairmend._utils.training import SLACK
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.local_sums import (
    LandmarkSums,
    corrected_by,
    exponential,
    global_confusion,
    squared_norms,
)
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.base_models import stack
from pairmend.mended.rows import Scaling, log_odds
from pairmend.mended.validation import ValidationRows, columns_of
from pairmend.thresholds import FixedThreshold

RARE_LABEL_MASS = 10.0
"""Prior mass of uncorrected probabilities: with examples of this weight, the corrected and the
uncorrected probability of a label have the same weight."""
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


class Stored:
    """Base class of data classes that compute parts at first access, which are not stored."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Correction:
    """A point of the grid, and its loss.

    Attributes
    ----------
    scaling : str
        How distances are measured; "global" if all rows have the same weight.
    beta : float
        Inverse squared bandwidth of the Gaussian weights.
    shrinkage : float
        Prior mass added from the global confusion matrix.
    reference : str
        Name of the randomized reference classifier.
    loss : float
        Brier score of the leave-one-out correction of out-of-fold probabilities.
    """

    scaling: str
    beta: float
    shrinkage: float
    reference: str
    loss: float


@dataclass(frozen=True)
class GlobalSums:
    """Confusion sums of labels over all validation rows.

    Attributes
    ----------
    sums : mapping of ndarray of shape (1, 3 * n_labels + 1)
        By the name of the reference classifier.
    p_true : mapping of tuple of ndarray
        P(true | decision) for and against each label, by reference.
    n_examples : ndarray of shape (n_labels,)
        Weight of the rarer class of each label.
    n_rows : float
        Weight of all rows, in rows.
    """

    sums: Mapping[str, FloatArray]
    p_true: Mapping[str, tuple[FloatArray, FloatArray]]
    n_examples: FloatArray
    n_rows: float

    @classmethod
    def of(cls, total: FloatArray, references: Sequence[str]) -> "GlobalSums":
        """Split the sums of several references, see `validation.columns_of`."""
        n_labels = total.shape[1] // (2 * len(references) + 1)
        sums = {
            name: total[:, columns_of(k, len(references), n_labels)]
            for k, name in enumerate(references)
        }
        p_true = {name: p_true_given_decision(global_confusion(own)) for name, own in sums.items()}
        positive, n_rows = total[0, -n_labels - 1 : -1], float(total[0, -1])
        return cls(sums, p_true, np.minimum(positive, n_rows - positive), n_rows)

    def confusion(self, reference: str) -> FloatArray:
        """Return the confusion matrices of labels, (1, n_labels, 2, 2), [truth, decision]."""
        return global_confusion(self.sums[reference])


@dataclass(frozen=True)
class LabelCorrector(Stored):
    """Corrects the base classifier's probabilities label by label, by stacked corrections.

    Attributes
    ----------
    landmarks : ValidationRows
        Landmarks, without their features.
    scalings : mapping of Scaling
        By name, those that local corrections of positive weight use.
    tables : mapping of ndarray of shape (n_landmarks, 3 * n_labels + 1)
        Confusion sums of the landmarks by scaling.
    total : GlobalSums
        Confusion sums over all validation rows.
    corrections : mapping of Correction
        By name of the scaling, the best of each; "global" is that over all rows.
    stacking_weights : mapping of float
        Weights of "uncorrected", "global" and the scalings.
    """

    landmarks: ValidationRows
    scalings: Mapping[str, Scaling]
    tables: Mapping[str, FloatArray]
    total: GlobalSums
    corrections: Mapping[str, Correction]
    stacking_weights: Mapping[str, float]

    def corrected(self, X: MatrixLike, proba: FloatArray) -> FloatArray:
        """Correct the base classifier's probabilities of rows."""
        by_label = np.empty(proba.shape)
        for rows in row_chunks(len(proba), 4 * len(self.landmarks.Y) + 12 * proba.shape[1]):
            by_label[rows] = self.stacked(self.terms(take_rows(X, rows), proba[rows]))
        return by_label

    def terms(self, X: MatrixLike, proba: FloatArray) -> dict[str, FloatArray]:
        """Return uncorrected probabilities, and each correction whose stacking weight is not 0."""
        scalings = self.scalings.items()
        sums = {name: self._sums[name].around(each.points(X, proba)) for name, each in scalings}
        return self.terms_of_sums(proba, sums, self.total.p_true)

    def terms_of_sums(
        self, proba: Any, sums: Mapping[str, Any], p_true: Mapping[str, Any], xp: Any = np
    ) -> dict[str, Any]:
        """Return the terms, given the confusion sums around rows by scaling.

        `p_true` are P(true | decision) over all validation rows by reference. All are arrays of the
        namespace `xp`, which has the functions of the array API.
        """
        used = [name for name, weight in self.stacking_weights.items() if weight != 0]
        references = {self.corrections[name].reference for name in used if name != "uncorrected"}
        p_decide = {name: REFERENCES[name](proba, xp) for name in references}
        terms = {"uncorrected": proba}
        for name, around in sums.items():
            reference, mass = self.corrections[name].reference, self.corrections[name].shrinkage
            terms[name] = corrected_by(p_decide[reference], around, p_true[reference], mass, xp)
        if "global" in used:
            reference = self.corrections["global"].reference
            on, off = p_true[reference]
            terms["global"] = p_decide[reference] * on + (1 - p_decide[reference]) * off
        return terms

    def landmark_weights(self, name: str, X: MatrixLike, proba: FloatArray) -> FloatArray:
        """Return the weights of landmarks around rows, (n_rows, n_landmarks)."""
        return self._sums[name].weights(self.scalings[name].points(X, proba))

    def stacked(self, terms: Mapping[str, FloatArray]) -> FloatArray:
        """Return the weighted sum of terms, with rare labels shrunk towards uncorrected."""
        share = self.total.n_examples / (self.total.n_examples + RARE_LABEL_MASS)
        return share * stack(terms, self.stacking_weights) + (1 - share) * terms["uncorrected"]

    @lazy
    def _sums(self) -> dict[str, LandmarkSums]:
        """Sums around rows, by scaling."""
        return {
            name: LandmarkSums(scaling.landmarks, self.tables[name], self.corrections[name].beta)
            for name, scaling in self.scalings.items()
        }


@dataclass(frozen=True)
class LocalSets(Stored):
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
class LabelSets(Stored):
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

        def use(rows: slice, scores: FloatArray) -> None:
            best[rows] = scores.argmax(axis=1)

        self._score_blocks(proba, own, use)
        return np.asarray(self.members[best].toarray()).astype(np.int64)

    def marginals(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the probability of each label over all sets; `own` as in `most_likely`."""
        out = np.empty(proba.shape)

        def use(rows: slice, scores: FloatArray) -> None:
            scores -= np.maximum.reduce(scores, axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= np.add.reduce(scores, axis=1, keepdims=True)
            out[rows] = scores @ self._indicators

        self._score_blocks(proba, own, use)
        return np.minimum(np.maximum(out, 0, out=out), 1, out=out)

    def log_scores(self, proba: FloatArray, own: OwnSets | None = None) -> FloatArray:
        """Return the log-probabilities of sets, up to a constant per row, (n_rows, n_sets)."""
        prior = self.prior  # checks the sizes of the sets
        # The product of all complements is a constant per row: only log-odds are added.
        summands = log_odds(proba, PROBA_MARGIN)
        scores = np.ascontiguousarray(summands @ self._indicators.T)
        scores += prior
        if own is not None and len(self.counts) > 1:
            found = np.flatnonzero(own.indices >= 0)
            here = own.take(found)
            scores[found, here.indices] += self._leave_out(here)
        if self.local is not None and self.local_exponent != 0:
            scores += self.local_exponent * self.local.log_lift(proba, own)
        return scores

    @lazy
    def _indicators(self) -> Any:
        """The members, as an array if there are few labels: products with it are faster then."""
        return self.members.toarray() if self.members.shape[1] <= MAX_DENSE_LABELS else self.members

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

    def _score_blocks(
        self, proba: FloatArray, own: OwnSets | None, use: Callable[[slice, FloatArray], None]
    ) -> None:
        """Pass the scores of blocks of rows to a function, in threads if there is enough work."""

        def fill(rows: slice) -> None:
            use(rows, self.log_scores(proba[rows], None if own is None else own.take(rows)))

        n_local = 0 if self.local is None or self.local_exponent == 0 else len(self.local.proba)
        work = NANOSECONDS * len(proba) * (self.members.shape[0] + n_local)
        in_blocks(fill, len(proba), BLOCK, work)

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


@dataclass(frozen=True)
class CorrectedProba:
    """Corrected probabilities of rows.

    Attributes
    ----------
    proba : ndarray of shape (n_rows, n_labels)
        Probabilities of labels, stacked with the marginals of label sets.
    by_label : ndarray of shape (n_rows, n_labels)
        Probabilities before label sets are taken into account.
    own : OwnSets or None
        The label set of each row, if these are training rows.
    """

    proba: FloatArray
    by_label: FloatArray
    own: OwnSets | None = None


@dataclass(frozen=True)
class Corrector:
    """Corrects the base classifier's probabilities by label, and by label sets.

    Attributes
    ----------
    by_label : LabelCorrector
        Corrects the probabilities of labels.
    label_sets : LabelSets
        Label sets seen in training.
    label_set_weights : mapping of float
        Stacking weights of the probabilities of "labels" and of the marginals of "sets".
    """

    by_label: LabelCorrector
    label_sets: LabelSets
    label_set_weights: Mapping[str, float]

    def without_label_sets(self) -> "Corrector":
        """Return a corrector that does not use label sets for the probabilities of labels."""
        independent = replace(self.label_sets, lift_exponent=0.0)
        return replace(self, label_sets=independent, label_set_weights={"labels": 1.0})

    def corrected_proba(self, X: MatrixLike, proba: FloatArray) -> CorrectedProba:
        """Correct the base classifier's probabilities of rows."""
        return self.with_label_sets(self.by_label.corrected(X, proba), None)

    def with_label_sets(self, by_label: FloatArray, own: OwnSets | None) -> CorrectedProba:
        """Stack probabilities of labels with the marginals of label sets."""
        parts = {"labels": by_label}
        if self.label_set_weights.get("sets", 0.0) != 0:
            parts["sets"] = self.label_sets.marginals(by_label, own)
        return CorrectedProba(stack(parts, self.label_set_weights), by_label, own)


@dataclass(frozen=True)
class Decision:
    """A way to predict labels, and its cross-validated loss.

    Attributes
    ----------
    kind : {"labels", "sets", "classes"}
        Label by label, by label powerset decoding, or the most likely of 1-D classes.
    threshold : threshold or None
        Applied to the probabilities of labels if `kind` is "labels".
    loss : float
        Mean loss over the folds.
    label_sets : LabelSets or None, default=None
        The label sets with their exponents if `kind` is "sets".
    """

    kind: str
    threshold: Any
    loss: float
    label_sets: LabelSets | None = None

    def decide(self, proba: FloatArray, by_label: FloatArray) -> IntArray:
        """Return 0/1 decisions on labels, given the probabilities of `CorrectedProba`."""
        if self.label_sets is not None:
            return self.label_sets.most_likely(by_label)
        if type(self.threshold) is FixedThreshold:  # its checks take longer than one row
            return (proba > self.threshold.value).astype(np.int64)
        return np.asarray(self.threshold.decide(proba))
