"""Decision rules (thresholds, label sets) and their loss by a metric."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring, get_scorer

from pairmend._utils.classifiers import is_auto
from pairmend._utils.training import all_equal, fit_with_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.threshold import DIGITS
from pairmend.mended.label_sets import LabelSets, OwnSets
from pairmend.metrics import LOSSES, WEIGHTED_LOSSES
from pairmend.thresholds import BatchF1Thresholds, F1Thresholds, FixedThreshold

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
    lift_exponent : float, default=nan
        Exponent of the lift if `kind` is "sets".
    local_exponent : float, default=nan
        Exponent of the local lift if `kind` is "sets".
    label_sets : LabelSets or None, default=None
        The label sets with these exponents, if the decision is the chosen one.
    """

    kind: str
    threshold: Any
    loss: float
    lift_exponent: float = np.nan
    local_exponent: float = np.nan
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

    def without_label_sets(self) -> "CorrectedProba":
        """Return the same with the probabilities before label sets are taken into account."""
        return CorrectedProba(self.by_label, self.by_label, self.own)


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
        corrected = corrected.without_label_sets()
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
            candidates.append(Decision("sets", None, loss, lift, local))
    best = min(candidates, key=lambda candidate: candidate.loss)
    if best.kind == "sets":
        lift, local = best.lift_exponent, best.local_exponent
        sets = replace(label_sets, lift_exponent=lift, local_exponent=local)
        return replace(best, label_sets=sets), candidates
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
