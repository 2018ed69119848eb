"""Validation rows with out-of-fold probabilities: what the correction is fitted on.

A local fit holds all of them. A fit on Dask collections holds those that are drawn, and adds up the
others block by block.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.mended.label_sets import LabelSets
from pairmend.mended.landmarks import LandmarkTables
from pairmend.mended.validation_set import ValidationRows


class OutOfFoldRows(Protocol):
    """The validation set of a fit. Positions are those in this set, in ascending order."""

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows, in units of the weight that counts as one row."""

    def gather(
        self, landmarks: IntArray, compared: IntArray
    ) -> tuple[ValidationRows, ValidationRows, IntArray]:
        """Return the landmarks, the rows to compare, and the folds of the latter."""

    def add_others(self, tables: LandmarkTables, landmarks: IntArray) -> LandmarkTables:
        """Return the sums with those of all rows that are no landmarks."""

    def label_sets(self, compared: IntArray, rows: ValidationRows) -> tuple[LabelSets, IntArray]:
        """Return the label sets of all rows, and the indices of the sets of the compared rows."""


@dataclass(frozen=True)
class LocalRows:
    """Validation rows in memory.

    Attributes
    ----------
    validation : ValidationRows
        All rows.
    folds : ndarray of int, shape (n_rows,)
        The fold of each row.
    """

    validation: ValidationRows
    folds: IntArray

    def __post_init__(self) -> None:
        check_number(len(self.validation))

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows."""
        return self.validation.weights

    def gather(
        self, landmarks: IntArray, compared: IntArray
    ) -> tuple[ValidationRows, ValidationRows, IntArray]:
        """Return the landmarks, the rows to compare, and the folds of the latter."""
        take = self.validation.take
        return take(landmarks), take(compared), self.folds[compared]

    def add_others(self, tables: LandmarkTables, landmarks: IntArray) -> LandmarkTables:
        """Return the sums with those of all rows that are no landmarks."""
        is_other = np.ones(len(self.validation), dtype=bool)
        is_other[landmarks] = False
        return tables.with_rows(self.validation, np.flatnonzero(is_other))

    def label_sets(self, compared: IntArray, rows: ValidationRows) -> tuple[LabelSets, IntArray]:
        """Return the label sets of all rows, and the indices of the sets of the compared rows."""
        label_sets, sets = LabelSets.from_indicators(self.validation.Y, self.validation.weights)
        return label_sets, sets[compared]


def check_number(n_rows: int) -> None:
    """Raise an error for a validation set of fewer than two rows."""
    if n_rows < 2:
        raise ValueError(
            f"n_samples = {n_rows} in the test parts of the splits; the correction needs "
            "out-of-fold predictions of at least 2 rows. Pass a cv with larger test parts."
        )
