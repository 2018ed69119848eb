"""fit_corrector and choose_decision: what corrects and decides best on out-of-fold predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring, get_scorer

from pairmend._utils.classifiers import is_auto
from pairmend._utils.computing import row_chunks
from pairmend._utils.progress import report
from pairmend._utils.training import Target, all_equal, fit_with_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.local_sums import global_confusion
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.threshold import DIGITS
from pairmend.mended.base_models import fit_stacking_weights, stack
from pairmend.mended.corrector import (
    CorrectedProba,
    Correction,
    Corrector,
    Decision,
    GlobalSums,
    LabelCorrector,
    LabelSets,
    LocalSets,
    OwnSets,
)
from pairmend.mended.rows import (
    SCALINGS,
    draw_rows,
    fit_scalings,
    log_odds,
    median_squared_distance,
)
from pairmend.mended.validation import (
    Neighbourhoods,
    ValidationRows,
    draw_landmarks,
    own_landmarks,
)
from pairmend.metrics import LOSSES, WEIGHTED_LOSSES
from pairmend.thresholds import BatchF1Thresholds, F1Thresholds, FixedThreshold

SMALLEST_BETA = 0.5
"""Smallest beta of the grid, in units of one over the median squared distance."""
N_DOUBLINGS = 8
"""Number of further values of beta, each twice the one before."""
SHRINKAGES = (0.25, 1.0, 4.0, 16.0)
"""Grid of prior masses; the nearest row has the mass 1."""
COMPARED_REFERENCES = ("identity", "beta")
N_SEARCH_ROWS = 1000
"""Largest number of rows on which corrections are scored; more rows do not change the choice. With
sample weights, heavier rows are more likely to be drawn."""
N_STACKING_ROWS = 2500
"""Largest number of rows on which stacking weights are fitted and decisions are chosen."""
MAX_SEARCH_LABELS = 250
"""Largest number of labels by which corrections are scored."""
ARRAYS = 64
"""Number of arrays of rows times labels for which memory is kept free."""
MAX_PAIRS = 2_500_000
"""Number of pairs of a scored row and a landmark above which fewer rows are scored, at least half
of N_SEARCH_ROWS."""
MAX_LOCAL = 2
"""Largest number of local corrections that are stacked; each makes predictions slower, and a third
lowers no loss."""
LOCAL_BANDWIDTH = 8.0
"""Beta of the weights of local label sets times the median squared distance of rows."""
LIFT_EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Grid of the exponents of the lift of label sets."""
N_FOLDS = 5
"""Number of parts into which a single fold is split."""
LOCAL_EXPONENTS = (0.25, 0.5)
"""Exponents of the lift and of the local lift of a decision on label sets."""
BATCH_PRIOR_MASSES = (300.0, 30.0)
"""Prior masses of thresholds for macro F1. The larger one suits calibrated probabilities; with the
smaller one, the rows decide more."""
THRESHOLD_PRIOR_MASS = 10.0
"""Weight of a label's rows at which its own threshold and the common one have the same weight."""


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


def fit_corrector(
    owner: Any, validation: ValidationRows, target: Target, rng: np.random.RandomState
) -> tuple[Corrector, list[Correction], OutOfFoldPredictions, IntArray]:
    """Search for the best corrections with the parameters of a `MendedClassifier`, and stack them.

    Of `target` only its classes are used. Also returned are all corrections that were scored, the
    out-of-fold predictions on which to choose a decision, and the numbers of the landmarks.
    """
    landmarks, landmark_weights = draw_landmarks(validation.weights, owner.max_landmarks, rng)
    report(owner, f"validation set: {len(validation)} rows, {len(landmarks)} of them landmarks")
    # The search compares each row with all landmarks.
    n_search = min(N_SEARCH_ROWS, max(N_SEARCH_ROWS // 2, MAX_PAIRS // len(landmarks)))
    n_stacking = N_STACKING_ROWS * n_search // N_SEARCH_ROWS
    # Rows for stacking, and those among them for the search.
    order = rng.permutation(len(validation))
    rows, weights = draw_rows(order, validation.weights, n_stacking, rng)
    places, search_weights = draw_rows(np.arange(len(rows)), weights[rows], n_search, rng)
    order = np.argsort(rows)
    places = np.sort(np.argsort(order)[places])
    rows, weights, search_weights = rows[order], weights[rows][order], search_weights[order]
    at, drawn = validation.take(landmarks), replace(validation.take(rows), shares=weights)
    searched = replace(drawn.take(places), shares=search_weights[places])
    y = replace(target, Y=at.Y).as_given(np.arange(len(at)))
    scalings = fit_scalings(owner, at.X, at.proba, y, landmark_weights)
    others = np.setdiff1d(np.arange(len(validation)), landmarks)
    tables = validation.sums(others, scalings, COMPARED_REFERENCES)
    neighbourhoods = {}
    for scaling in scalings:
        for chunk in row_chunks(len(at), ARRAYS * at.Y.shape[1]):
            tables[scaling.name][chunk] += at.take(chunk).summands(COMPARED_REFERENCES)
        own = own_landmarks(drawn, rows, landmarks, scaling)
        given_sums = COMPARED_REFERENCES, tables.pop(scaling.name), own
        neighbourhoods[scaling.name] = Neighbourhoods(scaling, *given_sums)
    total = GlobalSums.of(given_sums[1].sum(axis=0, keepdims=True), COMPARED_REFERENCES)
    del given_sums  # tables are large
    n_labels, labels = validation.Y.shape[1], None
    if n_labels > MAX_SEARCH_LABELS:
        labels = np.sort(rng.permutation(n_labels)[:MAX_SEARCH_LABELS])
    search = []
    for reference in COMPARED_REFERENCES:
        everywhere = correct_globally(searched, total, reference)
        scored = replace(searched, proba=everywhere).of_labels(labels)
        loss = scored.brier_score(scored.proba)
        search.append(Correction("global", 0.0, 0.0, reference, loss))
    for name, scaling in zip(neighbourhoods, scalings, strict=True):
        distance = median_squared_distance(scaling.landmarks, rng, landmark_weights)
        own = neighbourhoods[name].own[places]
        search += search_locally(
            owner, replace(neighbourhoods[name], own=own).of_labels(labels), searched, distance
        )
    by_label, stacked = _stack_corrections(at, neighbourhoods, total, search, drawn)
    del neighbourhoods  # as are these, of which the corrections have what they need
    label_sets, sets = LabelSets.from_indicators(validation.Y, validation.weights)
    corrector = Corrector(by_label, label_sets, {"labels": 1.0})
    own_sets = OwnSets(sets[rows], drawn.weights, np.arange(len(rows)))
    corrected = corrector.with_label_sets(stacked, own_sets)
    if target.multilabel:
        # In rows, of which all together count as at most as many as are drawn.
        masses = weights * min(1.0, n_stacking / weights.sum())
        distance = median_squared_distance(log_odds(stacked), rng, masses)
        beta = LOCAL_BANDWIDTH / (distance or 1.0)  # if all rows are equal, so are the weights
        counts = label_sets.counts, total.n_rows
        label_sets = replace(
            label_sets, local=LocalSets(stacked, sets[rows], masses, *counts, beta)
        )
        label_sets, parts = _choose_lift(label_sets, stacked, own_sets, places, searched)
        both = fit_stacking_weights(parts, drawn.Y, weights)
        corrector = Corrector(by_label, label_sets, both)
        corrected = CorrectedProba(stack(parts, both), stacked, own_sets)
    weights_by_name = {**by_label.stacking_weights, **corrector.label_set_weights}
    listed = ", ".join(f"{name} {weight:.2f}" for name, weight in weights_by_name.items())
    report(owner, f"{len(search)} corrections compared; stacking weights: {listed}")
    folds = [np.flatnonzero(drawn.folds == fold) for fold in np.unique(drawn.folds)]
    predictions = OutOfFoldPredictions(drawn.Y, weights, folds, corrected, total.n_rows)
    return corrector, search, predictions, landmarks


def correct_globally(rows: ValidationRows, total: GlobalSums, reference: str) -> FloatArray:
    """Correct the probabilities of rows by the global confusion matrix of all other rows."""
    corrected = np.empty(rows.Y.shape)
    for chunk in row_chunks(len(rows), ARRAYS * rows.Y.shape[1]):
        here = rows.take(chunk)
        others = total.sums[reference] - here.summands([reference])
        p_true_if_decided, p_true_if_not = p_true_given_decision(global_confusion(others))
        p_decide = here.p_decide(reference)
        corrected[chunk] = p_decide * p_true_if_decided + (1 - p_decide) * p_true_if_not
    return corrected


def search_locally(
    owner: Any, neighbourhoods: Neighbourhoods, searched: ValidationRows, squared_distance: float
) -> list[Correction]:
    """Score the corrections of one scaling, of a median squared distance, on all grids."""
    # If all rows are equal, every beta gives the same weights.
    unit = SMALLEST_BETA / (squared_distance or 1.0)
    betas = [unit * 2.0**k for k in range(N_DOUBLINGS + 1)]
    betas = betas if owner.beta == "auto" else [float(owner.beta)]
    shrinkages = SHRINKAGES if owner.shrinkage == "auto" else (float(owner.shrinkage),)
    errors = neighbourhoods.squared_errors(searched, betas, shrinkages)
    found, name = [], neighbourhoods.scaling.name
    for (r, b, m), loss in np.ndenumerate(np.average(errors, axis=3, weights=searched.shares)):
        reference = neighbourhoods.references[r]
        found.append(Correction(name, betas[b], shrinkages[m], reference, float(loss)))
    return found


def _stack_corrections(
    landmarks: ValidationRows,
    neighbourhoods: dict[str, Neighbourhoods],
    total: GlobalSums,
    search: Sequence[Correction],
    drawn: ValidationRows,
) -> tuple[LabelCorrector, FloatArray]:
    """Stack the best correction of each scaling; return the probabilities of drawn rows, too.

    Sums that it does not need are removed from the neighbourhoods.
    """
    best = {
        name: min((each for each in search if each.scaling == name), key=lambda each: each.loss)
        for name in ("global", *neighbourhoods)
    }
    for name in neighbourhoods:  # before more memory is needed
        neighbourhoods[name] = neighbourhoods[name].of_reference(best[name].reference)
    everywhere = correct_globally(drawn, total, best["global"].reference)
    terms = {"uncorrected": drawn.proba, "global": everywhere}
    for name in neighbourhoods:
        chosen = best[name]
        neighbourhoods[name].scaling.neighbourhood.set_params(beta=chosen.beta)
        terms[name] = neighbourhoods[name].corrected(drawn, chosen.beta, chosen.shrinkage)
    weights = _stacking_weights(terms, drawn)
    used = [name for name in neighbourhoods if weights[name] > 0]
    by_label = LabelCorrector(
        ValidationRows(None, landmarks.Y, landmarks.proba, landmarks.weights, landmarks.folds),
        {name: neighbourhoods[name].scaling for name in used},
        {name: neighbourhoods[name].table for name in used},
        total,
        best,
        weights,
    )
    return by_label, by_label.stacked(terms)


def _stacking_weights(terms: Mapping[str, FloatArray], drawn: ValidationRows) -> dict[str, float]:
    """Return stacking weights, of which at most MAX_LOCAL local corrections have a positive one.

    Of more, the one is left out without which the error is smallest, and so on.
    """

    def fitted(names: Sequence[str]) -> dict[str, float]:
        return fit_stacking_weights({name: terms[name] for name in names}, drawn.Y, drawn.shares)

    weights = fitted(list(terms))
    while len(local := [name for name in SCALINGS if weights.get(name, 0) > 0]) > MAX_LOCAL:
        shorter = [fitted([each for each in weights if each != name]) for name in local]
        weights = min(shorter, key=lambda own: drawn.brier_score(stack(terms, own)))
    return dict.fromkeys(terms, 0.0) | weights


def _choose_lift(
    label_sets: LabelSets,
    by_label: FloatArray,
    own: OwnSets,
    places: IntArray,
    searched: ValidationRows,
) -> tuple[LabelSets, dict[str, FloatArray]]:
    """Choose the exponent of the lift; return probabilities of labels, and marginals of sets."""

    def loss(exponent: float) -> float:
        """Return the loss, rounded so that rounding does not decide between equal exponents."""
        sets, proba = replace(label_sets, lift_exponent=exponent), by_label[places]
        parts = {"labels": proba, "sets": sets.marginals(proba, own.take(places))}
        found = fit_stacking_weights(parts, searched.Y, searched.shares)
        return round(searched.brier_score(stack(parts, found)), 12)

    best = replace(label_sets, lift_exponent=min(LIFT_EXPONENTS, key=loss))
    return best, {"labels": by_label, "sets": best.marginals(by_label, own)}


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
        try:
            return -float(self.metric(predictor, fold, truth.astype(np.int64), **params))
        except ValueError as error:
            message = f"criterion {self.metric} cannot score label indicators: {error}"
            raise ValueError(message) from error


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
