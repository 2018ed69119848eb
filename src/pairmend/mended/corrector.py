"""fit_corrector: search corrections of the probabilities and stack them; predict with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pairmend._utils.arrays import EncodedFrame, take_rows
from pairmend._utils.computing import lazy, row_chunks
from pairmend._utils.progress import report
from pairmend._utils.training import Target
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.kernels.local_sums import LandmarkSums, corrected_by, global_confusion
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.decisions import (
    CorrectedProba,
    LabelSets,
    LocalSets,
    OutOfFoldPredictions,
    OwnSets,
)
from pairmend.mended.rows import (
    SCALINGS,
    Scaling,
    draw_rows,
    fit_scalings,
    log_odds,
    median_squared_distance,
)
from pairmend.mended.stacking import fit_stacking_weights, stack
from pairmend.mended.validation import (
    Neighbourhoods,
    ValidationRows,
    columns_of,
    draw_landmarks,
    own_landmarks,
)

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
RARE_LABEL_MASS = 10.0
"""Prior mass of uncorrected probabilities: with examples of this weight, the corrected and the
uncorrected probability of a label have the same weight."""
LIFT_EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Grid of the exponents of the lift of label sets."""


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
class LabelCorrector:
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

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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


def draw_rows_to_compare(
    weights: FloatArray, n_stacking: int, n_search: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Draw validation rows for stacking, in ascending order, and those among them for the search.

    Returns the rows, their weights, positions of the rows of the search, and their weights.
    """
    rows, weights = draw_rows(rng.permutation(len(weights)), weights, n_stacking, rng)
    searched, search_weights = draw_rows(np.arange(len(rows)), weights[rows], n_search, rng)
    ascending = np.argsort(rows)
    searched = np.sort(np.argsort(ascending)[searched])
    rows, search_weights = rows[ascending], search_weights[ascending][searched]
    return rows, weights[rows], searched, search_weights


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
    rows, weights, places, search_weights = draw_rows_to_compare(
        validation.weights, n_stacking, n_search, rng
    )
    at, drawn = validation.take(landmarks), replace(validation.take(rows), shares=weights)
    searched = replace(drawn.take(places), shares=search_weights)
    y = replace(target, Y=at.Y).as_given(np.arange(len(at)))
    given = at.X, at.proba, y, landmark_weights
    transformer = None if isinstance(at.X, EncodedFrame) else owner.transformer
    scalings = fit_scalings(owner.scaling, transformer, *given)
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
