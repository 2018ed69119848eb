"""Rows of a device as columns on which the log-odds of naive Bayes are linear."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.lazy import lazy
from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.naive_bayes.design_matrix import MAX_DISTANCE, Design
from pairmend.naive_bayes.feature_statistics import DistinctValues

MAX_SINGLE_DISTANCE = 1e15
"""Distances in single precision, in floors, are clipped to this: sums of squares are finite."""


def distinct_values(X: Array, namespace: Namespace) -> DistinctValues:
    """Find the distinct values of the features of rows without missing values."""
    xp = namespace.xp
    ordered = xp.sort(X, axis=0)
    is_new = ordered[1:, :] != ordered[:-1, :]
    count = 1 + namespace.numpy(xp.sum(xp.astype(is_new, xp.int64), axis=0))
    low, high = (namespace.numpy(ordered[row, :]).astype(np.float64) for row in (0, -1))

    def listed(features: BoolArray) -> FloatArray:
        chosen = namespace.asarray(np.flatnonzero(features))
        values = namespace.numpy(xp.take(ordered, chosen, axis=1)).astype(np.float64).T
        new = np.ones(values.shape, dtype=bool)
        new[:, 1:] = values[:, 1:] != values[:, :-1]
        return values[new]

    return DistinctValues(count, low, high, listed)


def column_means(X: Array, namespace: Namespace) -> FloatArray:
    """Return the means of features in double precision, as an array of numpy."""
    xp = namespace.xp
    return namespace.numpy(xp.mean(xp.astype(X, namespace.float64), axis=0))


@dataclass(frozen=True)
class DenseDesign:
    """A design whose columns are computed on a device.

    Columns are values and squares of numeric features, indicators of the values of categorical
    ones except their bases, and indicators of unknown values of categorical ones.
    """

    design: Design
    namespace: Namespace

    @lazy
    def _categorical(self) -> IntArray:
        return np.flatnonzero(self.design.feature_statistics.categorical)

    @lazy
    def n_known(self) -> int:
        """Number of columns without the indicators of unknown values."""
        return len(self.design.column_feature)

    @lazy
    def _value_features(self) -> IntArray:
        """Feature of each indicator of a value."""
        return self.design.column_feature[2 * len(self.design.numeric) :]

    @lazy
    def _on_device(self) -> dict[str, Array]:
        """Arrays that are needed for each block of pairs."""
        space, design = self.namespace, self.design
        statistics, masks = design.feature_statistics, design.subspace_masks
        n_values = np.diff(statistics.offsets)[self._categorical]
        arrays = {
            "numeric": design.numeric,
            "centre": design.centre,
            "unit": design.unit,
            "numeric_masks": masks[design.numeric],
            "table": self.table,
            "weight_table": self.weight_table,
            "categorical": self._categorical,
            "value_features": self._value_features,
            "values": statistics.values[design.value_column >= 0],
            "bases": statistics.values[design.base[self._categorical]],
            "indicators": self.indicators,
            "n_values": n_values.astype(np.float64),
            "own": np.argmax(self.indicators, axis=1) if len(self._categorical) else n_values,
            "categorical_masks": masks[self._categorical],
        }
        return {name: space.asarray(array) for name, array in arrays.items()}

    def columns(self, X: Array, dtype: Any) -> Array:
        """Return rows as values of all columns, and a 1 after them, (n, n_columns + 1)."""
        at, xp = self._on_device, self.namespace.xp
        X = xp.astype(X, self.namespace.float64)
        limit = MAX_DISTANCE if dtype == xp.float64 else MAX_SINGLE_DISTANCE
        u = (xp.take(X, at["numeric"], axis=1) - at["centre"]) * at["unit"]
        u = xp.clip(u, min=-limit, max=limit)
        blocks = [u, u * u]
        if len(self._categorical):
            shown = xp.take(X, at["value_features"], axis=1) == at["values"]
            shown = xp.astype(shown, X.dtype)
            is_base = xp.take(X, at["categorical"], axis=1) == at["bases"]
            known = xp.astype(is_base, X.dtype) + shown @ at["indicators"]
            blocks += [shown, 1 - known]
        blocks.append(xp.ones((X.shape[0], 1), dtype=X.dtype, device=self.namespace.device))
        return xp.astype(xp.concat(blocks, axis=1), dtype)

    @lazy
    def indicators(self) -> FloatArray:
        """Ones where an indicator of a value belongs to a categorical feature."""
        return (self._value_features[:, np.newaxis] == self._categorical).astype(np.float64)

    @lazy
    def table(self) -> IntArray:
        """Columns of each subspace, and the constant, padded with a column of zeros."""
        masks = self.design.subspace_masks > 0
        features = np.concatenate([self.design.column_feature, self._categorical])
        chosen = masks[features]
        count = np.count_nonzero(chosen, axis=0)
        n_columns = len(features)
        table = np.full((chosen.shape[1], int(count.max(initial=0)) + 1), n_columns)
        table[:, :-1][np.arange(table.shape[1] - 1) < count[:, np.newaxis]] = np.nonzero(chosen.T)[
            1
        ]
        return table

    @lazy
    def weight_table(self) -> IntArray:
        """Positions of the weights of these columns: constants of subspaces follow, and a zero."""
        n_columns, n_subspaces = self.n_known + len(self._categorical), len(self.table)
        table = np.where(self.table < n_columns, self.table, n_columns + n_subspaces)
        table[:, -1] = n_columns + np.arange(n_subspaces)
        return table

    def weights(self, sums: Array) -> Array:
        """Return the weights of classes for the columns, from sums over their rows.

        `sums`, (..., n_known + 1), are of all columns but the indicators of unknown values, and of
        the weights of rows. The result, (..., n_columns + n_subspaces + 1), ends with the constants
        of subspaces, and a zero.
        """
        at, xp, n = self._on_device, self.namespace.xp, len(self.design.numeric)
        mass = sums[..., -1:]
        divisor = xp.where(mass > 0, mass, xp.ones_like(mass))
        mean = sums[..., :n] / divisor
        square = mean * mean
        # The floor is the unit, so the variance is at least 1, far above rounding.
        variance = xp.clip(sums[..., n : 2 * n] / divisor - square, min=1.0)
        inverse = 1 / variance
        square *= inverse
        square += xp.log(variance)
        constants = (square @ at["numeric_masks"]) * -0.5
        mean *= inverse
        inverse *= -0.5
        blocks = [mean, inverse]
        if len(self._categorical):
            counts = sums[..., 2 * n : self.n_known]
            others = mass - counts @ at["indicators"]
            log_base = xp.log(xp.clip(others, min=0.0) + 1)
            of_base = log_base - xp.log(mass + at["n_values"])
            blocks += [xp.log(counts + 1) - xp.take(log_base, at["own"], axis=-1), -of_base]
            constants += of_base @ at["categorical_masks"]
        constants += xp.log(mass + 1)
        return xp.concat([*blocks, constants, xp.zeros_like(mass)], axis=-1)

    def by_subspace(self, columns: Array) -> Array:
        """Return the columns of each subspace, (n, n_subspaces, width)."""
        return self.namespace.take(columns, self._on_device["table"], axis=1)

    def weights_by_subspace(self, weights: Array) -> Array:
        """Return the weights of each subspace, (c, n_subspaces, width)."""
        return self.namespace.take(weights, self._on_device["weight_table"], axis=1)
