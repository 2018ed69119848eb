"""Grid search of beta, shrinkage and reference, each row left out of its own neighbourhood."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import in_blocks, row_chunks
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend._utils.validation import LARGEST
from pairmend.kernels.local_sums import corrected_by, sums_around
from pairmend.mended.distances import Scaling
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
    """

    scaling: Scaling
    tables: Mapping[str, FloatArray]
    total: GlobalSums
    own: IntArray

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
        names = list(self.tables)
        errors = np.empty((len(names), len(betas), len(shrinkages), len(validation)))

        def score(chunk: slice, name: str, b: int, corrected: FloatArray) -> None:
            errors[names.index(name), b, :, chunk] = validation.take(chunk).squared_errors(
                corrected
            )

        self._correct(validation, names, betas, shrinkages, np.float32, score)
        losses = np.average(errors, axis=3, weights=weights)
        return [
            Correction(self.scaling.name, beta, mass, name, float(losses[r, b, m]))
            for r, name in enumerate(names)
            for b, beta in enumerate(betas)
            for m, mass in enumerate(shrinkages)
        ]

    def corrected(self, validation: ValidationRows, correction: Correction) -> FloatArray:
        """Correct the probabilities of rows by all other rows."""
        found = np.empty(validation.Y.shape)

        def keep(chunk: slice, name: str, b: int, corrected: FloatArray) -> None:
            found[chunk] = corrected[0]

        chosen = [correction.reference], [correction.beta], [correction.shrinkage]
        self._correct(validation, *chosen, np.float64, keep)
        return found

    def _correct(
        self,
        validation: ValidationRows,
        names: Sequence[str],
        betas: Sequence[float],
        shrinkages: Sequence[float],
        dtype: type,
        use: Callable[[slice, str, int, FloatArray], None],
    ) -> None:
        """Pass corrected probabilities, (n_shrinkages, n_rows, n_labels), to a function.

        It gets those of each chunk of rows, each of the references `names`, and each beta by its
        number. Chunks are computed in several threads if there is enough work.
        """
        n_labels = validation.Y.shape[1]
        # The last columns do not depend on the reference: they are summed once.
        table = _side_by_side([self.tables[name] for name in names], n_labels, dtype)
        shared = np.arange(2 * n_labels * len(names), table.shape[1])
        landmarks = self.scaling.neighbourhood.points_.astype(dtype, copy=False)
        masses = np.array(shrinkages, dtype=np.float64)[:, np.newaxis, np.newaxis]

        def fill(chunk: slice) -> None:
            here = validation.take(chunk)
            p_decide = {name: here.p_decide(name) for name in names}
            summands = {name: here.summands(name) for name in names}
            p_true = {name: self.total.p_true_without(name, own) for name, own in summands.items()}
            sums_by_beta = sums_around(
                self._queries(here, dtype), self.own[chunk],
                _side_by_side(list(summands.values()), n_labels, dtype),
                landmarks, table, betas[0], n_doublings=len(betas) - 1,
            )  # fmt: skip
            for b, sums in enumerate(sums_by_beta):
                for k, name in enumerate(names):
                    columns = np.r_[2 * n_labels * k : 2 * n_labels * (k + 1), shared]
                    given = p_decide[name], sums[:, columns], p_true[name]
                    use(chunk, name, b, corrected_by(*given, masses))

        # The weights of a chunk stay in the processor's cache.
        work = NANOSECONDS * len(validation) * self.scaling.n_points * len(betas) * table.shape[1]
        in_blocks(fill, len(validation), BLOCK, work)

    def _queries(self, validation: ValidationRows, dtype: type) -> Matrix:
        """Return rows as points in a precision."""
        points = self.scaling.points(validation.X, validation.proba)
        # At such a distance from the landmarks, only the direction matters.
        largest = LARGEST[np.dtype(dtype).name]
        if sparse.issparse(points):
            points.data = points.data.clip(-largest, largest)
            return points.astype(dtype, copy=False)
        return points.clip(-largest, largest).astype(dtype, copy=False)


def _side_by_side(tables: Sequence[FloatArray], n_labels: int, dtype: type) -> FloatArray:
    """Return tables of several references as one; the columns that they share come last, once."""
    parts = [table[:, : 2 * n_labels] for table in tables]
    return np.hstack([*parts, tables[0][:, 2 * n_labels :]], dtype=dtype)


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
