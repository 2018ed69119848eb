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
CANCELLED = 8
"""Rows are summed separately where a difference would leave less than 1 part in this many."""
SUBSPACE_ARRAYS = 3
"""Number of arrays of the size of all log-odds of a block in memory at once."""
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


@dataclass(frozen=True)
class PairNaiveBayes:
    """The training rows of all pairs, from which the log-odds of any block of pairs follow.

    A block is trained when it is needed: sums over the rows of one label without another are
    products of matrices, or differences of such sums where these keep their digits.

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
    totals : array of shape (n_labels, n_known + 1)
        Sums of `values` over the rows of each label.
    cancelled : ndarray of bool, shape (n_labels, n_labels)
        Where the rows of a label without another are a small part of its rows.
    has_virtual : bool
        Whether the first label is virtual.
    constant : array of shape (n_labels, n_labels)
        Supports of pairs without rows of one class; NaN elsewhere.
    dtype : str
        Precision of log-odds.
    """

    design: Design
    values: Array
    indicators: Array
    groups: list[LabelGroup]
    totals: Array
    cancelled: BoolArray
    has_virtual: bool
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
        own = has_label = xp.astype(namespace.asarray(members), namespace.float64)
        if indicators is not members:
            has_label = xp.astype(namespace.asarray(indicators), namespace.float64)
        count = own.T @ (1 - has_label)
        mass = (own * namespace.asarray(weights)[:, None]).T @ (1 - has_label)
        # In the pair of a label with itself there is nothing to decide.
        is_empty = (
            (count <= 0) | (count.T <= 0) | (xp.eye(len(members.T), device=namespace.device) > 0)
        )
        constant = xp.where(is_empty, (mass + 1) / (mass + mass.T + 2), xp.nan)
        total = (own * namespace.asarray(weights)[:, None]).T @ xp.ones_like(own)
        cancelled = (count > 0) & (mass < total / CANCELLED)
        return cls(
            design,
            values,
            has_label,
            group_labels(members, namespace, _max_rows(values, namespace)),
            own.T @ values,
            namespace.numpy(cancelled),
            bool(members[:, 0].all() and not indicators[:, 0].any()),
            constant,
            dtype,
        )

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
            totals=convert(self.totals),
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
        weights = self.dense.weights(self._other_sums(labels, others))
        weights -= self.dense.weights(xp.concat(first, axis=0))
        weights = xp.astype(weights, self.float_dtype)
        flat = xp.reshape(weights, (-1, weights.shape[-1]))
        by_subspace = self.dense.weights_by_subspace(flat)
        return xp.reshape(by_subspace, (*weights.shape[:2], *by_subspace.shape[1:]))

    def _other_sums(self, labels: slice, others: slice) -> Array:
        """Sum the rows of other labels without each of some labels, (g, n_others, n_known + 1)."""
        xp = self.namespace.xp
        shared = [self._sums(part, others, shared=True) for part in parts_of(self.groups, labels)]
        sums = self.totals[None, others, :] - xp.concat(shared, axis=0)
        if not self.cancelled[others, labels].any():
            return sums
        blocks = []
        for part in parts_of(self.groups, others):
            own = slice(part.start, part.stop)
            if self.cancelled[own, labels].any():
                blocks.append(xp.permute_dims(self._sums(part, labels), (1, 0, 2)))
            else:
                blocks.append(sums[:, own.start - others.start : own.stop - others.start, :])
        return xp.concat(blocks, axis=1)

    def _sums(self, group: LabelGroup, others: slice, *, shared: bool = False) -> Array:
        """Sum the rows of labels without, or with, each other label, (g, n_others, n_known + 1).

        A virtual label shares its rows with the other labels, not these with it: of a pair with
        it, they keep all rows.
        """
        space = self.namespace
        has_label = self.indicators[:, others]
        if shared and self.has_virtual:
            if others.start == 0:
                ones = space.xp.ones_like(has_label[:, :1])
                has_label = space.xp.concat([ones, has_label[:, 1:]], axis=1)
            if group.start == 0:
                none = space.xp.zeros_like(self.totals[None, others, :])
                if group.stop == 1:
                    return none
                own = self._sums(group.part(1, group.stop), others, shared=True)
                return space.xp.concat([none, own], axis=0)

        def cells(rows: Array, valid: Array) -> Array:
            has_other = space.take(has_label, rows)
            return (has_other if shared else 1 - has_other) * valid[..., None]

        return masked_products(
            cells,
            lambda rows: space.take(self.values, rows),
            group,
            space,
            _max_rows(self.values, space),
        )

    @property
    def item_size(self) -> int:
        """Number of bytes of a log-odds value."""
        return 4 if self.dtype == "float32" else 8

    @property
    def rows_at_once(self) -> int:
        """Number of rows whose log-odds in all pairs of a label are in memory at once."""
        log_odds = SUBSPACE_ARRAYS * len(self.dense.table) * self.n_labels
        return max(1, self.namespace.max_bytes // (self.item_size * (log_odds + 2 * self.row_size)))

    def pairs_at_once(self, n_floats: int) -> int:
        """Return the number of pairs in memory at once, with some floats for each."""
        sums = ARRAYS * self.values.shape[1] + 2 * self.row_size
        return max(1, self.namespace.max_bytes // (8 * (sums + n_floats)))


def _max_rows(values: Array, namespace: Namespace) -> int:
    """Return the number of rows that are copied at once."""
    return max(1, namespace.max_bytes // (8 * int(values.shape[1])))
