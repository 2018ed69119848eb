"""fit_corrector: search corrections of the probabilities and stack them; predict with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend._utils.weights import draw_rows
from pairmend.kernels.correction import correct, p_true_given_decision
from pairmend.kernels.leave_one_out import corrected_by, nearness_scale
from pairmend.mended.decisions import CorrectedProba, OutOfFoldPredictions
from pairmend.mended.distances import Scaling
from pairmend.mended.label_sets import LabelSets, OwnSets
from pairmend.mended.search import (
    Correction,
    best_by_scaling,
    beta_grid,
    leave_one_out_global,
    leave_one_out_local,
    search_global,
    search_local,
)
from pairmend.mended.stacking import fit_stacking_weights, shrink_rare_labels, stack
from pairmend.mended.validation_set import ValidationSet

N_SEARCH_ROWS = 1000
"""Largest number of rows on which corrections are scored; more rows do not change the choice. With
sample weights, heavier rows are more likely to be drawn."""
N_STACKING_ROWS = 2500
"""Largest number of rows on which stacking weights are fitted and decisions are chosen."""
MAX_PAIRS = 2_500_000
"""Number of pairs of a scored row and a neighbour above which fewer rows are scored, at least half
of N_SEARCH_ROWS."""
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
class Corrector:
    """Corrects the base classifier's probabilities by stacked corrections.

    Attributes
    ----------
    validation : ValidationSet
        Validation rows.
    scalings : mapping of Scaling
        By name, those that local corrections of positive weight use.
    corrections : mapping of Correction
        By name of the scaling, the best of each; "global" is that over all rows.
    stacking_weights : mapping of float
        Weights of "uncorrected", "global" and the scalings.
    guard : bool
        Whether rare labels are shrunk towards uncorrected probabilities.
    label_sets : LabelSets
        Label sets seen in training.
    label_set_weights : mapping of float
        Stacking weights of the probabilities of "labels" and of the marginals of "sets".
    """

    validation: ValidationSet
    scalings: Mapping[str, Scaling]
    corrections: Mapping[str, Correction]
    stacking_weights: Mapping[str, float]
    guard: bool
    label_sets: LabelSets
    label_set_weights: Mapping[str, float]

    def without_label_sets(self) -> "Corrector":
        """Return a corrector that does not use label sets for the probabilities of labels."""
        independent = replace(self.label_sets, lift_exponent=0.0)
        return replace(self, label_sets=independent, label_set_weights={"labels": 1.0})

    def corrected_proba(self, X: MatrixLike, proba: FloatArray) -> CorrectedProba:
        """Correct the base classifier's probabilities of rows."""
        n_validation, n_labels = self.validation.Y.shape
        by_label = np.empty(proba.shape)
        for rows in row_chunks(len(proba), 4 * n_validation + 12 * n_labels):
            by_label[rows] = self.stacked(self.terms(take_rows(X, rows), proba[rows]))
        return self.with_label_sets(by_label, None)

    def terms(self, X: MatrixLike, proba: FloatArray) -> dict[str, FloatArray]:
        """Return uncorrected probabilities, and each correction whose stacking weight is not 0."""
        terms = {"uncorrected": proba}
        for name, weight in self.stacking_weights.items():
            if weight == 0 or name == "uncorrected":
                continue
            correction = self.corrections[name]
            reference = self.validation.references[correction.reference]
            p_decide = reference.p_decide(proba)
            if name == "global":
                terms[name] = correct(p_decide, reference.global_confusion)
                continue
            sums = self.neighbour_weights(name, X, proba) @ reference.table
            p_true = p_true_given_decision(reference.global_confusion)
            terms[name] = corrected_by(p_decide, sums, p_true, correction.shrinkage)
        return terms

    def neighbour_weights(self, name: str, X: MatrixLike, proba: FloatArray) -> FloatArray:
        """Return the weights of validation rows around rows, (n_rows, n_validation)."""
        weights = self.scalings[name].weights(X, proba)
        scale = nearness_scale(weights, self.validation.weights, axis=1)
        return weights if scale is None else weights * scale[:, np.newaxis]

    def stacked(self, terms: Mapping[str, FloatArray]) -> FloatArray:
        """Return the weighted sum of terms, with rare labels shrunk towards uncorrected."""
        corrected = stack(terms, self.stacking_weights)
        if not self.guard:
            return corrected
        n_examples = self.validation.n_examples
        return shrink_rare_labels(terms["uncorrected"], corrected, n_examples, RARE_LABEL_MASS)

    def with_label_sets(self, by_label: FloatArray, own: OwnSets | None) -> CorrectedProba:
        """Stack probabilities of labels with the marginals of label sets."""
        parts = {"labels": by_label}
        if self.label_set_weights.get("sets", 0.0) != 0:
            parts["sets"] = self.label_sets.marginals(by_label, own)
        return CorrectedProba(stack(parts, self.label_set_weights), by_label, own)


def fit_corrector(
    validation: ValidationSet,
    folds: IntArray,
    scalings: Sequence[Scaling],
    space: SearchSpace,
    rng: np.random.RandomState,
) -> tuple[Corrector, list[Correction], OutOfFoldPredictions]:
    """Search for the best corrections, and stack them.

    `folds` holds the fold number of each validation row. Also returned are all corrections that
    were scored, and the out-of-fold predictions on which to choose a decision.
    """
    drawn = _DrawnRows.draw(validation, rng)
    rows = drawn.rows
    search = _search(validation, scalings, space, drawn, rng)
    best = best_by_scaling(search)
    if not space.guard:
        only = min(best.values(), key=lambda correction: correction.loss)
        best = {only.scaling: only}
    by_name = {scaling.name: scaling for scaling in scalings}
    terms = {"uncorrected": validation.proba[rows]}
    for name, correction in best.items():
        if name == "global":
            terms[name] = leave_one_out_global(validation, correction.reference, rows)
            continue
        by_name[name].neighbourhood.set_params(beta=correction.beta)
        terms[name] = leave_one_out_local(validation, by_name[name], correction, rows)
    stacking_weights = (
        fit_stacking_weights(terms, validation.Y[rows], drawn.weights)
        if space.guard
        else dict.fromkeys(best, 1.0)
    )
    used = {name: by_name[name] for name in best if stacking_weights[name] > 0 and name in by_name}
    label_sets, indices = LabelSets.from_indicators(validation.Y, validation.weights)
    corrector = Corrector(
        validation, used, best, stacking_weights, space.guard, label_sets, {"labels": 1.0}
    )
    by_label = corrector.stacked(terms)
    own = OwnSets(indices[rows], validation.weights[rows])
    if space.use_label_sets:
        corrector, corrected = _fit_label_sets(corrector, by_label, own, drawn)
    else:
        corrected = corrector.with_label_sets(by_label, own)
    rows_by_fold = [np.flatnonzero(folds[rows] == fold) for fold in np.unique(folds[rows])]
    predictions = OutOfFoldPredictions(validation.Y[rows], drawn.weights, rows_by_fold, corrected)
    return corrector, search, predictions


@dataclass(frozen=True)
class _DrawnRows:
    """Validation rows for stacking, in ascending order, and those among them for the search.

    `searched` holds positions in `rows`, `search_rows` the validation rows themselves.
    """

    rows: IntArray
    weights: FloatArray
    searched: IntArray
    search_rows: IntArray
    search_weights: FloatArray

    @classmethod
    def draw(cls, validation: ValidationSet, rng: np.random.RandomState) -> "_DrawnRows":
        order = rng.permutation(len(validation.Y))
        # The search compares each row with all validation rows.
        n_search = min(N_SEARCH_ROWS, max(N_SEARCH_ROWS // 2, MAX_PAIRS // len(order)))
        n_stacking = N_STACKING_ROWS * n_search // N_SEARCH_ROWS
        rows, weights = draw_rows(order, validation.weights, n_stacking, rng)
        searched, search_weights = draw_rows(np.arange(len(rows)), weights[rows], n_search, rng)
        ascending = np.argsort(rows)
        searched = np.sort(np.argsort(ascending)[searched])
        rows, search_weights = rows[ascending], search_weights[ascending][searched]
        return cls(rows, weights[rows], searched, rows[searched], search_weights)


def _search(
    validation: ValidationSet,
    scalings: Sequence[Scaling],
    space: SearchSpace,
    drawn: _DrawnRows,
    rng: np.random.RandomState,
) -> list[Correction]:
    """Score all corrections of the search space."""
    rows, weights = drawn.search_rows, drawn.search_weights
    search = search_global(validation, rows, weights) if space.guard else []
    for scaling in scalings:
        distance = scaling.median_squared_distance(rng, validation.weights)
        # If all rows are equal, every beta gives the same weights.
        betas = beta_grid(distance or 1.0) if space.beta is None else [space.beta]
        search += search_local(validation, scaling, rows, weights, betas, space.shrinkages)
    return search


def _fit_label_sets(
    corrector: Corrector, by_label: FloatArray, own: OwnSets, drawn: _DrawnRows
) -> tuple[Corrector, CorrectedProba]:
    """Search for the exponent of the lift, and stack labels with the marginals of label sets."""
    validation, label_sets = corrector.validation, corrector.label_sets
    searched, rows, weights = drawn.searched, drawn.search_rows, drawn.search_weights

    def loss(exponent: float) -> float:
        sets = replace(label_sets, lift_exponent=exponent)
        marginals = sets.marginals(by_label[searched], own.take(searched))
        parts = {"labels": by_label[searched], "sets": marginals}
        both = fit_stacking_weights(parts, validation.Y[rows], weights)
        return validation.brier_score(stack(parts, both), rows, weights)

    best = replace(label_sets, lift_exponent=min(LIFT_EXPONENTS, key=loss))
    parts = {"labels": by_label, "sets": best.marginals(by_label, own)}
    both = fit_stacking_weights(parts, validation.Y[drawn.rows], drawn.weights)
    corrected = CorrectedProba(stack(parts, both), by_label, own)
    return replace(corrector, label_sets=best, label_set_weights=both), corrected
