"""Grid search of beta, shrinkage and reference, each row left out of its own neighbourhood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.kernels.leave_one_out import corrected_by, sums_around
from pairmend.mended.distances import Scaling
from pairmend.mended.validation_set import ValidationSet

SMALLEST_BETA = 0.5
"""Smallest beta of the grid, in units of one over the median squared distance."""
N_DOUBLINGS = 8
"""Number of further values of beta, each twice the one before."""
SHRINKAGES = (0.25, 1.0, 4.0, 16.0)
"""Grid of prior masses; the nearest row has the mass 1."""


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


def search_global(
    validation: ValidationSet, rows: IntArray, weights: FloatArray
) -> list[Correction]:
    """Score the global correction with each reference on rows with these weights."""

    def loss(reference: str) -> float:
        corrected = leave_one_out_global(validation, reference, rows)
        return validation.brier_score(corrected, rows, weights)

    return [Correction("global", 0.0, 0.0, name, loss(name)) for name in validation.references]


def search_local(
    validation: ValidationSet,
    scaling: Scaling,
    rows: IntArray,
    weights: FloatArray,
    betas: Sequence[float],
    shrinkages: Sequence[float],
) -> list[Correction]:
    """Score all betas, shrinkages and references in one scaling; each beta doubles the last."""
    tables = list(validation.references.values())
    n_labels = validation.Y.shape[1]
    # The last columns do not depend on the reference: they are summed once.
    parts = [each.table[:, : 2 * n_labels] for each in tables]
    table = np.hstack([*parts, tables[0].table[:, 2 * n_labels :]], dtype=np.float32)
    points = _single_precision(scaling)
    masses = np.array(shrinkages, dtype=np.float64)[:, np.newaxis, np.newaxis]
    shared = np.arange(2 * n_labels * len(tables), table.shape[1])
    columns = [
        np.r_[np.arange(2 * n_labels) + 2 * n_labels * k, shared] for k in range(len(tables))
    ]
    errors = np.empty((len(tables), len(betas), len(shrinkages), len(rows)))
    for chunk in _chunks(scaling, len(rows), table):
        here = rows[chunk]
        p_decide = [each.p_decide(validation.proba[here]) for each in tables]
        p_true = [each.p_true_without(here) for each in tables]
        sums_by_beta = sums_around(
            points, here, table, betas[0], len(betas) - 1, validation.weights
        )
        for b, sums in enumerate(sums_by_beta):
            for r, own in enumerate(columns):
                corrected = corrected_by(p_decide[r], sums[:, own], p_true[r], masses)
                errors[r, b, :, chunk] = validation.squared_errors(corrected, here)
    losses = np.average(errors, axis=3, weights=weights)
    return [
        Correction(scaling.name, beta, mass, each.reference, float(losses[r, b, m]))
        for r, each in enumerate(tables)
        for b, beta in enumerate(betas)
        for m, mass in enumerate(shrinkages)
    ]


def leave_one_out_global(validation: ValidationSet, reference: str, rows: IntArray) -> FloatArray:
    """Correct validation rows by the global confusion matrix of all other rows."""
    table = validation.references[reference]
    corrected = np.empty((len(rows), validation.Y.shape[1]))
    for chunk in row_chunks(len(rows), 3 * table.table.shape[1]):
        here = rows[chunk]
        p_decide = table.p_decide(validation.proba[here])
        p_true_if_decided, p_true_if_not = table.p_true_without(here)
        corrected[chunk] = p_decide * p_true_if_decided + (1 - p_decide) * p_true_if_not
    return corrected


def leave_one_out_local(
    validation: ValidationSet, scaling: Scaling, correction: Correction, rows: IntArray
) -> FloatArray:
    """Correct validation rows by the local confusion matrices of all other rows."""
    reference = validation.references[correction.reference]
    corrected = np.empty((len(rows), validation.Y.shape[1]))
    points, table = _single_precision(scaling), reference.table.astype(np.float32)
    for chunk in _chunks(scaling, len(rows), table):
        here = rows[chunk]
        sums = next(sums_around(points, here, table, correction.beta, masses=validation.weights))
        p_decide = reference.p_decide(validation.proba[here])
        corrected[chunk] = corrected_by(
            p_decide, sums, reference.p_true_without(here), correction.shrinkage
        )
    return corrected


def _single_precision(scaling: Scaling) -> Matrix:
    """Return the points in single precision: it suffices for the search, in half the time."""
    return scaling.neighbourhood.points_.astype(np.float32)


def _chunks(scaling: Scaling, n_rows: int, table: FloatArray) -> Iterator[slice]:
    """Cut rows so that the sums around them and the corrections fit into memory."""
    n_points: int = scaling.neighbourhood.points_.shape[0]
    return row_chunks(n_rows, 3 * n_points + 20 * table.shape[1])


def beta_grid(squared_distance: float) -> list[float]:
    """Return the grid of beta for a median squared distance."""
    return [SMALLEST_BETA * 2.0**k / squared_distance for k in range(N_DOUBLINGS + 1)]


def best_by_scaling(corrections: Sequence[Correction]) -> dict[str, Correction]:
    """Return the correction of least loss in each scaling, of equals the first."""
    names = dict.fromkeys(correction.scaling for correction in corrections)
    return {
        name: min((each for each in corrections if each.scaling == name), key=lambda c: c.loss)
        for name in names
    }
