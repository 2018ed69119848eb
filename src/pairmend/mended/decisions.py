"""Label powerset decoding, decision rules (thresholds, label sets) and their loss by a metric."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring, get_scorer

from pairmend._utils.classifiers import is_auto
from pairmend._utils.computing import in_blocks, lazy
from pairmend._utils.training import SLACK, all_equal, fit_with_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.neighbourhood import exponential, squared_norms
from pairmend.kernels.threshold import DIGITS
from pairmend.mended.rows import log_odds
from pairmend.metrics import LOSSES, WEIGHTED_LOSSES
from pairmend.thresholds import BatchF1Thresholds, F1Thresholds, FixedThreshold

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


N_FOLDS = 5
"""Number of parts into which a single fold is split."""


def find_metric(classifier: Any) -> Any:
    """Return the name of a loss, or a scorer, by the `criterion` of a classifier."""
    criterion = classifier.criterion
    if callable(criterion):
        return check_scoring(classifier, criterion)
    if criterion in LOSSES:
        return criterion
    try:
        return get_scorer(criterion)
    except ValueError as error:
        raise ValueError(
            f"criterion={criterion!r} is neither one of {', '.join(map(repr, LOSSES))} "
            "nor the name of a scorer of scikit-learn, which "
            "sklearn.metrics.get_scorer_names() lists."
        ) from error


class DecisionScorer:
    """Mean loss of decisions over folds, by the name of a loss or a scikit-learn scorer."""

    def __init__(
        self,
        metric: Any,
        Y: BoolArray,
        folds: Sequence[IntArray],
        weights: FloatArray | None = None,
    ):
        self.metric = metric
        self.Y = Y
        self.weights = None if weights is None or all_equal(weights) else weights
        # A threshold is fitted on the other folds: a single fold is split to have others.
        parts = np.array_split(folds[0], min(N_FOLDS, len(folds[0])))
        self.folds = folds if len(folds) > 1 else parts

    def loss(self, decisions: IntArray, proba: FloatArray) -> float:
        """Return the mean loss of 0/1 decisions over the folds in which it is defined."""
        losses = np.array([self._loss_of(fold, decisions, proba) for fold in self.folds])
        defined = np.isfinite(losses)
        mean = float(losses[defined].mean()) if defined.any() else np.inf
        # A weighted loss has digits that depend on the scale of weights.
        return mean if self.weights is None else round(mean, DIGITS)

    def _loss_of(self, fold: IntArray, decisions: IntArray, proba: FloatArray) -> float:
        truth, weights = self.Y[fold], None if self.weights is None else self.weights[fold]
        if isinstance(self.metric, str):
            weights = np.ones(len(fold)) if weights is None else weights
            return WEIGHTED_LOSSES[self.metric](truth, decisions[fold].astype(bool), weights)
        params = {} if weights is None else {"sample_weight": weights}
        params = params if takes_weights(self.metric) else {}
        predictor = _StoredPredictions(decisions, proba)
        return -float(self.metric(predictor, fold, truth.astype(np.int64), **params))


def takes_weights(scorer: Any) -> bool:
    """Return whether a scorer takes ``sample_weight``."""
    # A scorer of make_scorer takes weights always, but its metric may not.
    parameters = signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


class _StoredPredictions(ClassifierMixin, BaseEstimator):
    """A classifier for scorers that returns stored predictions; X holds row numbers."""

    def __init__(self, decisions: IntArray, proba: FloatArray):
        self.decisions = decisions
        self.proba = proba
        # Without classes_, scorers would take two labels for two classes.
        self.classes_ = [np.arange(2)] * decisions.shape[1]

    def predict(self, X: IntArray) -> IntArray:
        return self.decisions[X]

    def predict_proba(self, X: IntArray) -> FloatArray:
        return self.proba[X]

    def __sklearn_is_fitted__(self) -> bool:
        return True


LOCAL_EXPONENTS = (0.25, 0.5)
"""Exponents of the lift and of the local lift of a decision on label sets."""
BATCH_PRIOR_MASSES = (300.0, 30.0)
"""Prior masses of thresholds for macro F1. The larger one suits calibrated probabilities; with the
smaller one, the rows decide more."""
THRESHOLD_PRIOR_MASS = 10.0
"""Weight of a label's rows at which its own threshold and the common one have the same weight."""


def candidate_thresholds(metric: Any, batch_size: float) -> list[Any]:
    """Return the unfitted thresholds that are compared under a metric, the simplest first.

    For the Hamming and the zero-one loss 1/2 is optimal; F1 needs lower thresholds. For macro F1
    the number of rows on which it is measured, `batch_size`, decides about rare labels; it is that
    of a fold of all validation rows. Which F1 a
    scorer gives to a label that does not occur is unknown: other thresholds are compared.
    """
    half = FixedThreshold(0.5)
    if metric in ("hamming", "zero_one"):
        return [half]
    if metric == "macro_f1":
        batches = [BatchF1Thresholds(batch_size, prior_mass=mass) for mass in BATCH_PRIOR_MASSES]
        return [half, *batches]
    common = [F1Thresholds("micro", expected=expected) for expected in (True, False)]
    if metric == "micro_f1":
        return [half, *common]
    per_label = [
        F1Thresholds("macro", expected=expected, shrinkage=shrinkage)
        for expected, shrinkage in product((True, False), (THRESHOLD_PRIOR_MASS, 0.0))
    ]
    return [half, *common, *per_label]


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
class OutOfFoldPredictions:
    """Out-of-fold probabilities of validation rows after leave-one-out correction.

    Attributes
    ----------
    Y : ndarray of bool, shape (n_rows, n_labels)
        True labels.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    folds : sequence of ndarray of int
        Rows of each fold.
    corrected : CorrectedProba
        Their corrected probabilities.
    n_rows : float
        Weight of all validation rows, of which these may be a part, in rows.
    """

    Y: BoolArray
    weights: FloatArray
    folds: Sequence[IntArray]
    corrected: CorrectedProba
    n_rows: float


def decision_kinds(decision: str, threshold: Any) -> tuple[str, ...]:
    """Return the kinds of decisions to compare; label sets only without a given threshold."""
    if decision == "sets" and not is_auto(threshold):
        raise ValueError(
            f"decision='sets' does not use the threshold {threshold}; expected decision='labels', "
            "or threshold='auto'."
        )
    if decision != "auto":
        return (decision,)
    return ("labels", "sets") if is_auto(threshold) else ("labels",)


def choose_decision(
    owner: Any, out_of_fold: OutOfFoldPredictions, label_sets: LabelSets
) -> tuple[Decision, list[Decision]]:
    """Return the decision of least loss, its threshold fitted on all rows, and all candidates.

    They are those of the parameters of a `MendedClassifier`. Each threshold is fitted on all folds
    but one and scored on that one. Of equal losses the first candidate is chosen.
    """
    metric, corrected = find_metric(owner), out_of_fold.corrected
    scorer = DecisionScorer(metric, out_of_fold.Y, out_of_fold.folds, out_of_fold.weights)
    if owner.decision == "labels":
        corrected = replace(corrected, proba=corrected.by_label)
    if is_auto(owner.threshold):
        batch_size = max(1.0, round(out_of_fold.n_rows / len(out_of_fold.folds), 3))
        thresholds = candidate_thresholds(metric, batch_size)
    elif isinstance(owner.threshold, Real):
        thresholds = [FixedThreshold(float(owner.threshold))]
    else:
        thresholds = [clone(owner.threshold)]
    kinds, candidates = decision_kinds(owner.decision, owner.threshold), []
    for threshold in thresholds if "labels" in kinds else ():
        decisions = _cross_fitted_decisions(threshold, corrected.proba, scorer)
        candidates.append(Decision("labels", threshold, scorer.loss(decisions, corrected.proba)))
    if "sets" in kinds:
        variants = [(label_sets.lift_exponent, 0.0)]
        variants += [LOCAL_EXPONENTS] if label_sets.local is not None else []
        for lift, local in variants:
            sets = replace(label_sets, lift_exponent=lift, local_exponent=local)
            decisions = sets.most_likely(corrected.by_label, corrected.own)
            loss = scorer.loss(decisions, corrected.proba)
            candidates.append(Decision("sets", None, loss, sets))
    best = min(candidates, key=lambda candidate: candidate.loss)
    if best.kind == "sets":
        return best, candidates
    fitted = fit_with_weights(clone(best.threshold), (corrected.proba, scorer.Y), scorer.weights)
    return replace(best, threshold=fitted), candidates


def _cross_fitted_decisions(threshold: Any, proba: FloatArray, scorer: DecisionScorer) -> IntArray:
    """Return decisions on each fold by a threshold fitted on the others."""
    decisions = np.empty(proba.shape, dtype=np.int64)
    train = np.ones(len(proba), dtype=bool)
    for fold in scorer.folds:
        train[fold] = False
        weights = None if scorer.weights is None else scorer.weights[train]
        fitted = fit_with_weights(clone(threshold), (proba[train], scorer.Y[train]), weights)
        decisions[fold] = fitted.decide(proba[fold])
        train[fold] = True
    return decisions
