"""The search for beta, shrinkage and reference, each row left out of its own neighbourhood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.kernels.leave_one_out import corrected_by, sums_around
from pairmend.mended.distances import Scaling
from pairmend.mended.validation_set import Evidence

LOWEST = 0.5
"""Smallest beta that is tried, in units of one over the typical squared distance..."""
DOUBLINGS = 8
"""...and how often it is doubled."""
SHRINKAGES = (0.25, 1.0, 4.0, 16.0)
"""Masses that are tried: the nearest row has the mass 1."""


@dataclass(frozen=True)
class Correction:
    """A way to correct, and how it does on rows left out.

    Attributes
    ----------
    scaling : str
        How distances are measured; "global" if all rows count alike.
    beta : float
        How fast weights fall with the squared distance.
    shrinkage : float
        Mass added from the global confusion matrix.
    reference : str
        How supports become decisions.
    loss : float
        Brier score of rows left out.
    """

    scaling: str
    beta: float
    shrinkage: float
    reference: str
    loss: float


def search_global(evidence: Evidence, rows: IntArray, weights: FloatArray) -> list[Correction]:
    """Try the correction that is the same everywhere on rows with these weights."""

    def loss(name: str) -> float:
        return evidence.loss(said_globally(evidence, name, rows), rows, weights)

    return [Correction("global", 0.0, 0.0, name, loss(name)) for name in evidence.witnesses]


def search_scaling(
    evidence: Evidence,
    scaling: Scaling,
    rows: IntArray,
    weights: FloatArray,
    betas: Sequence[float],
    shrinkages: Sequence[float],
) -> list[Correction]:
    """Try all betas, shrinkages and references in one scaling.

    Parameters
    ----------
    evidence : Evidence
        Validation rows.
    scaling : Scaling
        Where they lie.
    rows : ndarray of int, shape (t,)
        Those to try on.
    weights : ndarray of shape (t,)
        How much their errors count.
    betas : sequence of float
        Each twice the one before.
    shrinkages : sequence of float
        Masses added from the global confusion matrix.

    Returns
    -------
    list of Correction
    """
    witnesses = list(evidence.witnesses.values())
    n_labels = evidence.Y.shape[1]
    # What is carried does not depend on the reference: it is summed once.
    parts = [witness.table[:, : 2 * n_labels] for witness in witnesses]
    tables = np.hstack([*parts, witnesses[0].table[:, 2 * n_labels :]], dtype=np.float32)
    points = _single(scaling)
    masses = np.array(shrinkages, dtype=np.float64)[:, np.newaxis, np.newaxis]
    carried = np.arange(2 * n_labels * len(witnesses), tables.shape[1])
    columns = [
        np.r_[np.arange(2 * n_labels) + 2 * n_labels * k, carried] for k in range(len(witnesses))
    ]
    errors = np.empty((len(witnesses), len(betas), len(shrinkages), len(rows)))
    for chunk in _chunks(scaling, len(rows), tables):
        here = rows[chunk]
        p_decide = [witness.decide(evidence.supports[here]) for witness in witnesses]
        elsewhere = [witness.elsewhere(here) for witness in witnesses]
        around = sums_around(points, here, tables, betas[0], len(betas) - 1, evidence.weights)
        for b, sums in enumerate(around):
            for w, own in enumerate(columns):
                said = corrected_by(p_decide[w], sums[:, own], elsewhere[w], masses)
                errors[w, b, :, chunk] = evidence.errors(said, here)
    losses = np.average(errors, axis=3, weights=weights)
    return [
        Correction(scaling.name, beta, mass, witness.reference, float(losses[w, b, m]))
        for w, witness in enumerate(witnesses)
        for b, beta in enumerate(betas)
        for m, mass in enumerate(shrinkages)
    ]


def said_globally(evidence: Evidence, reference: str, rows: IntArray) -> FloatArray:
    """Return what the global correction says of validation rows, each left out."""
    witness = evidence.witnesses[reference]
    said = np.empty((len(rows), evidence.Y.shape[1]))
    for chunk in row_chunks(len(rows), 3 * witness.table.shape[1]):
        here = rows[chunk]
        p_decide = witness.decide(evidence.supports[here])
        given_on, given_off = witness.elsewhere(here)
        said[chunk] = p_decide * given_on + (1 - p_decide) * given_off
    return said


def said_locally(
    evidence: Evidence, scaling: Scaling, correction: Correction, rows: IntArray
) -> FloatArray:
    """Return what a local correction says of validation rows, each left out."""
    witness = evidence.witnesses[correction.reference]
    said = np.empty((len(rows), evidence.Y.shape[1]))
    points, table = _single(scaling), witness.table.astype(np.float32)
    for chunk in _chunks(scaling, len(rows), table):
        here = rows[chunk]
        sums = next(sums_around(points, here, table, correction.beta, masses=evidence.weights))
        p_decide = witness.decide(evidence.supports[here])
        said[chunk] = corrected_by(p_decide, sums, witness.elsewhere(here), correction.shrinkage)
    return said


def _single(scaling: Scaling) -> Matrix:
    """Return the points in single precision: choices need no more digits, and half the time."""
    return scaling.neighbourhood.points_.astype(np.float32)


def _chunks(scaling: Scaling, n_rows: int, table: FloatArray) -> Iterator[slice]:
    """Cut rows so that the sums around them, and what is made of these, fit into memory."""
    n_points: int = scaling.neighbourhood.points_.shape[0]
    return row_chunks(n_rows, 3 * n_points + 20 * table.shape[1])


def betas_around(typical: float) -> list[float]:
    """List the betas that are tried where squared distances are typically so large."""
    return [LOWEST * 2.0**k / typical for k in range(DOUBLINGS + 1)]


def best_of(corrections: Sequence[Correction]) -> Iterator[Correction]:
    """Yield the best correction of each scaling, of equals the first."""
    for name in dict.fromkeys(correction.scaling for correction in corrections):
        mine = [correction for correction in corrections if correction.scaling == name]
        yield min(mine, key=lambda correction: correction.loss)
