"""What is known of features before any class is looked at."""

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
"""Values that are sorted at once, few enough to stay in the processor's cache."""
LOOKED_AT_ONCE = 32
"""Features that compiled code is given at once."""
DECIMAL = 1e6
"""Values are often whole numbers of millionths, as files have few digits."""


WITHIN = 8
"""Columns that are looked at together: a line of the processor's cache."""
EMPTY = np.int64(-1)
"""Marks a free place of a table; the bits of no number."""
MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Spreads bits over the upper end of a product: 2^64 over the golden ratio."""


@compiled()
def _read_columns(X: FloatArray, first: int, columns: FloatArray, bounds: FloatArray) -> int:
    """Copy columns out; find the smallest and the largest values; return how many are NaN."""
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
    """Count distinct keys in a table with open places; nothing is as dear as a wrong guess.

    Whether a key is new cannot be foreseen, so that is no branch: it is written either way.
    Whether its first place holds another one, which is rare, is.
    """
    table[:] = EMPTY
    n_found = 0
    for i in range(len(keys)):
        key = keys[i]
        mixed = np.uint64(key)
        mixed ^= mixed >> np.uint64(32)
        place = (mixed * MIXING) >> np.uint64(shift)
        there = table[place]
        if min(np.uint64(there ^ key), np.uint64(there ^ EMPTY)) != 0:
            while there != EMPTY and there != key:
                place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
                there = table[place]
        table[place] = key
        n_found += there == EMPTY
    return n_found


@compiled()
def count_distinct(
    X: FloatArray, start: int, stop: int, count: IntArray, low: FloatArray, high: FloatArray
) -> None:
    """Count the distinct known values of columns, and find the smallest and the largest.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows; NaN is no value.
    start, stop : int
        Which columns.
    count, low, high : ndarray of shape (d,)
        Filled in there; 0 where a column has no value.
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
            column, n_known = columns[c], n_rows
            if n_missing:  # known values move to the front
                n_known = 0
                for i in range(n_rows):
                    if column[i] == column[i]:
                        column[n_known] = column[i]
                        n_known += 1
            count[first + c] = _count_keys(bits[c, :n_known], table, shift)
            low[first + c] = bounds[0, c] if n_known else 0.0
            high[first + c] = bounds[1, c] if n_known else 0.0


@dataclass(frozen=True)
class FeatureStatistics:
    """What a naive Bayes ensemble finds out about its features once.

    Attributes
    ----------
    categorical : ndarray of bool, shape (d,)
        Features whose values are counted; the others are numeric.
    values : ndarray
        Values of the categorical features, feature after feature, ascending in each.
    offsets : ndarray of shape (d + 1,)
        ``values[offsets[f]:offsets[f + 1]]`` are those of feature ``f``.
    floor : ndarray of shape (d,)
        Smallest standard deviation of a numeric feature: one sixth of the mean gap between
        neighbouring distinct values.
    subspaces : ndarray of shape (n_subspaces, size)
        Features of each subspace.
    encoder : FrameEncoder or None
        How frames are read.
    unit : float or None
        The sample weight that counts as one row; None if rows had no weights.
    """

    categorical: BoolArray
    values: FloatArray
    offsets: IntArray
    floor: FloatArray
    subspaces: IntArray
    encoder: FrameEncoder | None
    unit: float | None = None

    def positions(self, features: IntArray, values: FloatArray) -> IntArray:
        """Find values of categorical features in the list of all of them.

        Parameters
        ----------
        features : ndarray of shape (n_cells,)
            Feature of each cell.
        values : ndarray of shape (..., n_cells)
            Values to look up.

        Returns
        -------
        ndarray of shape (..., n_cells)
            Positions in ``values``; ``len(values)`` for a missing or unknown value.
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
    found: "Distinct",
    *,
    declared: BoolArray,
    count_two_valued: bool,
    subspaces: IntArray,
    encoder: FrameEncoder | None,
) -> FeatureStatistics:
    """Find out the kind, the values and the floor of each feature.

    Parameters
    ----------
    found : Distinct
        The values of the features.
    declared : ndarray of bool, shape (d,)
        Features known to be categorical.
    count_two_valued : bool
        Whether features with at most two distinct values are categorical, too.
    subspaces : ndarray of shape (n_subspaces, size)
        Features of each subspace.
    encoder : FrameEncoder or None
        How rows were read from a frame, if they were; its categories count as values even where
        they do not occur.

    Returns
    -------
    FeatureStatistics
    """
    gap = (found.high - found.low) / np.maximum(found.count - 1, 1)
    # A constant feature says nothing whatever its floor is, so any number will do.
    floor = np.where(found.count > 1, np.maximum(gap / 6, np.finfo(float).tiny), 1.0)

    categorical = declared | (count_two_valued & (found.count <= 2))
    values, n_values = found.listed(categorical), np.where(categorical, found.count, 0)
    if encoder is not None and (encoder.n_categories_ > 0).any():
        lists = np.split(values, np.cumsum(n_values)[:-1])
        for f, n_categories in enumerate(encoder.n_categories_):
            if n_categories > 0 and categorical[f]:
                # The code after the last is that of rare values, if fit has put any together.
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
class Distinct:
    """The distinct known values of each feature.

    Attributes
    ----------
    count, low, high : ndarray of shape (d,)
        How many there are, the smallest and the largest; 0 where there is none.
    listed : callable
        Gives the values of features, told by bools, feature after feature, ascending in each.
    """

    count: IntArray
    low: FloatArray
    high: FloatArray
    listed: Callable[[BoolArray], FloatArray]

    @classmethod
    def of(cls, X: Matrix) -> "Distinct":
        """Find them in rows."""
        X = densify(X)
        if sparse.issparse(X):
            return cls._of_sparse(X)
        return cls._compiled(X) if use_compiled(X.size) else cls._of_dense(X)

    @classmethod
    def united(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> "Distinct":
        """Unite those of parts of the rows: counts, and all values in a list."""
        counts, values = zip(*parts, strict=True)
        n_features = len(counts[0])
        feature = np.concatenate([np.repeat(np.arange(n_features), count) for count in counts])
        return cls._of_known(feature, np.concatenate(values), n_features)

    @classmethod
    def _compiled(cls, X: FloatArray) -> "Distinct":
        X = np.ascontiguousarray(X)
        count = np.empty(X.shape[1], dtype=np.intp)
        low, high = np.empty((2, X.shape[1]))

        def look_at(features: slice) -> None:
            count_distinct(X, features.start, features.stop, count, low, high)

        n_threads = thread_count(nanoseconds=5 * X.size)
        in_threads(look_at, list(batches(X.shape[1], LOOKED_AT_ONCE)), n_threads)

        def listed(features: BoolArray) -> FloatArray:
            chosen = cls._of_dense(X[:, features])
            return chosen.listed(np.ones(len(chosen.count), dtype=bool))

        return cls(count, low, high, listed)

    @classmethod
    def _of_dense(cls, X: FloatArray) -> "Distinct":
        n_rows, n_features = X.shape
        columns = np.empty((n_features, n_rows))
        new = np.ones(columns.shape, dtype=bool)
        last = np.full(n_features, n_rows - 1)

        def sort(features: slice) -> None:
            ours = columns[features]
            ours[:] = X[:, features].T
            _sort(ours)
            np.not_equal(ours[:, 1:], ours[:, :-1], out=new[features, 1:])
            if np.isnan(ours[:, -1]).any():
                known = ~np.isnan(ours)
                new[features] &= known
                last[features] = np.maximum(known.sum(axis=1), 1) - 1

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
    def _of_sparse(cls, X: Any) -> "Distinct":
        cells = Cells.of(X)
        n_rows, n_features = cells.shape
        feature, value = cells.column, cells.value
        with_zero = np.flatnonzero(np.bincount(feature, minlength=n_features) < n_rows)
        feature = np.concatenate([feature, with_zero])
        value = np.concatenate([value, np.zeros(len(with_zero))])
        known = ~np.isnan(value)
        return cls._of_known(feature[known], value[known], n_features)

    @classmethod
    def _of_known(cls, feature: IntArray, value: FloatArray, n_features: int) -> "Distinct":
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

    Numbers of half the length sort in half the time, so values that are whole numbers of
    millionths are sorted as these.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values[:, :1] * DECIMAL)
        if np.array_equal(whole / DECIMAL, values[:, :1]):  # else look no further
            whole = values * DECIMAL
            np.rint(whole, out=whole)
            short = whole.astype(np.int32)
            # Equal where the number of millionths is short and a value stands for no other.
            if np.array_equal(short, whole) and np.array_equal(whole / DECIMAL, values):
                short.sort(axis=1)
                np.divide(short, DECIMAL, out=values)
                return
    values.sort(axis=1)
