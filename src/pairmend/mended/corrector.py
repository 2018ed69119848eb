"""fit_corrector: search corrections of the probabilities and stack them; predict with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.lazy import lazy
from pairmend._utils.namespaces import Namespace
from pairmend._utils.progress import report
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend._utils.weights import draw_rows
from pairmend.kernels.confusion import p_true_given_decision
from pairmend.kernels.local_sums import LandmarkSums, corrected_by
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.decisions import CorrectedProba, OutOfFoldPredictions
from pairmend.mended.distances import Scaling
from pairmend.mended.label_sets import LabelSets, OwnSets
from pairmend.mended.local_sets import LocalSets
from pairmend.mended.search import (
    Correction,
    Neighbourhoods,
    best_by_scaling,
    beta_grid,
    correct_globally,
    search_global,
)
from pairmend.mended.stacking import fit_stacking_weights, shrink_rare_labels, stack
from pairmend.mended.validation import GlobalSums, LandmarkTables, ValidationRows

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


@dataclass(frozen=True)
class SearchSpace:
    """Fixed and searched parameters of a corrector.

    Attributes
    ----------
    beta : float or None
        Inverse squared bandwidth; None means to search.
    shrinkages : sequence of float
        Prior masses to compare.
    guard : bool
        Whether uncorrected and globally corrected probabilities are stacked with local
        corrections; else the best local correction is used alone.
    use_label_sets : bool
        Whether the marginals of label sets are stacked with the probabilities of labels.
    """

    beta: float | None
    shrinkages: Sequence[float]
    guard: bool
    use_label_sets: bool


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
        terms = {"uncorrected": proba, **self._local_terms(X, proba)}
        if self.stacking_weights.get("global", 0) != 0:
            reference = self.corrections["global"].reference
            p_decide, p_true = REFERENCES[reference](proba), self._p_true[reference]
            terms["global"] = p_decide * p_true[0] + (1 - p_decide) * p_true[1]
        return terms

    def _local_terms(self, X: MatrixLike, proba: FloatArray) -> dict[str, FloatArray]:
        """Return the local corrections whose stacking weight is not 0."""
        names = self._local_names
        p_decide = {
            reference: REFERENCES[reference](proba)
            for reference in {self.corrections[name].reference for name in names}
        }
        terms = {}
        for name in names:
            correction = self.corrections[name]
            sums = self._sums[name].around(self.scalings[name].points(X, proba))
            given = p_decide[correction.reference], sums, self._p_true[correction.reference]
            terms[name] = corrected_by(*given, correction.shrinkage)
        return terms

    def landmark_weights(self, name: str, X: MatrixLike, proba: FloatArray) -> FloatArray:
        """Return the weights of landmarks around rows, (n_rows, n_landmarks)."""
        return self._sums[name].weights(self.scalings[name].points(X, proba))

    def stacked(self, terms: Mapping[str, FloatArray]) -> FloatArray:
        """Return the weighted sum of terms, with rare labels shrunk towards uncorrected."""
        corrected = stack(terms, self.stacking_weights)
        if not self.guard:
            return corrected
        n_examples = self._n_examples
        return shrink_rare_labels(terms["uncorrected"], corrected, n_examples, RARE_LABEL_MASS)

    @lazy
    def _p_true(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """P(true | decision) over all validation rows, by reference."""
        return {name: p_true_given_decision(self.total.confusion(name)) for name in self.total.sums}

    @lazy
    def _n_examples(self) -> FloatArray:
        """Weight of the rarer class of each label."""
        return self.total.n_examples

    @lazy
    def _local_names(self) -> list[str]:
        """Names of the scalings whose stacking weight is not 0."""
        weights = self.stacking_weights
        return [name for name in self.scalings if weights.get(name, 0) != 0]

    @lazy
    def _sums(self) -> dict[str, LandmarkSums]:
        """Sums around rows, by scaling."""
        return {
            name: LandmarkSums(
                scaling.neighbourhood.points_,
                self.tables[name],
                self.corrections[name].beta,
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
    search_weights : ndarray of float
        Weights of these rows in a mean over all validation rows.
    own : mapping of ndarray of int, shape (n_rows,)
        The landmark of each row, by scaling.
    own_sets : OwnSets
        The label set of each row.
    folds : ndarray of int, shape (n_rows,)
        The fold of each row.
    """

    rows: ValidationRows
    weights: FloatArray
    searched: IntArray
    search_weights: FloatArray
    own: Mapping[str, IntArray]
    own_sets: OwnSets
    folds: IntArray

    @lazy
    def search_rows(self) -> ValidationRows:
        """The rows of the search."""
        return self.rows.take(self.searched)


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
    landmarks: ValidationRows,
    landmark_weights: FloatArray,
    tables: LandmarkTables,
    drawn: DrawnRows,
    label_sets: LabelSets,
    space: SearchSpace,
    rng: np.random.RandomState,
    namespace: Namespace | None = None,
) -> tuple[Corrector, list[Correction], OutOfFoldPredictions]:
    """Search for the best corrections, and stack them.

    `landmark_weights` are those of `draw_landmarks`; sums are computed in `namespace`, None means
    numpy. Also returned are all corrections that were scored, and the out-of-fold predictions on
    which to choose a decision.
    """
    neighbourhoods = {
        scaling.name: Neighbourhoods(
            scaling,
            tables.tables[scaling.name],
            tables.total,
            drawn.own[scaling.name],
            namespace,
        )
        for scaling in tables.scalings
    }
    search = _search(neighbourhoods, landmark_weights, tables.total, space, drawn, rng)
    best = best_by_scaling(search)
    if not space.guard:
        only = min(best.values(), key=lambda correction: correction.loss)
        best = {only.scaling: only}
    terms = {"uncorrected": drawn.rows.proba}
    for name, correction in best.items():
        if name == "global":
            terms[name] = correct_globally(drawn.rows, tables.total, correction.reference)
            continue
        neighbourhoods[name].scaling.neighbourhood.set_params(beta=correction.beta)
        terms[name] = neighbourhoods[name].corrected(drawn.rows, correction)
    stacking_weights = (
        _stacking_weights(terms, list(neighbourhoods), drawn)
        if space.guard
        else dict.fromkeys(best, 1.0)
    )
    used = [name for name in best if stacking_weights[name] > 0 and name in neighbourhoods]
    by_label = LabelCorrector(
        landmarks.without_features(),
        {name: neighbourhoods[name].scaling for name in used},
        {name: tables.tables[name][best[name].reference] for name in used},
        tables.total,
        best,
        stacking_weights,
        space.guard,
    )
    corrector = Corrector(by_label, label_sets, {"labels": 1.0})
    stacked = by_label.stacked(terms)
    if space.use_label_sets:
        masses = row_masses(drawn.weights, len(landmarks))
        local = LocalSets.from_rows(
            stacked, drawn.own_sets.indices, masses, label_sets.counts, tables.total.n_rows, rng
        )
        corrector = replace(corrector, label_sets=replace(label_sets, local=local))
        corrector, corrected = _fit_label_sets(corrector, stacked, drawn)
    else:
        corrected = corrector.with_label_sets(stacked, drawn.own_sets)
    folds = [np.flatnonzero(drawn.folds == fold) for fold in np.unique(drawn.folds)]
    predictions = OutOfFoldPredictions(drawn.rows.Y, drawn.weights, folds, corrected)
    return corrector, search, predictions


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


def _search(
    neighbourhoods: Mapping[str, Neighbourhoods],
    landmark_weights: FloatArray,
    total: GlobalSums,
    space: SearchSpace,
    drawn: DrawnRows,
    rng: np.random.RandomState,
) -> list[Correction]:
    """Score all corrections of the search space."""
    rows, weights = drawn.search_rows, drawn.search_weights
    search = search_global(rows, total, weights) if space.guard else []
    for neighbourhood in neighbourhoods.values():
        distance = neighbourhood.scaling.median_squared_distance(rng, landmark_weights)
        # If all rows are equal, every beta gives the same weights.
        betas = beta_grid(distance or 1.0) if space.beta is None else [space.beta]
        search += neighbourhood.take(drawn.searched).search(rows, weights, betas, space.shrinkages)
    return search


def _fit_label_sets(
    corrector: Corrector, by_label: FloatArray, drawn: DrawnRows
) -> tuple[Corrector, CorrectedProba]:
    """Search for the exponent of the lift, and stack labels with the marginals of label sets."""
    label_sets, own, searched = corrector.label_sets, drawn.own_sets, drawn.searched

    def loss(exponent: float) -> float:
        sets = replace(label_sets, lift_exponent=exponent)
        marginals = sets.marginals(by_label[searched], own.take(searched))
        parts = {"labels": by_label[searched], "sets": marginals}
        both = fit_stacking_weights(parts, drawn.search_rows.Y, drawn.search_weights)
        return drawn.search_rows.brier_score(stack(parts, both), drawn.search_weights)

    def rounded_loss(exponent: float) -> float:
        """Round the loss, so that rounding does not decide between equal exponents."""
        return round(loss(exponent), 12)

    best = replace(label_sets, lift_exponent=min(LIFT_EXPONENTS, key=rounded_loss))
    parts = {"labels": by_label, "sets": best.marginals(by_label, own)}
    both = fit_stacking_weights(parts, drawn.rows.Y, drawn.weights)
    corrected = CorrectedProba(stack(parts, both), by_label, own)
    return replace(corrector, label_sets=best, label_set_weights=both), corrected


def report_corrector(owner: Any, corrector: Corrector, search: Sequence[Correction]) -> None:
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
