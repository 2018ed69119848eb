"""Sums over the rows of each class, from which RandomSubspaceNB is estimated."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.cells import Cells
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.naive_bayes.feature_statistics import FeatureStatistics


@dataclass(frozen=True)
class ClassSums:
    """Sums over rows by class. Each array may have further axes in front, such as labels.

    Attributes
    ----------
    mass : ndarray of shape (n_classes,)
        Weight of the rows.
    count : ndarray of shape (n_classes, n_features)
        Weight of the rows with a value.
    mean : ndarray of shape (n_classes, n_features)
        Mean of the values, 0 if there are none.
    squares : ndarray of shape (n_classes, n_features)
        Sum of squared differences from the mean.
    values : ndarray of shape (n_classes, n_values)
        Weight of the rows with each value of the categorical features.
    """

    mass: FloatArray
    count: FloatArray
    mean: FloatArray
    squares: FloatArray
    values: FloatArray

    @classmethod
    def over(
        cls,
        cells: Cells,
        codes: IntArray,
        weights: FloatArray,
        n_classes: int,
        feature_statistics: FeatureStatistics,
    ) -> "ClassSums":
        """Sum the rows of each class, given by its code."""
        n_features = cells.shape[1]
        shape = (n_classes, n_features)
        present = ~np.isnan(cells.value)
        column, value, row = cells.column[present], cells.value[present], cells.row[present]
        weight = weights[row]
        group = codes[row] * n_features + column

        def total(amount: FloatArray) -> NDArray[np.float64]:
            # bincount of an empty array returns integers
            return np.bincount(group, amount, n_classes * n_features).astype(float)

        mass = np.bincount(codes, weights=weights, minlength=n_classes).astype(float)
        listed = total(weight)
        zeros = np.zeros_like(listed)
        if cells.implicit_zeros:
            missing = np.bincount(
                (codes[cells.row] * n_features + cells.column)[~present],
                weights=weights[cells.row[~present]],
                minlength=n_classes * n_features,
            )
            zeros = np.maximum(np.repeat(mass, n_features) - listed - missing, 0)
        count = listed + zeros
        mean = total(weight * value) / np.where(count > 0, count, 1)
        squares = total(weight * (value - mean[group]) ** 2) + zeros * mean**2
        return cls(
            mass,
            count.reshape(shape),
            mean.reshape(shape),
            squares.reshape(shape),
            _value_counts(
                codes[row], column, value, weight, zeros.reshape(shape), feature_statistics
            ),
        )

    def plus(self, other: "ClassSums") -> "ClassSums":
        """Return the sums over the rows of both."""
        count = self.count + other.count
        divisor = np.where(count > 0, count, 1)
        shift = other.mean - self.mean
        return ClassSums(
            self.mass + other.mass,
            count,
            (self.count * self.mean + other.count * other.mean) / divisor,
            self.squares + other.squares + shift**2 * (self.count * other.count / divisor),
            self.values + other.values,
        )

    @classmethod
    def stack(cls, parts: "list[ClassSums]") -> "ClassSums":
        """Return sums with an axis in front."""
        return cls(*(np.stack([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def at(self, place: int) -> "ClassSums":
        """Return the sums at a place of the first axis."""
        return ClassSums(*(getattr(self, field.name)[place] for field in fields(self)))


def _value_counts(
    code: IntArray,
    column: IntArray,
    value: FloatArray,
    weight: FloatArray,
    zeros: FloatArray,
    feature_statistics: FeatureStatistics,
) -> FloatArray:
    """Return the weight of each value of the categorical features, by class."""
    n_classes, n_values = len(zeros), len(feature_statistics.values)
    counted = feature_statistics.categorical[column]
    slot = code[counted] * (n_values + 1) + feature_statistics.positions(
        column[counted], value[counted]
    )
    count = np.bincount(slot, weight[counted], n_classes * (n_values + 1)).astype(float)
    count = count.reshape(n_classes, n_values + 1)[:, :-1]
    # Implicit zeros of a sparse matrix.
    features = np.flatnonzero(feature_statistics.categorical)
    place = feature_statistics.positions(features, np.zeros(len(features)))
    present = place < n_values
    count[:, place[present]] += zeros[:, features[present]]
    return count
