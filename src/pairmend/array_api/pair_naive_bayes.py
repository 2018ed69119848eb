"""RandomSubspaceNB of all pairs of labels in closed form, in terms of the array API."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pairmend._utils.lazy import lazy
from pairmend._utils.namespaces import Array, Convert, Namespace
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.array_api.label_groups import LabelGroup, group_labels, masked_products, parts_of
from pairmend.naive_bayes.design_matrix import MAX_DISTANCE, Design
from pairmend.naive_bayes.feature_statistics import DistinctValues

MAX_SINGLE_DISTANCE = 1e15
"""Distances in single precision, in floors, are clipped to this: sums of squares are finite."""
ARRAYS = 8
"""Number of arrays of the size of all sums of a block of pairs in memory at once."""


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

    def columns(self, X: Array, dtype: Any) -> Array:
        """Return rows as values of all columns, and a 1 after them, (n, n_columns + 1)."""
        space, design = self.namespace, self.design
        xp = space.xp
        X = xp.astype(X, space.float64)
        u = xp.take(X, space.asarray(design.numeric), axis=1) - space.asarray(design.centre)
        limit = MAX_DISTANCE if dtype == xp.float64 else MAX_SINGLE_DISTANCE
        u = xp.clip(u * space.asarray(design.unit), min=-limit, max=limit)
        blocks = [u, u * u]
        if len(self._categorical):
            statistics = design.feature_statistics
            listed = statistics.values[design.value_column >= 0]
            own = xp.take(X, space.asarray(self._value_features), axis=1)
            shown = xp.astype(own == space.asarray(listed), X.dtype)
            base = statistics.values[design.base[self._categorical]]
            is_base = xp.take(X, space.asarray(self._categorical), axis=1) == space.asarray(base)
            known = xp.astype(is_base, X.dtype) + shown @ space.asarray(self.indicators)
            blocks += [shown, 1 - known]
        ones = xp.ones((X.shape[0], 1), dtype=X.dtype, device=space.device)
        return xp.astype(xp.concat([*blocks, ones], axis=1), dtype)

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
        space = self.namespace
        xp, n = space.xp, len(self.design.numeric)
        mass = sums[..., -1:]
        divisor = xp.where(mass > 0, mass, xp.ones_like(mass))
        mean = sums[..., :n] / divisor
        variance = sums[..., n : 2 * n] / divisor - mean * mean
        # The floor is the unit, so the variance is at least 1, far above rounding.
        variance = xp.where(variance > 1, variance, xp.ones_like(variance))
        inverse = 1 / variance
        base = -0.5 * (mean * mean * inverse + xp.log(variance))
        constants = base @ space.asarray(self.design.subspace_masks[self.design.numeric])
        blocks = [mean * inverse, -0.5 * inverse]
        if len(self._categorical):
            indicators = space.asarray(self.indicators)
            counts = sums[..., 2 * n : self.n_known]
            others = mass - counts @ indicators
            log_base = xp.log(xp.where(others > 0, others, xp.zeros_like(others)) + 1)
            n_values = np.diff(self.design.feature_statistics.offsets)[self._categorical]
            of_base = log_base - xp.log(mass + space.asarray(n_values.astype(np.float64)))
            own = space.asarray(np.argmax(self.indicators, axis=1))
            blocks += [xp.log(counts + 1) - xp.take(log_base, own, axis=-1), -of_base]
            constants = constants + of_base @ space.asarray(
                self.design.subspace_masks[self._categorical]
            )
        constants = constants + xp.log(mass + 1)
        return xp.concat([*blocks, constants, xp.zeros_like(mass)], axis=-1)

    def by_subspace(self, columns: Array) -> Array:
        """Return the columns of each subspace, (n, n_subspaces, width)."""
        return self.namespace.take(columns, self.namespace.asarray(self.table), axis=1)

    def weights_by_subspace(self, weights: Array) -> Array:
        """Return the weights of each subspace, (c, n_subspaces, width)."""
        return self.namespace.take(weights, self.namespace.asarray(self.weight_table), axis=1)


@dataclass(frozen=True)
class PairNaiveBayes:
    """The training rows of all pairs, from which the log-odds of any block of pairs follow.

    A block is trained when it is needed: sums over the rows of one label without another are
    products of matrices, none of them a difference of sums.

    Attributes
    ----------
    design : Design
        Columns on which log-odds are linear, as arrays of numpy.
    values : array of shape (n_rows, n_known + 1)
        Columns of the training rows, then a 1, times their weights, in double precision.
    indicators : array of shape (n_rows, n_labels)
        1 where a row has a label; 0 for a virtual label.
    groups : list of LabelGroup
        Labels and their rows, by falling number of rows.
    constant : array of shape (n_labels, n_labels)
        Supports of pairs without rows of one class; NaN elsewhere.
    dtype : str
        Precision of log-odds.
    """

    design: Design
    values: Array
    indicators: Array
    groups: list[LabelGroup]
    constant: Array
    dtype: str

    @classmethod
    def fit(
        cls,
        X: Array,
        members: BoolArray,
        indicators: BoolArray,
        weights: FloatArray,
        design: Design,
        namespace: Namespace,
        dtype: str,
    ) -> "PairNaiveBayes":
        """Store the training rows of labels, by falling number of rows, as design columns.

        `members`, (n, L), are the rows of each label, `indicators` the same with no rows for a
        virtual label. All weights are positive.
        """
        xp = namespace.xp
        dense = DenseDesign(design, namespace)
        columns = dense.columns(X, namespace.float64)
        values = xp.concat([columns[:, : dense.n_known], columns[:, -1:]], axis=1)
        values = values * namespace.asarray(weights)[:, None]
        own = namespace.asarray(members.astype(np.float64))
        has_label = namespace.asarray(indicators.astype(np.float64))
        count = own.T @ (1 - has_label)
        mass = (own * namespace.asarray(weights)[:, None]).T @ (1 - has_label)
        # In the pair of a label with itself there is nothing to decide.
        is_empty = (count <= 0) | (count.T <= 0) | (xp.eye(len(members.T), device=namespace.device) > 0)
        constant = xp.where(is_empty, (mass + 1) / (mass + mass.T + 2), xp.nan)
        groups = group_labels(members, namespace, _max_rows(values, namespace))
        return cls(design, values, has_label, groups, constant, dtype)

    @property
    def n_labels(self) -> int:
        """Number of labels, a virtual one included."""
        return int(self.indicators.shape[1])

    @property
    def row_size(self) -> int:
        """Number of floats of a row in all subspaces."""
        return int(self.dense.table.size)

    @lazy
    def namespace(self) -> Namespace:
        """Namespace and device of the arrays."""
        return Namespace.of(self.values)

    @lazy
    def dense(self) -> DenseDesign:
        """Columns of the design on the device."""
        return DenseDesign(self.design, self.namespace)

    @property
    def float_dtype(self) -> Any:
        """Precision of log-odds, as a dtype of the array library."""
        return self.namespace.xp.float32 if self.dtype == "float32" else self.namespace.float64

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __sklearn_array_api_convert__(self, convert: Convert) -> "PairNaiveBayes":
        return replace(
            self,
            values=convert(self.values),
            indicators=convert(self.indicators),
            groups=[group.__sklearn_array_api_convert__(convert) for group in self.groups],
            constant=convert(self.constant),
        )

    def rows(self, X: Array) -> Array:
        """Return rows as columns of each subspace, (n, n_subspaces, width)."""
        return self.dense.by_subspace(self.dense.columns(X, self.float_dtype))

    def log_odds_weights(self, labels: slice, low: int) -> Array:
        """Return weights of log-odds against labels in their pairs with labels from `low` on.

        The shape is (g, n_labels - low, n_subspaces, width).
        """
        xp, others = self.namespace.xp, slice(low, self.n_labels)
        first = [self._sums(part, others) for part in parts_of(self.groups, labels)]
        second = [self._sums(part, labels) for part in parts_of(self.groups, others)]
        against = self.dense.weights(xp.permute_dims(xp.concat(second, axis=0), (1, 0, 2)))
        weights = against - self.dense.weights(xp.concat(first, axis=0))
        weights = xp.astype(weights, self.float_dtype)
        flat = xp.reshape(weights, (-1, weights.shape[-1]))
        by_subspace = self.dense.weights_by_subspace(flat)
        return xp.reshape(by_subspace, (*weights.shape[:2], *by_subspace.shape[1:]))

    def _sums(self, group: LabelGroup, others: slice) -> Array:
        """Sum the rows of labels without each other label, (g, n_others, n_known + 1)."""
        space = self.namespace

        def without(rows: Array, valid: Array) -> Array:
            has_other = space.take(self.indicators[:, others], rows)
            return (1 - has_other) * valid[..., None]

        return masked_products(
            without,
            lambda rows: space.take(self.values, rows),
            group,
            space,
            _max_rows(self.values, space),
        )

    def pairs_at_once(self, n_floats: int) -> int:
        """Return the number of pairs in memory at once, with some floats for each."""
        sums = ARRAYS * self.values.shape[1] + 2 * self.row_size
        return max(1, self.namespace.max_bytes() // (8 * (sums + n_floats)))


def _max_rows(values: Array, namespace: Namespace) -> int:
    """Return the number of rows that are copied at once."""
    return max(1, namespace.max_bytes() // (8 * int(values.shape[1])))
