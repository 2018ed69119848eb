"""Grid search of beta, shrinkage and reference, each row left out of its own neighbourhood."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import row_chunks
from pairmend._utils.namespaces import Namespace
from pairmend._utils.threads import in_blocks
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend._utils.validation import LARGEST
from pairmend.kernels.local_sums import corrected_by, sums_around
from pairmend.mended.distances import Scaling
from pairmend.mended.landmark_sums import LeaveOneOutSums
from pairmend.mended.validation import GlobalSums, ValidationRows

SMALLEST_BETA = 0.5
"""Smallest beta of the grid, in units of one over the median squared distance."""
N_DOUBLINGS = 8
"""Number of further values of beta, each twice the one before."""
SHRINKAGES = (0.25, 1.0, 4.0, 16.0)
"""Grid of prior masses; the nearest row has the mass 1."""
BLOCK = 128
"""Rows at once."""
NANOSECONDS = 0.03
"""Time of one product of a weight and a summand, from which the number of threads follows."""


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
class Neighbourhoods:
    """Validation rows in one scaling, each left out of the confusion sums around it.

    Attributes
    ----------
    scaling : Scaling
        The scaling, fitted on the landmarks.
    tables : mapping of ndarray of shape (n_landmarks, 3 * n_labels + 1)
        Confusion sums of the landmarks by reference classifier.
    total : GlobalSums
        Confusion sums over all validation rows.
    own : ndarray of int, shape (n_rows,)
        The landmark to which each of the rows was added.
    namespace : Namespace or None
        The device on which sums of dense landmarks are computed; None means numpy.
    """

    scaling: Scaling
    tables: Mapping[str, FloatArray]
    total: GlobalSums
    own: IntArray
    namespace: Namespace | None

    def take(self, rows: IntArray) -> "Neighbourhoods":
        """Select rows."""
        return replace(self, own=self.own[rows])

    def search(
        self,
        validation: ValidationRows,
        weights: FloatArray,
        betas: Sequence[float],
        shrinkages: Sequence[float],
    ) -> list[Correction]:
        """Score all betas, shrinkages and references on rows; each beta doubles the last.

        Sums are computed in single precision: it suffices for a choice, in half the time.
        """
        names, n_labels = list(self.tables), validation.Y.shape[1]
        # The last columns do not depend on the reference: they are summed once.
        table = _side_by_side([self.tables[name] for name in names], n_labels)
        shared = np.arange(2 * n_labels * len(names), table.shape[1])
        columns = [
            np.r_[np.arange(2 * n_labels) + 2 * n_labels * k, shared] for k in range(len(names))
        ]
        sums_around = self._sums_over(table)
        masses = np.array(shrinkages, dtype=np.float64)[:, np.newaxis, np.newaxis]
        errors = np.empty((len(names), len(betas), len(shrinkages), len(validation)))

        def fill(chunk: slice) -> None:
            here = validation.take(chunk)
            summands = [here.summands(name) for name in names]
            p_decide = [here.p_decide(name) for name in names]
            p_true = [
                self.total.p_true_without(name, own)
                for name, own in zip(names, summands, strict=True)
            ]
            sums_by_beta = sums_around(
                self._queries(here, table.dtype), self.own[chunk],
                _side_by_side(summands, n_labels),
                beta=betas[0], n_doublings=len(betas) - 1,
            )  # fmt: skip
            for b, sums in enumerate(sums_by_beta):
                for r, own in enumerate(columns):
                    corrected = corrected_by(p_decide[r], sums[:, own], p_true[r], masses)
                    errors[r, b, :, chunk] = here.squared_errors(corrected)

        self._in_chunks(fill, len(validation), len(betas) * table.shape[1])
        losses = np.average(errors, axis=3, weights=weights)
        return [
            Correction(self.scaling.name, beta, mass, name, float(losses[r, b, m]))
            for r, name in enumerate(names)
            for b, beta in enumerate(betas)
            for m, mass in enumerate(shrinkages)
        ]

    def corrected(self, validation: ValidationRows, correction: Correction) -> FloatArray:
        """Correct the probabilities of rows by all other rows."""
        reference = correction.reference
        corrected = np.empty(validation.Y.shape)
        table = self.tables[reference]
        sums_around = self._sums_over(table)

        def fill(chunk: slice) -> None:
            here = validation.take(chunk)
            summands = here.summands(reference)
            (sums,) = sums_around(
                self._queries(here, table.dtype), self.own[chunk], summands, beta=correction.beta
            )
            corrected[chunk] = corrected_by(
                here.p_decide(reference),
                sums,
                self.total.p_true_without(reference, summands),
                correction.shrinkage,
            )

        self._in_chunks(fill, len(validation), table.shape[1])
        return corrected

    def _sums_over(self, table: FloatArray) -> Callable[..., Iterator[FloatArray]]:
        """Return `sums_around` of the landmarks and a table, in the precision of the table."""
        landmarks = self.scaling.neighbourhood.points_.astype(table.dtype, copy=False)
        if self.namespace is not None and isinstance(landmarks, np.ndarray):
            return LeaveOneOutSums(landmarks, table, self.namespace)
        return partial(sums_around, points=landmarks, table=table)

    def _queries(self, validation: ValidationRows, dtype: Any) -> Matrix:
        """Return rows as points in a precision."""
        points = self.scaling.points(validation.X, validation.proba)
        # At such a distance from the landmarks, only the direction matters.
        largest = LARGEST[np.dtype(dtype).name]
        if sparse.issparse(points):
            points.data = points.data.clip(-largest, largest)
            return points.astype(dtype, copy=False)
        return points.clip(-largest, largest).astype(dtype, copy=False)

    def _in_chunks(self, fill: Callable[[slice], None], n_rows: int, n_columns: int) -> None:
        """Call a function for chunks of rows, in several threads if there is enough work.

        The weights of a chunk stay in the processor's cache.
        """
        work = NANOSECONDS * n_rows * self.scaling.n_points * n_columns
        in_blocks(fill, n_rows, BLOCK, work if self.namespace is None else 0)


def _side_by_side(tables: Sequence[FloatArray], n_labels: int) -> FloatArray:
    """Return tables of several references as one; the columns that they share come last, once."""
    parts = [table[:, : 2 * n_labels] for table in tables]
    return np.hstack([*parts, tables[0][:, 2 * n_labels :]], dtype=np.float32)


def search_global(
    validation: ValidationRows, total: GlobalSums, weights: FloatArray
) -> list[Correction]:
    """Score the global correction with each reference on rows with these weights."""

    def loss(reference: str) -> float:
        corrected = correct_globally(validation, total, reference)
        return validation.brier_score(corrected, weights)

    return [Correction("global", 0.0, 0.0, name, loss(name)) for name in total.sums]


def correct_globally(validation: ValidationRows, total: GlobalSums, reference: str) -> FloatArray:
    """Correct the probabilities of rows by the global confusion matrix of all other rows."""
    corrected = np.empty(validation.Y.shape)
    for chunk in row_chunks(len(validation), 9 * validation.Y.shape[1]):
        here = validation.take(chunk)
        p_decide = here.p_decide(reference)
        p_true_if_decided, p_true_if_not = total.p_true_without(reference, here.summands(reference))
        corrected[chunk] = p_decide * p_true_if_decided + (1 - p_decide) * p_true_if_not
    return corrected


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


def as_columns(corrections: Sequence[Correction]) -> dict[str, np.ndarray[Any, Any]]:
    """Return corrections as one array for each of their fields."""
    names = [field.name for field in fields(Correction)]
    return {name: np.array([getattr(each, name) for each in corrections]) for name in names}
