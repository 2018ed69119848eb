"""RandomSubspaceNB for all pairs on a device, in terms of the array API.

A block of pairs is trained when it is needed: the sums over the rows of one label without another
are products of matrices. Labels with similar numbers of rows are multiplied in one batch.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairmend._utils.arrays import Array, Convert, Namespace
from pairmend._utils.computing import batches, lazy
from pairmend._utils.progress import report
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import seed_estimator
from pairmend._utils.weights import unit_weight, without_negligible
from pairmend.kernels.confusion import ValidationDecisions
from pairmend.kernels.pairs import LabelRows, pairs_between
from pairmend.kernels.rrc import decide, fold
from pairmend.naive_bayes.design_matrix import MAX_DISTANCE, Design
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.naive_bayes.feature_statistics import DistinctValues, FeatureStatistics
from pairmend.naive_bayes.scoring import SMALLEST
from pairmend.pairwise.learners import PairLearner

MAX_SINGLE_DISTANCE = 1e15
"""Distances in single precision, in floors, are clipped to this: sums of squares are finite."""
PADDING = 0.25
"""Share of rows of a group of labels that may be padding..."""
FREE_PADDING = 4096
"""...or this number of rows, which is too small to matter."""
SUBSPACE_ARRAYS = 3
"""Number of arrays of the size of all log-odds of a block in memory at once."""
LAZY = ("_dense", "_has_label")
"""Attributes that are computed at first access."""
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


class DevicePairLearner(PairLearner):
    """The training rows of all pairs, from which the log-odds of any block of pairs follow.

    Attributes
    ----------
    design : Design
        Columns on which log-odds are linear, as arrays of numpy.
    values : array of shape (n_rows, n_columns + 1)
        Columns of the training rows, then a 1, times their weights, in double precision.
    Y : ndarray of bool, shape (n_rows, n_labels)
        Label indicators of the training rows; false for a virtual label.
    label_rows : LabelRows
        The training rows of each label; all of them for a virtual label.
    constant : ndarray of shape (n_labels, n_labels)
        Supports of pairs without rows of one class; NaN elsewhere.
    dtype : str
        Precision of log-odds.
    """

    def __init__(self, estimator: RandomSubspaceNB, *, seed: int):
        self.estimator = estimator
        self.seed = seed

    def fit(
        self,
        X: Array,
        Y: BoolArray,
        pairs: IntArray,
        fit_params: dict[str, Any],
        owner: Any = None,
    ) -> "DevicePairLearner":
        """Store the training rows as columns of the design."""
        space, has_virtual = Namespace.of(X), Y.shape[1] in pairs
        xp = space.xp
        estimator = seed_estimator(self.estimator, self.seed)
        given, weights = fit_params.get("feature_statistics"), fit_params.get("sample_weight")
        weights = np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=np.float64)
        unit = unit_weight(weights) if given is None or given.unit is None else given.unit
        weights = without_negligible(weights, unit) / unit
        if not (present := weights > 0).all():
            X = xp.take(X, space.asarray(np.flatnonzero(present)), axis=0)
            Y, weights = Y[present], weights[present]
        statistics = given or estimator.statistics_of_values(distinct_values(X, space), None, None)
        statistics = replace(statistics, unit=unit)
        numeric = space.asarray(np.flatnonzero(~statistics.categorical))
        self.design = Design(statistics, column_means(xp.take(X, numeric, axis=1), space))
        dense = DenseDesign(self.design, space)
        columns = dense.columns(X, space.float64)
        values = xp.concat([columns[:, : dense.n_known], columns[:, -1:]], axis=1)
        self.values = values * space.asarray(weights)[:, None]
        self.dtype = "float32" if X.dtype == xp.float32 else "float64"
        self.label_rows = LabelRows.of(Y, has_virtual=has_virtual)
        self.Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)]) if has_virtual else Y
        self.has_virtual = has_virtual

        own = np.zeros(self.Y.shape)
        own[self.label_rows.rows, self.label_rows.label] = 1
        count, mass = (part.T @ (1.0 - self.Y) for part in (own, own * weights[:, np.newaxis]))
        is_empty = (count <= 0) | (count.T <= 0)
        self.constant = np.where(is_empty, (mass + 1) / (mass + mass.T + 2), np.nan)
        report(owner, f"{len(pairs)} pairs trained in closed form")
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without what is computed at first access."""
        return {name: value for name, value in vars(self).items() if name not in LAZY}

    def __sklearn_array_api_convert__(self, convert: Convert) -> "DevicePairLearner":
        moved = copy(self)
        moved.values = convert(self.values)
        return moved

    @property
    def feature_statistics_(self) -> FeatureStatistics:
        """Kinds, values, floors and subspaces of the features."""
        return self.design.feature_statistics

    @property
    def namespace(self) -> Namespace:
        """Namespace and device of the arrays."""
        return Namespace.of(self.values)

    @property
    def row_size(self) -> int:
        """Number of floats that a row needs in memory during prediction, without its supports."""
        return int(self._dense.table.size)

    @property
    def pair_size(self) -> int:
        """Number of floats that a pair needs in memory while it is trained."""
        return ARRAYS * int(self.values.shape[1]) + 2 * self.row_size

    @lazy
    def _dense(self) -> DenseDesign:
        return DenseDesign(self.design, self.namespace)

    def supports(self, X: Array, blocks: Iterable[slice]) -> Iterator[Array]:
        """Yield the supports for the first labels of blocks of pairs, (n, pairs of the block)."""
        space = self.namespace
        xp, rows = space.xp, self._rows(X, space)
        size = 4 if self.dtype == "float32" else 8
        size *= SUBSPACE_ARRAYS * rows.shape[0] * rows.shape[1]
        right = xp.permute_dims(rows, (1, 2, 0))
        for labels in blocks:
            first, second = pairs_between(labels, len(self.constant))
            weights = self._log_odds_weights(labels, slice(labels.start, len(self.constant)), space)
            flat = xp.reshape(weights, (-1, *weights.shape[2:]))
            places = (first - labels.start) * weights.shape[1] + second - labels.start
            found = []
            for part in batches(len(places), max(1, space.max_bytes // size)):
                chosen = xp.take(flat, space.asarray(places[part]), axis=0)
                found.append(_mean_logistic(xp.permute_dims(chosen, (1, 0, 2)) @ right, xp))
            fixed = space.asarray(self.constant[first, second])[:, None]
            supports = xp.concat(found, axis=0)
            yield xp.where(fixed == fixed, xp.astype(fixed, supports.dtype), supports).T

    def decide(self, X: Array, label_rows: LabelRows, reference: Callable[..., Any]) -> Array:
        """Return the decisions for labels at the rows that have them, folded, (n_entries, L)."""
        space, n_labels = self.namespace, len(self.constant)
        xp = space.xp
        log_odds = SUBSPACE_ARRAYS * len(self._dense.table) * n_labels + 2 * self.row_size
        at_once = max(1, space.max_bytes // (8 * log_odds))
        step = max(1, space.max_bytes // (8 * self.pair_size * n_labels))
        found, order = [], []
        for labels in batches(n_labels, step):
            weights = self._log_odds_weights(labels, slice(0, n_labels), space)
            for group in _groups(label_rows, labels, at_once):
                own = xp.take(weights, space.asarray(group.labels - labels.start), axis=0)
                fixed = space.asarray(fold(self.constant[group.labels]))[..., None]
                for part in group.parts(at_once):
                    rows = self._rows(xp.take(X, space.asarray(part.rows.ravel()), axis=0), space)
                    rows = xp.reshape(rows, (*part.rows.shape, *rows.shape[1:]))
                    folded = xp.where(fixed == fixed, fixed, _folded_supports(rows, own, space))
                    folded = xp.reshape(xp.permute_dims(folded, (0, 2, 1)), (-1, n_labels))
                    kept = np.flatnonzero(part.is_row)
                    found.append(
                        decide(xp.take(folded, space.asarray(kept), axis=0), reference, xp)
                    )
                    order.append(part.entries.ravel()[kept])
        place = space.asarray(np.argsort(np.concatenate(order)))
        return xp.take(xp.concat(found, axis=0), place, axis=0)

    def confusion(
        self,
        weights: Array,
        decisions: ValidationDecisions,
        labels: slice,
        *,
        overlap: float,
        balance: tuple[FloatArray, FloatArray] | None,
    ) -> Array:
        """Return the confusion matrices of a block of pairs around points, (t, n_pairs, 2, 2)."""
        space, n_labels = self.namespace, len(self.constant)
        xp = space.xp
        width, n_all = labels.stop - labels.start, n_labels - labels.start

        def sums(of: slice, columns: slice) -> Array:
            has_label = xp.astype(space.asarray(decisions.Y[:, columns]), weights.dtype)
            p_decide = decisions.p_decide[:, columns]

            def cells(part: _Group) -> Array:
                folded = space.take(p_decide, space.asarray(part.entries))
                # In its pairs, the virtual label has no row that has the other label.
                is_virtual = self.has_virtual & (part.labels == n_labels - 1)
                left_out = space.asarray(np.where(is_virtual, 1.0, 1 - overlap))[:, None, None]
                share = 1 - left_out * space.take(has_label, space.asarray(part.rows))
                smaller, is_other = xp.abs(folded), xp.signbit(folded)
                chosen = xp.where(is_other, 1 - smaller, smaller)
                other = xp.where(is_other, smaller, 1 - smaller)
                return xp.concat([chosen * share, other * share], axis=2)

            n_cells = 2 * (columns.stop - columns.start)
            return _sum_products(cells, n_cells, weights, decisions.label_rows, of, space)

        own = sums(labels, slice(labels.start, n_labels))
        other = sums(slice(labels.stop, n_labels), labels)
        # What a second label decides for itself is decided for the second label.
        chosen = xp.concat([own[:, :width, :], other[:, :width, :]], axis=0)
        against = xp.concat([own[:, n_all : n_all + width, :], other[:, width:, :]], axis=0)
        cells = [own[:, :n_all, :], own[:, n_all:, :]]
        cells += [xp.permute_dims(part, (1, 0, 2)) for part in (against, chosen)]
        first, second = pairs_between(labels, n_labels)
        places = space.asarray((first - labels.start) * n_all + second - labels.start)
        flat = [xp.take(xp.reshape(cell, (-1, cell.shape[2])), places, axis=0) for cell in cells]
        found = xp.reshape(xp.stack(flat), (2, 2, *flat[0].shape))
        if balance is not None:
            found = found * space.asarray(np.stack(balance))[:, None, :, None]
        return xp.permute_dims(found, (3, 2, 0, 1))

    @lazy
    def _has_label(self) -> Array:
        space = self.namespace
        return space.xp.astype(space.asarray(self.Y), space.float64)

    def _rows(self, X: Array, space: Namespace) -> Array:
        """Return rows as columns of each subspace, (n, n_subspaces, width)."""
        dtype = space.xp.float32 if self.dtype == "float32" else space.float64
        return self._dense.by_subspace(self._dense.columns(X, dtype))

    def _log_odds_weights(self, labels: slice, others: slice, space: Namespace) -> Array:
        """Return weights of log-odds against labels in their pairs with others.

        The shape is (n_labels, n_others, n_subspaces, width).
        """
        xp = space.xp
        against = xp.permute_dims(self._class_sums(others, labels, space), (1, 0, 2))
        weights = self._dense.weights(against)
        weights -= self._dense.weights(self._class_sums(labels, others, space))
        weights = xp.astype(weights, xp.float32 if self.dtype == "float32" else space.float64)
        flat = xp.reshape(weights, (-1, weights.shape[-1]))
        by_subspace = self._dense.weights_by_subspace(flat)
        return xp.reshape(by_subspace, (*weights.shape[:2], *by_subspace.shape[1:]))

    def _class_sums(self, labels: slice, others: slice, space: Namespace) -> Array:
        """Sum the rows of labels without each other label, (n_labels, n_others, n_columns + 1)."""
        has_other = self._has_label[:, others]

        def cells(part: _Group) -> Array:
            return 1 - space.take(has_other, space.asarray(part.rows))

        n_cells = others.stop - others.start
        return _sum_products(cells, n_cells, self.values, self.label_rows, labels, space)


@dataclass(frozen=True)
class _Group:
    """Labels with a table of the rows of each, padded to the same length.

    Attributes
    ----------
    labels : ndarray of int, shape (n_labels,)
        The labels.
    entries : ndarray of int, shape (n_labels, n)
        Entries of the rows of all labels; padding is 0.
    rows : ndarray of int, shape (n_labels, n)
        Numbers of the rows.
    is_row : ndarray of bool, shape (n_labels, n)
        False for padding.
    """

    labels: IntArray
    entries: IntArray
    rows: IntArray
    is_row: BoolArray

    def parts(self, max_rows: int) -> Iterator["_Group"]:
        """Cut the tables so that they have at most `max_rows` rows."""
        for at in batches(self.entries.shape[1], max(1, max_rows // len(self.labels))):
            yield _Group(self.labels, self.entries[:, at], self.rows[:, at], self.is_row[:, at])


def _groups(label_rows: LabelRows, labels: slice, max_rows: int) -> Iterator[_Group]:
    """Cut labels into groups of similar numbers of rows, at most `max_rows` in all of a group.

    A label with more rows is a group of its own. All labels together have at least one row.
    """
    counts = np.diff(label_rows.indptr)[labels]
    order = np.argsort(-counts, kind="stable")
    while len(order):
        largest = max(1, int(counts[order[0]]))
        padded = largest * np.arange(1, len(order) + 1)
        rows = np.cumsum(counts[order])
        fits = (padded <= max_rows) & (padded - rows <= np.maximum(PADDING * rows, FREE_PADDING))
        size = max(1, int(np.argmin(np.append(fits, False))))
        chosen, order = order[:size] + labels.start, order[size:]
        is_row = np.arange(largest) < np.diff(label_rows.indptr)[chosen, np.newaxis]
        entries = np.where(is_row, label_rows.indptr[chosen, np.newaxis] + np.arange(largest), 0)
        yield _Group(chosen, entries, label_rows.rows[entries], is_row)


def _sum_products(
    cells: Callable[[_Group], Array],
    n_cells: int,
    values: Array,
    label_rows: LabelRows,
    labels: slice,
    space: Namespace,
) -> Array:
    """Sum over the rows of labels the products of their cells and values, (n_labels, m, c).

    `cells` returns an array (g, n, m) for the rows of a group.
    """
    xp, n_labels = space.xp, labels.stop - labels.start
    if not n_labels or not len(label_rows.rows):
        shape = (n_labels, n_cells, values.shape[1])
        return xp.zeros(shape, dtype=values.dtype, device=space.device)
    max_rows = max(1, space.max_bytes // (16 * max(n_cells, values.shape[1])))
    found, order = [], []
    for group in _groups(label_rows, labels, max_rows):
        total = None
        for part in group.parts(max_rows):
            is_row = xp.astype(space.asarray(part.is_row), values.dtype)[..., None]
            left = xp.permute_dims(cells(part) * is_row, (0, 2, 1))
            product = left @ space.take(values, space.asarray(part.rows))
            total = product if total is None else total + product
        found.append(total)
        order.append(group.labels)
    if len(found) == 1 and (np.diff(order[0]) > 0).all():
        return found[0]
    return xp.take(
        xp.concat(found, axis=0), space.asarray(np.argsort(np.concatenate(order))), axis=0
    )


def _mean_logistic(against: Array, xp: Any) -> Array:
    """Return the mean over the first axis of the probabilities with these log-odds against."""
    with np.errstate(over="ignore"):
        odds = xp.exp(against)
    del against  # frees the memory of the device if the caller needs it no longer
    odds += 1
    return xp.mean(1 / odds, axis=0)


def _folded_supports(rows: Array, weights: Array, space: Namespace) -> Array:
    """Return mean supports, folded, (g, p, n): see as `naive_bayes.scoring.folded_mean_logistic`.

    `rows`, (g, n, n_subspaces, width), belong to `weights`, (g, p, n_subspaces, width).
    """
    xp = space.xp
    against = xp.permute_dims(weights, (2, 0, 1, 3)) @ xp.permute_dims(rows, (2, 0, 3, 1))
    side = 1 - 2 * xp.astype(against[0, ...] < 0, against.dtype)
    against *= side
    smaller = xp.astype(xp.clip(_mean_logistic(against, xp), min=SMALLEST), space.float64)
    return side * fold(smaller, xp)
