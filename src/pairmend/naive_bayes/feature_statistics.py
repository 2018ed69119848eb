"""Feature statistics: types, value counts and variance floors, independent of the classes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import Cells, densify
from pairmend._utils.computing import batches, in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.frames import FrameEncoder

SORTED_AT_ONCE = 2**16
"""Values sorted at once, few enough to stay in the processor's cache."""


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
        return cls._of_dense(X)

    @classmethod
    def union(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> "DistinctValues":
        """Return the union over parts of the rows, each given as counts and a list of values."""
        counts, values = zip(*parts, strict=True)
        n_features = len(counts[0])
        feature = np.concatenate([np.repeat(np.arange(n_features), count) for count in counts])
        return cls._of_cells(feature, np.concatenate(values), n_features)

    @classmethod
    def _of_dense(cls, X: FloatArray) -> "DistinctValues":
        n_rows, n_features = X.shape
        columns = np.empty((n_features, n_rows))
        new = np.ones(columns.shape, dtype=bool)
        last = np.full(n_features, n_rows - 1)

        def sort(features: slice) -> None:
            part = columns[features]
            part[:] = X[:, features].T
            part.sort(axis=1)
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
