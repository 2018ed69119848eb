"""Landmarks: a bounded number of validation rows, each with the confusion sums of those near it.

Prediction compares a row with the landmarks only, so that its cost does not grow with the training
set. All other validation rows are added to the confusion sums of their nearest landmark: none is
lost, and only the place of a row's error is rounded to its landmark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import FloatArray, IntArray
from pairmend._utils.weights import draw_rows
from pairmend.mended.distances import Scaling
from pairmend.mended.validation_set import GlobalSums, ValidationRows

MAX_LANDMARKS = 2500
"""Default number of landmarks. With more of them the loss decreases little, see docs/scale.md."""


def draw_landmarks(
    weights: FloatArray, max_landmarks: int | None, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Return the landmarks among validation rows, in ascending order; all rows if they are few.

    With sample weights, heavier rows are more likely to be drawn. Also returned are the weights
    with which means over the landmarks are unbiased estimates of those over all rows.
    """
    if max_landmarks is None or len(weights) <= max_landmarks:
        return np.arange(len(weights)), weights
    order = rng.permutation(len(weights))
    rows, weights = draw_rows(order, weights, max_landmarks, rng)
    rows = np.sort(rows)
    return rows, weights[rows]


@dataclass(frozen=True)
class LandmarkTables:
    """Confusion sums of the validation rows nearest to each landmark.

    Attributes
    ----------
    scalings : sequence of Scaling
        Spaces in which the nearest landmark is found.
    total : GlobalSums
        Sums over all validation rows.
    tables : mapping of mapping of ndarray of shape (n_landmarks, 3 * n_labels + 1)
        By scaling and reference classifier.
    """

    scalings: Sequence[Scaling]
    total: GlobalSums
    tables: Mapping[str, Mapping[str, FloatArray]]

    @classmethod
    def from_landmarks(
        cls, landmarks: ValidationRows, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> "LandmarkTables":
        """Return the sums of the landmarks themselves."""
        own = {name: landmarks.summands(name) for name in references}
        total = GlobalSums({name: table.sum(axis=0, keepdims=True) for name, table in own.items()})
        return cls(scalings, total, {scaling.name: own for scaling in scalings})

    def with_rows(self, validation: ValidationRows, rows: IntArray) -> "LandmarkTables":
        """Return the sums with further validation rows, each added to its nearest landmarks."""
        return self if len(rows) == 0 else self.plus(self.sums_of(validation, rows))

    def plus(self, sums: "LandmarkTables") -> "LandmarkTables":
        """Return the sums over the rows of both, which have the same landmarks."""
        total = {name: own + sums.total.sums[name] for name, own in self.total.sums.items()}
        tables = {
            scaling: {name: own + sums.tables[scaling][name] for name, own in by_name.items()}
            for scaling, by_name in self.tables.items()
        }
        return LandmarkTables(self.scalings, GlobalSums(total), tables)

    def sums_of(self, validation: ValidationRows, rows: IntArray) -> "LandmarkTables":
        """Return the sums over these rows alone, with the same landmarks."""
        total = {name: np.zeros_like(own) for name, own in self.total.sums.items()}
        tables = {
            scaling: {name: np.zeros_like(own) for name, own in by_name.items()}
            for scaling, by_name in self.tables.items()
        }
        n_columns = sum(own.shape[1] for own in total.values())
        for chunk in row_chunks(len(rows), 4 * n_columns):
            part = validation.take(rows[chunk])
            summands = {name: part.summands(name) for name in total}
            for name, own in summands.items():
                total[name] += own.sum(axis=0)
            for scaling in self.scalings:
                assigned = _indicators(scaling.nearest(part.X, part.proba), scaling.n_points)
                for name, own in summands.items():
                    tables[scaling.name][name] += assigned @ own
        return LandmarkTables(self.scalings, GlobalSums(total), tables)


def own_landmarks(
    drawn: ValidationRows, rows: IntArray, landmarks: IntArray, scalings: Sequence[Scaling]
) -> dict[str, IntArray]:
    """Return the landmark to which each drawn row was added, by scaling.

    `rows` and `landmarks` are positions in the validation set, in ascending order. A landmark is
    its own.
    """
    own = np.minimum(np.searchsorted(landmarks, rows), len(landmarks) - 1)
    others = np.flatnonzero(landmarks[own] != rows)
    found = {scaling.name: own.copy() for scaling in scalings}
    if len(others):
        part = drawn.take(others)
        for scaling in scalings:
            found[scaling.name][others] = scaling.nearest(part.X, part.proba)
    return found


def _indicators(landmarks: IntArray, n_landmarks: int) -> sparse.csr_array:
    """Return a matrix whose product with summands adds them up by landmark."""
    n_rows = len(landmarks)
    cells = np.ones(n_rows), (landmarks, np.arange(n_rows))
    return sparse.csr_array(cells, shape=(n_landmarks, n_rows))
