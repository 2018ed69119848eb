"""The search for beta, shrinkage and reference, each row left out of its own neighbourhood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pairmend._streaming import row_chunks
from pairmend._typing import FloatArray, IntArray
from pairmend.kernels.correction import correct
from pairmend.kernels.leave_one_out import confusion_of, corrected_by, sums_around
from pairmend.mending.evidence import Evidence
from pairmend.mending.scalings import Scaling

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


def search_global(evidence: Evidence, rows: IntArray) -> list[Correction]:
    """Try the correction that is the same everywhere."""
    return [
        Correction(
            "global", 0.0, 0.0, name, evidence.loss(said_globally(evidence, name, rows), rows)
        )
        for name in evidence.witnesses
    ]


def search_scaling(
    evidence: Evidence,
    scaling: Scaling,
    rows: IntArray,
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
    betas : sequence of float
        Each twice the one before.
    shrinkages : sequence of float
        Masses added from the global confusion matrix.

    Returns
    -------
    list of Correction
    """
    witnesses = list(evidence.witnesses.values())
    tables = np.hstack([witness.table for witness in witnesses])
    sums = _sums(scaling, rows, tables, betas[0], len(betas) - 1)
    found = []
    for witness, part in zip(witnesses, np.split(sums, len(witnesses), axis=2), strict=True):
        decided = witness.decide(evidence.supports[rows])
        elsewhere = witness.elsewhere(rows)
        for beta, around in zip(betas, part, strict=True):
            confusion = confusion_of(around)
            for mass in shrinkages:
                said = corrected_by(decided, confusion, elsewhere, mass)
                loss = evidence.loss(said, rows)
                found.append(Correction(scaling.name, beta, mass, witness.reference, loss))
    return found


def said_globally(evidence: Evidence, reference: str, rows: IntArray) -> FloatArray:
    """Return what the global correction says of validation rows, each left out."""
    witness = evidence.witnesses[reference]
    return correct(witness.decide(evidence.supports[rows]), witness.elsewhere(rows))


def said_locally(
    evidence: Evidence, scaling: Scaling, correction: Correction, rows: IntArray
) -> FloatArray:
    """Return what a local correction says of validation rows, each left out."""
    witness = evidence.witnesses[correction.reference]
    sums = _sums(scaling, rows, witness.table, correction.beta, 0)[0]
    decided = witness.decide(evidence.supports[rows])
    return corrected_by(decided, confusion_of(sums), witness.elsewhere(rows), correction.shrinkage)


def _sums(
    scaling: Scaling, rows: IntArray, table: FloatArray, beta: float, n_doublings: int
) -> FloatArray:
    """Return sums around rows at beta and its doubles, (n_doublings + 1, t, C)."""
    points = scaling.neighbourhood.points_
    out = np.empty((n_doublings + 1, len(rows), table.shape[1]))
    for chunk in row_chunks(len(rows), 3 * points.shape[0] + table.shape[1]):
        parts = sums_around(points, rows[chunk], table, beta, n_doublings)
        for k, part in enumerate(parts):
            out[k, chunk] = part
    return out


def betas_around(typical: float) -> list[float]:
    """List the betas that are tried where squared distances are typically so large."""
    return [LOWEST * 2.0**k / typical for k in range(DOUBLINGS + 1)]


def best_of(corrections: Sequence[Correction]) -> Iterator[Correction]:
    """Yield the best correction of each scaling, of equals the first."""
    for name in dict.fromkeys(correction.scaling for correction in corrections):
        mine = [correction for correction in corrections if correction.scaling == name]
        yield min(mine, key=lambda correction: correction.loss)
