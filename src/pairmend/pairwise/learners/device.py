"""RandomSubspaceNB for all pairs on a device, in terms of the array API.

A block of pairs is trained when it is needed: the sums over the rows of one label without another
are products of matrices. The rows of several labels are multiplied in one batch.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from pairmend._utils.arrays import Array, Convert, Namespace
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.computing import batches, lazy
from pairmend._utils.progress import report
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.pairs import LabelRows, ValidationDecisions, pairs_between
from pairmend.kernels.rrc import decide, fold
from pairmend.naive_bayes.features import MAX_DISTANCE, Design, subspace_tables
from pairmend.naive_bayes.likelihood import SMALLEST
from pairmend.pairwise.learners import PairLearner

MAX_SINGLE_DISTANCE = 1e15
"""Distances in single precision, in floors, are clipped to this: sums of squares are finite."""
SUBSPACE_ARRAYS = 3
"""Number of arrays of the size of all log-odds of a block in memory at once."""
PADDING = 0.25
"""Share of the rows of a batch that may be padding..."""
FREE_PADDING = 1024
"""...or this number of rows, which is too small to matter."""
ARRAYS = 8
"""Number of arrays of the size of all sums of a block of pairs in memory at once."""


class DeviceDecisions(ValidationDecisions):
    """Decisions of pairs on a device."""

    def confusion(
        self,
        weights: Array,
        labels: slice,
        *,
        overlap: float = 0.0,
        balance: tuple[FloatArray, FloatArray] | None = None,
    ) -> Array:
        """Return the confusion matrices of a block of pairs around points, (t, n_pairs, 2, 2)."""
        space, n_labels = Namespace.of(weights), self.label_rows.n_labels
        xp = space.xp
        width, n_all = labels.stop - labels.start, n_labels - labels.start

        def sums(of: slice, columns: slice) -> Array:
            has_label = xp.astype(space.asarray(self.Y[:, columns]), weights.dtype)
            p_decide = self.p_decide[:, columns]

            def cells(part: _Part) -> Array:
                # In its pairs, the virtual label has no row that has the other label.
                is_virtual = ~self.Y[part.rows[:, 0], part.numbers + of.start]
                left_out = space.asarray(np.where(is_virtual, 1.0, 1 - overlap))[:, None, None]
                share = 1 - left_out * space.take(has_label, space.asarray(part.rows))
                folded = space.take(p_decide, space.asarray(part.entries))
                smaller, is_other = xp.abs(folded), xp.signbit(folded)
                chosen = xp.where(is_other, 1 - smaller, smaller)
                other = xp.where(is_other, smaller, 1 - smaller)
                return xp.concat([chosen * share, other * share], axis=2)

            n_cells = 2 * (columns.stop - columns.start)
            return _sum_products(cells, n_cells, weights, self.label_rows, of, space)

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


class DevicePairLearner(PairLearner):
    """The training rows of all pairs, from which the log-odds of any block of pairs follow.

    Rows are computed as columns: values and squares of numeric features, relative to centres and in
    units of floors, an indicator of each value of categorical features, and a 1.

    Attributes
    ----------
    design : Design
        Features, centres and subspaces, as arrays of numpy.
    values : array of shape (n_rows, n_columns)
        Columns of the training rows times their weights, in double precision.
    Y : ndarray of bool, shape (n_rows, n_labels)
        Label indicators of the training rows; false for a virtual label.
    label_rows : LabelRows
        The training rows of each label; all of them for a virtual label.
    constant : ndarray of shape (n_labels, n_labels)
        Supports of pairs without rows of one class; NaN elsewhere.
    dtype : str
        Precision of log-odds.
    """

    decisions = DeviceDecisions

    def fit(self, rows: Any, pairs: IntArray, owner: Any = None) -> "DevicePairLearner":
        """Store the training rows as columns."""
        X, space, has_virtual = rows.X, Namespace.of(rows.X), rows.Y.shape[1] in pairs
        estimator = seed_estimator(self.estimator, self.seed)
        given, weights = map(rows.fit_params.get, ("feature_statistics", "sample_weight"))
        # Statistics of the features are computed with numpy.
        read = estimator.read_training_rows(space.numpy(X), weights, given)
        numbers, present, weights, statistics = read
        Y = rows.Y[present]
        weights = np.ones(len(Y)) if weights is None else weights
        self.design = Design.from_rows(statistics, numbers)
        self.dtype = "float32" if X.dtype == space.xp.float32 else "float64"
        # The tables of columns need the library and the device of values.
        self.values = X
        X = space.xp.take(X, space.asarray(np.flatnonzero(present)), axis=0)
        self.values = self._columns(X, space.float64) * space.asarray(weights)[:, None]
        self.label_rows = LabelRows.of(Y, has_virtual=has_virtual)
        self.Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)]) if has_virtual else Y
        count = self.label_rows.weights(self.Y, np.ones_like(weights))
        mass = self.label_rows.weights(self.Y, weights)
        is_empty = (count <= 0) | (count.T <= 0)
        self.constant = np.where(is_empty, (mass + 1) / (mass + mass.T + 2), np.nan)
        report(owner, f"{len(pairs)} pairs trained in closed form")
        return self

    def __sklearn_array_api_convert__(self, convert: Convert) -> "DevicePairLearner":
        moved = copy(self)
        moved.values = convert(self.values)
        vars(moved).pop("_tables", None)
        return moved

    @property
    def namespace(self) -> Namespace:
        """Namespace and device of the arrays."""
        return Namespace.of(self.values)

    @property
    def _dtype(self) -> Any:
        """Data type of log-odds."""
        space = self.namespace
        return space.xp.float32 if self.dtype == "float32" else space.float64

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of floats that a row, and a pair, need in prediction, without supports."""
        of_row = int(np.prod(self._tables["columns"].shape))
        return of_row, ARRAYS * int(self.values.shape[1]) + 2 * of_row

    @lazy
    def _tables(self) -> dict[str, Array]:
        """Arrays that are needed for each block of pairs.

        "columns" and "weights" are those of :func:`subspace_tables`; weights are the result of
        `_weights`.
        """
        design, space = self.design, self.namespace
        statistics, numeric = design.feature_statistics, design.numeric
        masks = design.subspace_masks
        n_values = np.diff(statistics.offsets)
        feature = np.repeat(np.arange(len(n_values)), n_values)
        columns, weights = subspace_tables(masks[np.concatenate([numeric, numeric, feature])])
        tables = {
            "numeric": numeric,
            "centre": design.centre,
            "unit": design.unit,
            "masks": masks[numeric],
            "feature": feature,
            "value": statistics.values,
            "n_values": n_values[feature].astype(np.float64),
            "columns": columns,
            "weights": weights,
        }
        return {name: space.asarray(table) for name, table in tables.items()}

    def supports(self, X: Array, blocks: Iterable[slice]) -> Iterator[Array]:
        """Yield the supports for the first labels of blocks of pairs, (n, pairs of the block)."""
        space = self.namespace
        xp, rows = space.xp, self._rows(X)
        size = 4 if self.dtype == "float32" else 8
        size *= SUBSPACE_ARRAYS * rows.shape[0] * rows.shape[1]
        right = xp.permute_dims(rows, (1, 2, 0))
        for labels in blocks:
            first, second = pairs_between(labels, len(self.constant))
            weights = self._log_odds_weights(labels, slice(labels.start, len(self.constant)))
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
        log_odds = SUBSPACE_ARRAYS * self._tables["columns"].shape[0] * n_labels
        row_size, pair_size = self.sizes
        at_once = max(1, space.max_bytes // (8 * (log_odds + 2 * row_size)))
        step = max(1, space.max_bytes // (8 * pair_size * n_labels))
        found, order = [], []
        for labels in batches(n_labels, step):
            weights = self._log_odds_weights(labels, slice(0, n_labels))
            for part in _parts(label_rows, labels, at_once):
                own = xp.take(weights, space.asarray(part.numbers), axis=0)
                fixed = space.asarray(fold(self.constant[labels][part.numbers]))[..., None]
                rows = self._rows(xp.take(X, space.asarray(part.rows.ravel()), axis=0))
                rows = xp.reshape(rows, (*part.rows.shape, *rows.shape[1:]))
                against = xp.permute_dims(own, (2, 0, 1, 3)) @ xp.permute_dims(rows, (2, 0, 3, 1))
                folded = xp.where(fixed == fixed, fixed, _folded_mean_logistic(against, space))
                folded = xp.reshape(xp.permute_dims(folded, (0, 2, 1)), (-1, n_labels))
                kept = np.flatnonzero(part.is_row)
                found.append(decide(xp.take(folded, space.asarray(kept), axis=0), reference, xp))
                order.append(part.entries.ravel()[kept])
        place = space.asarray(np.argsort(np.concatenate(order)))
        return xp.take(xp.concat(found, axis=0), place, axis=0)

    def _columns(self, X: Array, dtype: Any) -> Array:
        """Return rows as values of all columns, (n, n_columns)."""
        space = self.namespace
        at, xp = self._tables, space.xp
        X = xp.astype(X, space.float64)
        limit = MAX_DISTANCE if dtype == xp.float64 else MAX_SINGLE_DISTANCE
        u = (xp.take(X, at["numeric"], axis=1) - at["centre"]) * at["unit"]
        u = xp.clip(u, min=-limit, max=limit)
        shown = xp.astype(xp.take(X, at["feature"], axis=1) == at["value"], X.dtype)
        ones = xp.ones((X.shape[0], 1), dtype=X.dtype, device=space.device)
        return xp.astype(xp.concat([u, u * u, shown, ones], axis=1), dtype)

    def _rows(self, X: Array) -> Array:
        """Return rows as columns of each subspace, (n, n_subspaces, width)."""
        space = self.namespace
        return space.take(self._columns(X, self._dtype), self._tables["columns"], axis=1)

    def _weights(self, sums: Array) -> Array:
        """Return the weights of classes for the columns, from sums over their rows.

        The weights of columns are followed by the constants of subspaces and a zero.
        """
        at, xp, n = self._tables, self.namespace.xp, len(self.design.numeric)
        mass = sums[..., -1:]
        divisor = xp.where(mass > 0, mass, xp.ones_like(mass))
        mean = sums[..., :n] / divisor
        square = mean * mean
        # The floor is the unit, so the variance is at least 1, far above rounding.
        variance = xp.clip(sums[..., n : 2 * n] / divisor - square, min=1.0)
        inverse = 1 / variance
        square *= inverse
        square += xp.log(variance)
        constants = (square @ at["masks"]) * -0.5 + xp.log(mass + 1)
        mean *= inverse
        inverse *= -0.5
        frequencies = xp.log(sums[..., 2 * n : -1] + 1) - xp.log(mass + at["n_values"])
        blocks = [mean, inverse, frequencies, constants, xp.zeros_like(mass)]
        return xp.concat(blocks, axis=-1)

    def _log_odds_weights(self, labels: slice, others: slice) -> Array:
        """Return weights of log-odds against labels in their pairs with others.

        The shape is (n_labels, n_others, n_subspaces, width).
        """
        space = self.namespace
        xp = space.xp
        against = xp.permute_dims(self._class_sums(others, labels, space), (1, 0, 2))
        weights = self._weights(against)
        weights -= self._weights(self._class_sums(labels, others, space))
        return space.take(xp.astype(weights, self._dtype), self._tables["weights"], axis=2)

    def _class_sums(self, labels: slice, others: slice, space: Namespace) -> Array:
        """Sum the rows of labels without each other label, (n_labels, n_others, n_columns)."""
        lacks_other = space.asarray(1.0 - self.Y[:, others])

        def cells(part: _Part) -> Array:
            return space.take(lacks_other, space.asarray(part.rows))

        n_cells = others.stop - others.start
        return _sum_products(cells, n_cells, self.values, self.label_rows, labels, space)


class _Part(NamedTuple):
    """Some rows of some labels, padded to the same number: arrays (n_labels, n)."""

    numbers: IntArray  # (n_labels,), of the labels
    entries: IntArray  # of the rows of all labels
    rows: IntArray
    is_row: BoolArray  # false for padding


def _parts(label_rows: LabelRows, labels: slice, max_rows: int) -> Iterator[_Part]:
    """Cut the rows of labels into parts of about `max_rows` rows at the most.

    A part has as many rows of each label as little padding allows; the next part has the labels
    with more rows. Numbers of labels count from the first of the slice, those with most rows first.
    """
    starts, counts = label_rows.indptr[labels], np.diff(label_rows.indptr)[labels]
    order = np.argsort(-counts, kind="stable")
    start = 0
    while len(chosen := order[counts[order] > start]):
        left = counts[chosen[::-1]] - start
        n_rows = np.cumsum(left) + left * np.arange(len(left))[::-1]
        padding = len(left) * left - n_rows
        little = np.flatnonzero(padding <= np.maximum(PADDING * n_rows, FREE_PADDING))
        size = int(min(left[little[-1]], max(1, max_rows // len(chosen))))
        place = start + np.arange(size)
        is_row = place < counts[chosen, np.newaxis]
        entries = np.where(is_row, starts[chosen, np.newaxis] + place, 0)
        yield _Part(chosen, entries, label_rows.rows[entries], is_row)
        start += size


def _sum_products(
    cells: Callable[[_Part], Array],
    n_cells: int,
    values: Array,
    label_rows: LabelRows,
    labels: slice,
    space: Namespace,
) -> Array:
    """Sum over the rows of labels the products of their cells and values, (n_labels, m, c).

    `cells` returns an array (g, n, m) for a part of the rows.
    """
    xp, n_labels = space.xp, labels.stop - labels.start
    shape = (n_labels, n_cells, values.shape[1])
    total = xp.zeros(shape, dtype=values.dtype, device=space.device)
    for part in _parts(label_rows, labels, max(1, space.max_bytes // (16 * max(shape[1:])))):
        is_row = xp.astype(space.asarray(part.is_row), values.dtype)[..., None]
        left = xp.permute_dims(cells(part) * is_row, (0, 2, 1))
        total[: len(part.numbers), ...] += left @ space.take(values, space.asarray(part.rows))
    order = np.argsort(-np.diff(label_rows.indptr)[labels], kind="stable")  # as in each part
    return xp.take(total, space.asarray(np.argsort(order)), axis=0)


def _mean_logistic(against: Array, xp: Any) -> Array:
    """Return the mean over the first axis of the probabilities with these log-odds against."""
    with np.errstate(over="ignore"):
        odds = xp.exp(against)
    del against  # frees the memory of the device if the caller needs it no longer
    odds += 1
    return xp.mean(1 / odds, axis=0)


def _folded_mean_logistic(against: Array, space: Namespace) -> Array:
    """Return the same, folded: see `naive_bayes.likelihood.folded_mean_logistic`."""
    xp = space.xp
    side = 1 - 2 * xp.astype(against[0, ...] < 0, against.dtype)
    against *= side
    smaller = xp.astype(xp.clip(_mean_logistic(against, xp), min=SMALLEST), space.float64)
    return side * fold(smaller, xp)
