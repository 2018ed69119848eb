"""fit_corrector: search corrections of the probabilities and stack them; predict with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from pairmend._utils.arrays import take_rows
from pairmend._utils.computing import lazy, one_blas_thread, row_chunks
from pairmend._utils.progress import report
from pairmend._utils.training import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.local_sums import LandmarkSums, corrected_by, global_confusion
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.decisions import CorrectedProba, OutOfFoldPredictions
from pairmend.mended.distances import SCALINGS, Scaling, fit_scalings
from pairmend.mended.label_sets import LabelSets, LocalSets, OwnSets
from pairmend.mended.rows import draw_rows
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
MAX_PAIRS = 2_500_000
"""Number of pairs of a scored row and a landmark above which fewer rows are scored, at least half
of N_SEARCH_ROWS."""
MAX_LOCAL = 2
"""Largest number of local corrections that are stacked; each makes predictions slower, and a third
lowers no loss."""
RARE_LABEL_MASS = 10.0
"""Prior mass of uncorrected probabilities: with examples of this weight, the corrected and the
uncorrected probability of a label have the same weight."""
LIFT_EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Grid of the exponents of the lift of label sets."""
RIDGE = 1e-6
"""Size of the penalty of stacking weights, if predictions are equal, relative to them."""


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
    guard : bool
        Whether rare labels are shrunk towards uncorrected probabilities.
    """

    landmarks: ValidationRows
    scalings: Mapping[str, Scaling]
    tables: Mapping[str, FloatArray]
    total: GlobalSums
    corrections: Mapping[str, Correction]
    stacking_weights: Mapping[str, float]
    guard: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def corrected(self, X: MatrixLike, proba: FloatArray) -> FloatArray:
        """Correct the base classifier's probabilities of rows."""
        by_label = np.empty(proba.shape)
        for rows in row_chunks(len(proba), 4 * len(self.landmarks) + 12 * proba.shape[1]):
            by_label[rows] = self.stacked(self.terms(take_rows(X, rows), proba[rows]))
        return by_label

    def terms(self, X: MatrixLike, proba: FloatArray) -> dict[str, FloatArray]:
        """Return uncorrected probabilities, and each correction whose stacking weight is not 0."""
        sums = {
            name: self._sums[name].around(self.scalings[name].points(X, proba))
            for name in self.local_names
        }
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
        corrected = stack(terms, self.stacking_weights)
        if not self.guard:
            return corrected
        # Rare labels are shrunk towards uncorrected probabilities.
        share = self.total.n_examples / (self.total.n_examples + RARE_LABEL_MASS)
        return share * corrected + (1 - share) * terms["uncorrected"]

    @property
    def local_names(self) -> list[str]:
        """Names of the scalings whose stacking weight is not 0."""
        return list(self.scalings)

    @lazy
    def _sums(self) -> dict[str, LandmarkSums]:
        """Sums around rows, by scaling."""
        return {
            name: LandmarkSums(
                scaling.neighbourhood.points_, self.tables[name], self.corrections[name].beta
            )
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


@dataclass(frozen=True)
class DrawnRows:
    """Validation rows on which corrections are compared or stacked.

    Attributes
    ----------
    rows : ValidationRows
        The rows, with their own weights.
    weights : ndarray of shape (n_rows,)
        Weights of the rows in a mean over all validation rows.
    """

    rows: ValidationRows
    weights: FloatArray

    def brier_score(self, proba: FloatArray) -> float:
        """Return the weighted mean squared error of probabilities."""
        return float(np.average(self.rows.squared_errors(proba), weights=self.weights))

    def stacking_weights(self, predictions: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the weights of least squared error of the weighted sum."""
        return fit_stacking_weights(predictions, self.rows.Y, self.weights)


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
    at, drawn = validation.take(landmarks), DrawnRows(validation.take(rows), weights)
    searched = DrawnRows(drawn.rows.take(places), search_weights)
    y = replace(target, Y=at.Y).as_given(np.arange(len(at)))
    given = at.X, at.proba, y, landmark_weights
    scalings = fit_scalings(owner.scaling, owner.transformer, *given)
    references = COMPARED_REFERENCES if owner.reference == "auto" else (owner.reference,)
    others = np.setdiff1d(np.arange(len(validation)), landmarks)
    tables = validation.sums(others, scalings, references)
    neighbourhoods = {}
    for scaling in scalings:
        table = at.summands(references) + tables[scaling.name]
        own = own_landmarks(drawn.rows, rows, landmarks, scaling)
        neighbourhoods[scaling.name] = Neighbourhoods(scaling, references, table, own)
    total = GlobalSums.of(table.sum(axis=0, keepdims=True), references)
    search = search_globally(searched, total) if owner.guard else []
    for neighbourhood in neighbourhoods.values():
        distance = neighbourhood.scaling.median_squared_distance(rng, landmark_weights)
        drawn_here = replace(neighbourhood, own=neighbourhood.own[places])
        search += search_locally(owner, drawn_here, searched, distance)
    by_label, stacked = _stack_corrections(owner, at, neighbourhoods, total, search, drawn)
    label_sets, sets = LabelSets.from_indicators(validation.Y, validation.weights)
    corrector = Corrector(by_label, label_sets, {"labels": 1.0})
    own_sets = OwnSets(sets[rows], drawn.rows.weights, np.arange(len(rows)))
    corrected = corrector.with_label_sets(stacked, own_sets)
    if target.multilabel:
        # In rows, of which all together count as at most as many as are drawn.
        masses = weights * min(1.0, n_stacking / weights.sum())
        local = LocalSets.from_rows(
            stacked, sets[rows], masses, label_sets.counts, total.n_rows, rng
        )
        label_sets = replace(label_sets, local=local)
        label_sets, parts = _choose_lift(label_sets, stacked, own_sets, places, searched)
        both = drawn.stacking_weights(parts)
        corrector = Corrector(by_label, label_sets, both)
        corrected = CorrectedProba(stack(parts, both), stacked, own_sets)
    report(owner, f"{len(search)} corrections compared")
    report(owner, f"stacking weights: {_listed(by_label.stacking_weights)}")
    report(owner, f"stacking weights of label sets: {_listed(corrector.label_set_weights)}")
    folds = [np.flatnonzero(drawn.rows.folds == fold) for fold in np.unique(drawn.rows.folds)]
    predictions = OutOfFoldPredictions(drawn.rows.Y, weights, folds, corrected)
    return corrector, search, predictions, landmarks


def search_globally(searched: DrawnRows, total: GlobalSums) -> list[Correction]:
    """Score the global correction with each reference."""
    found = []
    for reference in total.sums:
        loss = searched.brier_score(correct_globally(searched.rows, total, reference))
        found.append(Correction("global", 0.0, 0.0, reference, loss))
    return found


def correct_globally(rows: ValidationRows, total: GlobalSums, reference: str) -> FloatArray:
    """Correct the probabilities of rows by the global confusion matrix of all other rows."""
    p_decide, others = rows.p_decide(reference), total.sums[reference] - rows.summands([reference])
    p_true_if_decided, p_true_if_not = p_true_given_decision(global_confusion(others))
    return p_decide * p_true_if_decided + (1 - p_decide) * p_true_if_not


def search_locally(
    owner: Any, neighbourhoods: Neighbourhoods, searched: DrawnRows, squared_distance: float
) -> list[Correction]:
    """Score the corrections of one scaling, of a median squared distance, on all grids."""
    # If all rows are equal, every beta gives the same weights.
    unit = SMALLEST_BETA / (squared_distance or 1.0)
    betas = [unit * 2.0**k for k in range(N_DOUBLINGS + 1)]
    betas = betas if owner.beta == "auto" else [float(owner.beta)]
    shrinkages = SHRINKAGES if owner.shrinkage == "auto" else (float(owner.shrinkage),)
    errors = neighbourhoods.squared_errors(searched.rows, betas, shrinkages)
    found, name = [], neighbourhoods.scaling.name
    for (r, b, m), loss in np.ndenumerate(np.average(errors, axis=3, weights=searched.weights)):
        reference = neighbourhoods.references[r]
        found.append(Correction(name, betas[b], shrinkages[m], reference, float(loss)))
    return found


def _stack_corrections(
    owner: Any,
    landmarks: ValidationRows,
    neighbourhoods: Mapping[str, Neighbourhoods],
    total: GlobalSums,
    search: Sequence[Correction],
    drawn: DrawnRows,
) -> tuple[LabelCorrector, FloatArray]:
    """Stack the best correction of each scaling; return the probabilities of drawn rows, too."""
    best: dict[str, Correction] = {}
    for correction in search:
        known = best.get(correction.scaling, correction)
        best[correction.scaling] = correction if correction.loss < known.loss else known
    if not owner.guard:
        only = min(best.values(), key=lambda correction: correction.loss)
        best = {only.scaling: only}
    terms = {"uncorrected": drawn.rows.proba}
    for name, chosen in best.items():
        if name == "global":
            terms[name] = correct_globally(drawn.rows, total, chosen.reference)
        else:
            neighbourhoods[name].scaling.neighbourhood.set_params(beta=chosen.beta)
            given = drawn.rows, chosen.reference, chosen.beta, chosen.shrinkage
            terms[name] = neighbourhoods[name].corrected(*given)
    weights = _stacking_weights(terms, drawn) if owner.guard else dict.fromkeys(best, 1.0)
    used = [name for name in neighbourhoods if weights.get(name, 0) > 0]
    by_label = LabelCorrector(
        ValidationRows(None, landmarks.Y, landmarks.proba, landmarks.weights, landmarks.folds),
        {name: neighbourhoods[name].scaling for name in used},
        {name: neighbourhoods[name].table_of(best[name].reference) for name in used},
        total,
        best,
        weights,
        owner.guard,
    )
    return by_label, by_label.stacked(terms)


def _stacking_weights(terms: Mapping[str, FloatArray], drawn: DrawnRows) -> dict[str, float]:
    """Return stacking weights, of which at most MAX_LOCAL local corrections have a positive one.

    Of more, the one is left out without which the error is smallest, and so on.
    """

    def fitted(names: Sequence[str]) -> dict[str, float]:
        return drawn.stacking_weights({name: terms[name] for name in names})

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
    searched: DrawnRows,
) -> tuple[LabelSets, dict[str, FloatArray]]:
    """Choose the exponent of the lift; return probabilities of labels, and marginals of sets."""

    def loss(exponent: float) -> float:
        """Return the loss, rounded so that rounding does not decide between equal exponents."""
        sets, proba = replace(label_sets, lift_exponent=exponent), by_label[places]
        parts = {"labels": proba, "sets": sets.marginals(proba, own.take(places))}
        return round(searched.brier_score(stack(parts, searched.stacking_weights(parts))), 12)

    best = replace(label_sets, lift_exponent=min(LIFT_EXPONENTS, key=loss))
    return best, {"labels": by_label, "sets": best.marginals(by_label, own)}


@one_blas_thread()
def fit_stacking_weights(
    predictions: Mapping[str, FloatArray], Y: BoolArray, row_weights: FloatArray
) -> dict[str, float]:
    """Return weights >= 0 of sum <= 1 that minimize the squared error of the weighted sum."""
    columns = list(predictions.values())
    weighted = [column * row_weights[:, np.newaxis] for column in columns]
    products = np.array([[np.vdot(a, b) for b in columns] for a in weighted])
    weights = _least_squares(products, np.array([np.vdot(a, Y) for a in weighted]))
    return dict(zip(predictions, weights.tolist(), strict=True))


def _least_squares(products: FloatArray, target: FloatArray) -> FloatArray:
    """Minimize w'Pw - 2w't over w >= 0 whose sum is at most 1."""
    values, vectors = np.linalg.eigh(products)
    positive = values > len(values) * np.finfo(np.float64).eps * values[-1]
    if not positive.any():  # all predictions are 0
        return np.zeros_like(target)
    # With the square root A of the products, the objective is |Aw - b|^2 up to a constant.
    roots = np.sqrt(values[positive])
    A, b = roots[:, np.newaxis] * vectors[:, positive].T, vectors[:, positive].T @ target / roots
    scale = roots.max()
    A, b = A / scale, b / scale
    weights = _non_negative(A, b)
    if weights.sum() <= 1:
        return weights
    # The minimum lies where weights sum to 1, and there Aw - b = (A - b1')w. Its shortest vector
    # has the direction of the least |(A - b1')w|^2 + (1'w - 1)^2, constrained by w >= 0 only.
    weights = _non_negative(
        np.vstack([A - b[:, np.newaxis], np.ones(len(target))]), np.r_[0 * b, 1.0]
    )
    return weights / weights.sum()


def _non_negative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the w >= 0 of least |Aw - b|^2."""
    try:
        weights: FloatArray = nnls(A, b)[0]
    except RuntimeError:
        # With equal columns, scipy's iteration may not end. A tiny penalty makes them unequal.
        n_columns = A.shape[1]
        penalty = RIDGE * np.linalg.norm(A) * np.eye(n_columns)
        weights = nnls(np.vstack([A, penalty]), np.r_[b, np.zeros(n_columns)])[0]
    return weights


def stack(predictions: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of predictions; those of weight 0 may be missing."""
    total = sum(weight * predictions[name] for name, weight in weights.items() if weight > 0)
    if np.ndim(total):
        return np.minimum(np.maximum(total, 0), 1)
    return np.zeros_like(next(iter(predictions.values())))


def _listed(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
