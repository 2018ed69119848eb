"""What is known of features before any class is looked at."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._cells import Cells, densify
from pairmend._compiled import compiled_for
from pairmend._streaming import batches
from pairmend._threads import in_threads, thread_count
from pairmend._typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.frames import FrameEncoder

SORTED_AT_ONCE = 2**16
"""Values that are sorted at once, few enough to stay in the processor's cache."""
LOOKED_AT_ONCE = 32
"""Features that compiled code is given at once."""
DECIMAL = 1e6
"""Values are often whole numbers of millionths, as files have few digits."""


@dataclass(frozen=True)
class FeatureSurvey:
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


def survey_features(
    found: "Distinct",
    *,
    declared: BoolArray,
    count_two_valued: bool,
    subspaces: IntArray,
    encoder: FrameEncoder | None,
) -> FeatureSurvey:
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
    FeatureSurvey
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
    return FeatureSurvey(
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
        kernels = compiled_for(X.size)
        return cls._of_dense(X) if kernels is None else cls._compiled(X, kernels)

    @classmethod
    def united(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> "Distinct":
        """Unite those of parts of the rows: counts, and all values in a list."""
        counts, values = zip(*parts, strict=True)
        n_features = len(counts[0])
        feature = np.concatenate([np.repeat(np.arange(n_features), count) for count in counts])
        return cls._of_known(feature, np.concatenate(values), n_features)

    @classmethod
    def _compiled(cls, X: FloatArray, kernels: Any) -> "Distinct":
        X = np.ascontiguousarray(X)
        count = np.empty(X.shape[1], dtype=np.intp)
        low, high = np.empty((2, X.shape[1]))

        def look_at(features: slice) -> None:
            kernels.count_distinct(X, features.start, features.stop, count, low, high)

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
