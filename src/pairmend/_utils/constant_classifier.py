"""The classifier of a pair or problem whose training rows have one class only: smoothed shares."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike


@dataclass(frozen=True)
class ConstantClassifier:
    """A classifier that predicts the same probabilities of classes for every row."""

    shares: tuple[float, ...]

    @classmethod
    def from_counts(cls, counts: FloatArray) -> Self:
        """Return the classifier of Laplace-smoothed shares; they are equal without rows."""
        return cls(tuple(((counts + 1) / (counts.sum() + len(counts))).tolist()))

    @property
    def classes_(self) -> IntArray:
        """All classes."""
        return np.arange(len(self.shares))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the shares for every row."""
        return np.tile(self.shares, (count_rows(X), 1))
