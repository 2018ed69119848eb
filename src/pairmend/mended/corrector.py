"""fit_corrector: search corrections of the probabilities and stack them; predict with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from pairmend._utils.computing import lazy, one_blas_thread, row_chunks
from pairmend._utils.progress import report
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.confusion import p_true_given_decision
from pairmend.kernels.local_sums import LandmarkSums, corrected_by
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.decisions import CorrectedProba, OutOfFoldPredictions
from pairmend.mended.distances import Scaling, fit_scalings
from pairmend.mended.label_sets import LabelSets, LocalSets, OwnSets
from pairmend.mended.rows import draw_rows
from pairmend.mended.search import (
    SHRINKAGES,
    Correction,
    Neighbourhoods,
    best_by_scaling,
    beta_grid,
    correct_globally,
    search_global,
)
from pairmend.mended.validation import (
    GlobalSums,
    LandmarkTables,
    OutOfFoldRows,
    ValidationRows,
    draw_landmarks,
    own_landmarks,
)

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
        return self.terms_of_sums(proba, sums, self.p_true)

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
        share = self._n_examples / (self._n_examples + RARE_LABEL_MASS)
        return share * corrected + (1 - share) * terms["uncorrected"]

    @lazy
    def p_true(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """P(true | decision) over all validation rows, by reference."""
        return {name: p_true_given_decision(self.total.confusion(name)) for name in self.total.sums}

    @lazy
    def _n_examples(self) -> FloatArray:
        """Weight of the rarer class of each label."""
        return self.total.n_examples

    @lazy
    def local_names(self) -> list[str]:
        """Names of the scalings whose stacking weight is not 0."""
        weights = self.stacking_weights
        return [name for name in self.scalings if weights.get(name, 0) != 0]

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

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_label_sets(self, by_label: FloatArray, own: OwnSets | None) -> CorrectedProba:
        """Stack probabilities of labels with the marginals of label sets."""
        parts = {"labels": by_label}
        if self.label_set_weights.get("sets", 0.0) != 0:
            parts["sets"] = self.label_sets.marginals(by_label, own)
        return CorrectedProba(stack(parts, self.label_set_weights), by_label, own)


@dataclass(frozen=True)
class DrawnRows:
    """Validation rows on which corrections are compared and stacked.

    Attributes
    ----------
    rows : ValidationRows
        The rows, with their own weights.
    weights : ndarray of shape (n_rows,)
        Weights of the rows in a mean over all validation rows.
    searched : ndarray of int
        Positions of the rows of the search.
    search_rows : ValidationRows
        The rows of the search.
    search_weights : ndarray of float
        Weights of these rows in a mean over all validation rows.
    """

    rows: ValidationRows
    weights: FloatArray
    searched: IntArray
    search_rows: ValidationRows
    search_weights: FloatArray


def draw_rows_to_compare(
    weights: FloatArray, n_landmarks: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Draw validation rows for stacking, in ascending order, and those among them for the search.

    Returns the rows, their weights, positions of the rows of the search, and their weights.
    """
    order = rng.permutation(len(weights))
    n_stacking, n_search = numbers_to_draw(n_landmarks)
    rows, weights = draw_rows(order, weights, n_stacking, rng)
    searched, search_weights = draw_rows(np.arange(len(rows)), weights[rows], n_search, rng)
    ascending = np.argsort(rows)
    searched = np.sort(np.argsort(ascending)[searched])
    rows, search_weights = rows[ascending], search_weights[ascending][searched]
    return rows, weights[rows], searched, search_weights


def numbers_to_draw(n_landmarks: int) -> tuple[int, int]:
    """Return the largest numbers of rows for stacking and for the search."""
    # The search compares each row with all landmarks.
    n_search = min(N_SEARCH_ROWS, max(N_SEARCH_ROWS // 2, MAX_PAIRS // n_landmarks))
    return N_STACKING_ROWS * n_search // N_SEARCH_ROWS, n_search


def row_masses(weights: FloatArray, n_landmarks: int) -> FloatArray:
    """Return the weights of drawn rows as numbers of rows, in all at most as many as are drawn.

    Without weights, each drawn row counts as one, however many rows there are.
    """
    n_stacking, _ = numbers_to_draw(n_landmarks)
    return weights * min(1.0, n_stacking / weights.sum())


def fit_corrector(
    owner: Any, validation: OutOfFoldRows, target: Target, rng: np.random.RandomState
) -> tuple[Corrector, list[Correction], OutOfFoldPredictions, IntArray]:
    """Search for the best corrections with the parameters of a `MendedClassifier`, and stack them.

    Of `target` only its classes are used. Also returned are all corrections that were scored, the
    out-of-fold predictions on which to choose a decision, and the numbers of the landmarks.
    """
    landmarks, landmark_weights = draw_landmarks(validation.weights, owner.max_landmarks, rng)
    n_rows = len(validation.weights)
    report(owner, f"validation set: {n_rows} rows, {len(landmarks)} of them landmarks")
    rows, weights, searched, search_weights = draw_rows_to_compare(
        validation.weights, len(landmarks), rng
    )
    at, compared, folds = validation.gather(landmarks, rows)
    drawn = DrawnRows(compared, weights, searched, compared.take(searched), search_weights)
    y = replace(target, Y=at.Y).as_given(np.arange(len(at)))
    given = at.X, at.proba, y, landmark_weights
    scalings = fit_scalings(owner.scaling, owner.transformer, *given)
    references = COMPARED_REFERENCES if owner.reference == "auto" else (owner.reference,)
    tables = LandmarkTables.from_landmarks(at, scalings, references)
    label_sets, sets = validation.label_sets(rows, compared)
    own = own_landmarks(compared, rows, landmarks, scalings)
    tables = validation.add_others(tables, landmarks)
    neighbourhoods = {
        each.name: Neighbourhoods(each, tables.tables[each.name], tables.total, own[each.name])
        for each in scalings
    }
    search = _search(owner, neighbourhoods, landmark_weights, tables.total, drawn, rng)
    by_label, stacked = _stack_corrections(owner, at, neighbourhoods, tables.total, search, drawn)
    corrector = Corrector(by_label, label_sets, {"labels": 1.0})
    own_sets = OwnSets(sets, compared.weights, np.arange(len(sets)))
    if target.multilabel:
        masses = row_masses(weights, len(landmarks))
        local = LocalSets.from_rows(
            stacked, sets, masses, label_sets.counts, tables.total.n_rows, rng
        )
        corrector = replace(corrector, label_sets=replace(label_sets, local=local))
        corrector, corrected = _fit_label_sets(corrector, stacked, own_sets, drawn)
    else:
        corrected = corrector.with_label_sets(stacked, own_sets)
    _report_corrector(owner, corrector, search)
    parts = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    predictions = OutOfFoldPredictions(compared.Y, weights, parts, corrected)
    return corrector, search, predictions, landmarks


def _search(
    owner: Any,
    neighbourhoods: Mapping[str, Neighbourhoods],
    landmark_weights: FloatArray,
    total: GlobalSums,
    drawn: DrawnRows,
    rng: np.random.RandomState,
) -> list[Correction]:
    """Score all corrections that the parameters of a `MendedClassifier` allow."""
    rows, weights = drawn.search_rows, drawn.search_weights
    shrinkages = SHRINKAGES if owner.shrinkage == "auto" else (float(owner.shrinkage),)
    search = search_global(rows, total, weights) if owner.guard else []
    for neighbourhood in neighbourhoods.values():
        distance = neighbourhood.scaling.median_squared_distance(rng, landmark_weights)
        # If all rows are equal, every beta gives the same weights.
        betas = beta_grid(distance or 1.0) if owner.beta == "auto" else [float(owner.beta)]
        search += neighbourhood.take(drawn.searched).search(rows, weights, betas, shrinkages)
    return search


def _stack_corrections(
    owner: Any,
    landmarks: ValidationRows,
    neighbourhoods: Mapping[str, Neighbourhoods],
    total: GlobalSums,
    search: Sequence[Correction],
    drawn: DrawnRows,
) -> tuple[LabelCorrector, FloatArray]:
    """Stack the best corrections; return the probabilities of the drawn rows, too."""
    best = best_by_scaling(search)
    if not owner.guard:
        only = min(best.values(), key=lambda correction: correction.loss)
        best = {only.scaling: only}
    terms = {"uncorrected": drawn.rows.proba}
    for name, correction in best.items():
        if name == "global":
            terms[name] = correct_globally(drawn.rows, total, correction.reference)
            continue
        neighbourhoods[name].scaling.neighbourhood.set_params(beta=correction.beta)
        terms[name] = neighbourhoods[name].corrected(drawn.rows, correction)
    stacking_weights = dict.fromkeys(best, 1.0)
    if owner.guard:
        stacking_weights = _stacking_weights(terms, list(neighbourhoods), drawn)
    used = [name for name in best if stacking_weights[name] > 0 and name in neighbourhoods]
    by_label = LabelCorrector(
        replace(landmarks, X=None),
        {name: neighbourhoods[name].scaling for name in used},
        {name: neighbourhoods[name].tables[best[name].reference] for name in used},
        total,
        best,
        stacking_weights,
        owner.guard,
    )
    return by_label, by_label.stacked(terms)


def _stacking_weights(
    terms: Mapping[str, FloatArray], local: Sequence[str], drawn: DrawnRows
) -> dict[str, float]:
    """Return stacking weights, of which at most MAX_LOCAL local corrections have a positive one.

    Of more, the one is left out without which the error is smallest, and so on.
    """

    def error(weights: Mapping[str, float]) -> float:
        return drawn.rows.brier_score(stack(terms, weights), drawn.weights)

    def fitted(names: Sequence[str]) -> dict[str, float]:
        used = {name: terms[name] for name in names}
        return fit_stacking_weights(used, drawn.rows.Y, drawn.weights)

    weights = fitted(list(terms))
    while len(present := [name for name in local if weights.get(name, 0) > 0]) > MAX_LOCAL:
        shorter = [fitted([each for each in weights if each != name]) for name in present]
        weights = min(shorter, key=error)
    return dict.fromkeys(terms, 0.0) | weights


def _fit_label_sets(
    corrector: Corrector, by_label: FloatArray, own: OwnSets, drawn: DrawnRows
) -> tuple[Corrector, CorrectedProba]:
    """Search for the exponent of the lift, and stack labels with the marginals of label sets."""
    label_sets, searched = corrector.label_sets, drawn.searched

    def loss(exponent: float) -> float:
        """Return the loss, rounded so that rounding does not decide between equal exponents."""
        sets = replace(label_sets, lift_exponent=exponent)
        marginals = sets.marginals(by_label[searched], own.take(searched))
        parts = {"labels": by_label[searched], "sets": marginals}
        both = fit_stacking_weights(parts, drawn.search_rows.Y, drawn.search_weights)
        score = drawn.search_rows.brier_score(stack(parts, both), drawn.search_weights)
        return round(score, 12)

    best = replace(label_sets, lift_exponent=min(LIFT_EXPONENTS, key=loss))
    parts = {"labels": by_label, "sets": best.marginals(by_label, own)}
    both = fit_stacking_weights(parts, drawn.rows.Y, drawn.weights)
    corrected = CorrectedProba(stack(parts, both), by_label, own)
    return replace(corrector, label_sets=best, label_set_weights=both), corrected


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


def _report_corrector(owner: Any, corrector: Corrector, search: Sequence[Correction]) -> None:
    """Report the best of the compared corrections in each scaling, and the stacking weights."""
    report(owner, f"{len(search)} corrections compared")
    for name, best in corrector.by_label.corrections.items():
        local = "" if name == "global" else f"beta={best.beta:.3g}, shrinkage={best.shrinkage:g}, "
        found = f"{local}reference={best.reference!r}, Brier score {best.loss:.4f}"
        report(owner, f"{name} correction: {found}")
    report(owner, f"stacking weights: {_weights(corrector.by_label.stacking_weights)}")
    report(owner, f"stacking weights of label sets: {_weights(corrector.label_set_weights)}")


def _weights(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
