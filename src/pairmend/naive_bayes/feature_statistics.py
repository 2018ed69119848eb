"""Feature statistics: types, value counts and variance floors, independent of the classes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.cells import Cells, densify
from pairmend._utils.chunking import batches
from pairmend._utils.compilation import compiled, use_compiled
from pairmend._utils.threads import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.frames import FrameEncoder

SORTED_AT_ONCE = 2**16
"""Values sorted at once, few enough to stay in the processor's cache."""
COUNTED_AT_ONCE = 32
"""Features counted in one compiled call."""
DECIMAL = 1e6
"""Values in files often have at most six decimals: whole numbers of millionths."""


WITHIN = 8
"""Columns read together: one line of the processor's cache."""
EMPTY = np.int64(-1)
"""Marks a free slot of a hash table; these bits are a NaN."""
MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash, 2^64 over the golden ratio: spreads bits to the upper end."""


@compiled()
def _read_columns(X: FloatArray, first: int, columns: FloatArray, bounds: FloatArray) -> int:
    """Copy columns; find the smallest and the largest values; return how many are NaN."""
    bounds[0], bounds[1] = np.inf, -np.inf
    low, high = bounds
    n_missing = 0
    for i in range(X.shape[0]):
        row = X[i, first : first + len(low)]
        for c in range(len(low)):
            value = row[c] + 0.0  # -0.0 is 0.0
            columns[c, i] = value
            low[c] = value if value < low[c] else low[c]
            high[c] = value if value > high[c] else high[c]
            n_missing += value != value
    return n_missing


@compiled()
def _count_keys(keys: IntArray, table: IntArray, shift: int) -> int:
    """Count distinct keys by a hash table with open addressing, avoiding mispredicted branches.

    Whether a key is new is unpredictable, so there is no branch on it: the key is written either
    way. The branch on a collision is rarely taken.
    """
    table[:] = EMPTY
    n_found = 0
    for i in range(len(keys)):
        key = keys[i]
        mixed = np.uint64(key)
        mixed ^= mixed >> np.uint64(32)
        place = (mixed * MIXING) >> np.uint64(shift)
        stored = table[place]
        if min(np.uint64(stored ^ key), np.uint64(stored ^ EMPTY)) != 0:
            while stored != EMPTY and stored != key:
                place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
                stored = table[place]
        table[place] = key
        n_found += stored == EMPTY
    return n_found


@compiled()
def count_distinct(
    X: FloatArray, start: int, stop: int, count: IntArray, low: FloatArray, high: FloatArray
) -> None:
    """Count the distinct values of columns `start` to `stop`; find the smallest and the largest.

    NaN is no value. `count`, `low` and `high` are filled in; 0 where a column has no value.
    """
    n_rows = X.shape[0]
    size, shift = 16, 60
    while size < 4 * n_rows:
        size, shift = 2 * size, shift - 1
    table = np.empty(size, dtype=np.int64)
    columns, bounds = np.empty((WITHIN, n_rows)), np.empty((2, WITHIN))
    bits = columns.view(np.int64)
    for first in range(start, stop, WITHIN):
        width = min(WITHIN, stop - first)
        n_missing = _read_columns(X, first, columns, bounds[:, :width])
        for c in range(width):
            column, n_present = columns[c], n_rows
            if n_missing:  # move non-missing values to the front
                n_present = 0
                for i in range(n_rows):
                    if column[i] == column[i]:
                        column[n_present] = column[i]
                        n_present += 1
            count[first + c] = _count_keys(bits[c, :n_present], table, shift)
            low[first + c] = bounds[0, c] if n_present else 0.0
            high[first + c] = bounds[1, c] if n_present else 0.0


@dataclass(frozen=True)
class FeatureStatistics:
    """Statistics of the features that all classifiers of an ensemble share."""

    categorical: BoolArray  # bool (d,); all other features are numeric
    values: FloatArray  # of the categorical features, feature after feature, ascending in each
    offsets: IntArray  # (d + 1,), values[offsets[f]:offsets[f + 1]] belong to feature f
    floor: FloatArray  # (d,), smallest standard deviation: a sixth of the mean gap between values
    subspaces: IntArray  # (n_subspaces, size), features of each subspace
    encoder: FrameEncoder | None  # how frames are read
    unit: float | None = None  # sample weight that counts as one row; None without weights

    def positions(self, features: IntArray, values: FloatArray) -> IntArray:
        """Return positions of the values of categorical features in the list of all values.

        The last axis of `values` belongs to `features`. A missing or unknown value has the position
        ``len(values)`` of the list.
        """
        low, end = self.offsets[features], self.offsets[features + 1]
        high = end
        # A binary search in each cell's own part of the list, all cells at once.
        for _ in range(int(np.max(end - low, initial=0)).bit_length()):
            middle = (low + high) // 2
            searching = low < high
            right = searching & (self._padded[middle] < values)
            low = np.where(right, middle + 1, low)
            high = np.where(searching & ~right, middle, high)
        found = (low < end) & (self._padded[low] == values)
        return np.where(found, low, len(self.values))

    @property
    def _padded(self) -> FloatArray:
        return np.append(self.values, np.nan)


def compute_feature_statistics(
    found: "DistinctValues",
    *,
    declared: BoolArray,
    count_two_valued: bool,
    subspaces: IntArray,
    encoder: FrameEncoder | None,
) -> FeatureStatistics:
    """Determine the kind, the values and the floor of each feature.

    `declared` features are categorical, and so are those with at most two distinct values if
    `count_two_valued`. An encoder's categories are values even where they do not occur.
    """
    gap = (found.high - found.low) / np.maximum(found.count - 1, 1)
    # The floor of a constant feature has no effect on predictions.
    floor = np.where(found.count > 1, np.maximum(gap / 6, np.finfo(float).tiny), 1.0)

    categorical = declared | (count_two_valued & (found.count <= 2))
    values, n_values = found.listed(categorical), np.where(categorical, found.count, 0)
    if encoder is not None and (encoder.n_categories_ > 0).any():
        lists = np.split(values, np.cumsum(n_values)[:-1])
        for f, n_categories in enumerate(encoder.n_categories_):
            if n_categories > 0 and categorical[f]:
                # The code after the last is that of grouped rare values, if there are any.
                has_others = found.high[f] == n_categories and found.count[f] > 0
                lists[f] = np.arange(n_categories + has_others, dtype=float)
        values, n_values = np.concatenate(lists), np.array([len(values) for values in lists])
    return FeatureStatistics(
        categorical=categorical,
        values=values,
        offsets=np.concatenate([[0], np.cumsum(n_values)]),
        floor=floor,
        subspaces=subspaces,
        encoder=encoder,
    )


@dataclass(frozen=True)
class DistinctValues:
    """The distinct non-missing values of each feature."""

    count: IntArray  # (d,)
    low: FloatArray  # (d,), smallest value; 0 if there is none
    high: FloatArray  # (d,), largest value; 0 if there is none
    # the values of features given by a mask, feature after feature, ascending
    listed: Callable[[BoolArray], FloatArray]

    @classmethod
    def of(cls, X: Matrix) -> "DistinctValues":
        """Find the distinct values in rows."""
        X = densify(X)
        if sparse.issparse(X):
            return cls._of_sparse(X)
        return cls._compiled(X) if use_compiled(X.size) else cls._of_dense(X)

    @classmethod
    def union(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> "DistinctValues":
        """Return the union over parts of the rows, each given as counts and a list of values."""
        counts, values = zip(*parts, strict=True)
        n_features = len(counts[0])
        feature = np.concatenate([np.repeat(np.arange(n_features), count) for count in counts])
        return cls._of_cells(feature, np.concatenate(values), n_features)

    @classmethod
    def _compiled(cls, X: FloatArray) -> "DistinctValues":
        X = np.ascontiguousarray(X)
        count = np.empty(X.shape[1], dtype=np.intp)
        low, high = np.empty((2, X.shape[1]))

        def count_values(features: slice) -> None:
            count_distinct(X, features.start, features.stop, count, low, high)

        n_threads = thread_count(nanoseconds=5 * X.size)
        in_threads(count_values, list(batches(X.shape[1], COUNTED_AT_ONCE)), n_threads)

        def listed(features: BoolArray) -> FloatArray:
            chosen = cls._of_dense(X[:, features])
            return chosen.listed(np.ones(len(chosen.count), dtype=bool))

        return cls(count, low, high, listed)

    @classmethod
    def _of_dense(cls, X: FloatArray) -> "DistinctValues":
        n_rows, n_features = X.shape
        columns = np.empty((n_features, n_rows))
        new = np.ones(columns.shape, dtype=bool)
        last = np.full(n_features, n_rows - 1)

        def sort(features: slice) -> None:
            part = columns[features]
            part[:] = X[:, features].T
            _sort(part)
            np.not_equal(part[:, 1:], part[:, :-1], out=new[features, 1:])
            if np.isnan(part[:, -1]).any():
                present = ~np.isnan(part)
                new[features] &= present
                last[features] = np.maximum(present.sum(axis=1), 1) - 1

        parts = list(batches(n_features, max(1, SORTED_AT_ONCE // max(1, n_rows))))
        in_threads(sort, parts, thread_count(nanoseconds=10 * X.size))
        count = np.count_nonzero(new, axis=1)
        return cls(
            count,
            np.where(count > 0, columns[:, 0], 0),
            np.where(count > 0, columns[np.arange(n_features), last], 0),
            lambda features: columns[features][new[features]],
        )

    @classmethod
    def _of_sparse(cls, X: Any) -> "DistinctValues":
        cells = Cells.of(X)
        n_rows, n_features = cells.shape
        feature, value = cells.column, cells.value
        with_zero = np.flatnonzero(np.bincount(feature, minlength=n_features) < n_rows)
        feature = np.concatenate([feature, with_zero])
        value = np.concatenate([value, np.zeros(len(with_zero))])
        present = ~np.isnan(value)
        return cls._of_cells(feature[present], value[present], n_features)

    @classmethod
    def _of_cells(cls, feature: IntArray, value: FloatArray, n_features: int) -> "DistinctValues":
        order = np.lexsort((value, feature))
        feature, value = feature[order], value[order]
        new = np.ones(len(feature), dtype=bool)
        new[1:] = (feature[1:] != feature[:-1]) | (value[1:] != value[:-1])
        feature, value = feature[new], value[new]
        count = np.bincount(feature, minlength=n_features)
        end = np.cumsum(count)
        present = count > 0
        low, high = np.zeros(n_features), np.zeros(n_features)
        low[present], high[present] = value[(end - count)[present]], value[end[present] - 1]
        return cls(count, low, high, lambda features: value[features[feature]])


def _sort(values: FloatArray) -> None:
    """Sort each row in place, missing values last.

    Numbers of half the length sort in half the time, so values that are whole numbers of millionths
    are sorted as int32.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values[:, :1] * DECIMAL)
        if np.array_equal(whole / DECIMAL, values[:, :1]):  # a cheap test of the first column
            whole = values * DECIMAL
            np.rint(whole, out=whole)
            short = whole.astype(np.int32)
            # Equal where the number of millionths fits an int32 and is exact.
            if np.array_equal(short, whole) and np.array_equal(whole / DECIMAL, values):
                short.sort(axis=1)
                np.divide(short, DECIMAL, out=values)
                return
    values.sort(axis=1)
