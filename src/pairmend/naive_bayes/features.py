"""Features: their statistics, which do not depend on the classes, and the design matrix.

The log-odds of naive Bayes are linear in the columns of the design matrix.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import densify
from pairmend._utils.computing import lazy
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.frames import FrameEncoder

MAX_DISTANCE = 1e100
"""Distances, in floors, are clipped to this: their squares are still finite."""


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
        padded = np.append(self.values, np.nan)
        low, end = self.offsets[features], self.offsets[features + 1]
        high = end
        # A binary search in each cell's own part of the list, all cells at once.
        for _ in range(int(np.max(end - low, initial=0)).bit_length()):
            middle = (low + high) // 2
            searching = low < high
            right = searching & (padded[middle] < values)
            low = np.where(right, middle + 1, low)
            high = np.where(searching & ~right, middle, high)
        found = (low < end) & (padded[low] == values)
        return np.where(found, low, len(self.values))


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
        if not sparse.issparse(X):
            columns = np.array(X.T, dtype=np.float64, order="C")
            columns.sort(axis=1)  # NaN last
            new = ~np.isnan(columns)
            last = np.count_nonzero(new, axis=1) - 1
            low, high = np.nan_to_num([columns[:, 0], columns[np.arange(len(columns)), last]])
            new[:, 1:] &= columns[:, 1:] != columns[:, :-1]
            count = np.count_nonzero(new, axis=1)
            return cls(count, low, high, lambda features: columns[features][new[features]])
        cells = X.tocoo()
        n_rows, n_features = cells.shape
        with_zero = np.flatnonzero(np.bincount(cells.col, minlength=n_features) < n_rows)
        feature = np.concatenate([cells.col, with_zero])
        return cls._of_cells(feature, np.append(cells.data, np.zeros(len(with_zero))), n_features)

    @classmethod
    def union(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> "DistinctValues":
        """Return the union over parts of the rows, each given as counts and a list of values."""
        counts, values = zip(*parts, strict=True)
        n_features = len(counts[0])
        feature = np.concatenate([np.repeat(np.arange(n_features), count) for count in counts])
        return cls._of_cells(feature, np.concatenate(values), n_features)

    @classmethod
    def _of_cells(cls, feature: IntArray, value: FloatArray, n_features: int) -> "DistinctValues":
        order = np.lexsort((value, feature))
        feature, value = feature[order], value[order]
        new = ~np.isnan(value)
        new[1:] &= (feature[1:] != feature[:-1]) | (value[1:] != value[:-1])
        feature, value = feature[new], value[new]
        count = np.bincount(feature, minlength=n_features)
        end, present = np.cumsum(count), count > 0
        low, high = np.zeros((2, n_features))
        low[present], high[present] = value[(end - count)[present]], value[end[present] - 1]
        return cls(count, low, high, lambda features: value[features[feature]])


@dataclass(frozen=True)
class DesignMatrix:
    """Rows as values of a design's columns."""

    # values (n, ...) of the columns: dense blocks, contiguous for speed, or one CSR
    blocks: tuple[Matrix, ...]
    absent: Any  # CSR (n, d) of ones where a value is missing or unknown; None if nowhere


@dataclass(frozen=True)
class Design:
    """Columns such that the log-likelihood of a row is a constant plus a weighted sum.

    A numeric feature has two columns, its value u and u^2, relative to its centre and in units of
    its floor. A categorical one has an indicator for each value but one, its base. The constant is
    the log-likelihood of the row that is zero in all columns.
    """

    feature_statistics: FeatureStatistics  # kinds, values and floors of the features
    centre: FloatArray  # (n_numeric,), where u is 0; zeros if sparse rows are to stay sparse

    @classmethod
    def from_rows(cls, feature_statistics: FeatureStatistics, X: Matrix) -> "Design":
        """Choose the centres: the means of dense rows, zero for sparse ones."""
        X = densify(X)
        numeric = ~feature_statistics.categorical
        if sparse.issparse(X):
            return cls(feature_statistics, np.zeros(np.count_nonzero(numeric)))
        values = X if numeric.all() else X[:, numeric]
        centre = values.mean(axis=0)
        if np.isnan(centre).any():
            present = ~np.isnan(values)
            centre = np.where(present, values, 0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        return cls(feature_statistics, centre)

    @lazy
    def numeric(self) -> IntArray:
        """Numbers of the numeric features."""
        return np.flatnonzero(~self.feature_statistics.categorical)

    @lazy
    def base(self) -> IntArray:
        """Position of each categorical feature's base value among all values, else -1.

        The base is 0 where the feature has that value, so that implicit zeros of a sparse matrix
        need no cell in the design matrix.
        """
        feature_statistics = self.feature_statistics
        low, end = feature_statistics.offsets[:-1], feature_statistics.offsets[1:]
        features = np.arange(len(feature_statistics.categorical))
        zero = feature_statistics.positions(features, np.zeros(len(features)))
        return np.where(low == end, -1, np.where((zero >= low) & (zero < end), zero, low))

    @lazy
    def value_column(self) -> IntArray:
        """Column of each value of the categorical features; -1 for base values."""
        is_base = np.zeros(len(self.feature_statistics.values), dtype=bool)
        is_base[self.base[self.base >= 0]] = True
        columns = 2 * len(self.numeric) + np.cumsum(~is_base) - 1
        return np.where(is_base, -1, columns)

    @lazy
    def column_feature(self) -> IntArray:
        """Feature of each column."""
        offsets = self.feature_statistics.offsets
        of_value = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return np.concatenate([self.numeric, self.numeric, of_value[self.value_column >= 0]])

    @lazy
    def subspace_tables(self) -> tuple[IntArray, IntArray]:
        """Columns of each subspace in a row of values, and the positions of their weights."""
        return subspace_tables(self.subspace_masks[self.column_feature])

    @lazy
    def subspace_masks(self) -> FloatArray:
        """Ones where a feature is in a subspace, (d, n_subspaces)."""
        subspaces = self.feature_statistics.subspaces
        masks = np.zeros((len(self.feature_statistics.categorical), len(subspaces)))
        np.put_along_axis(masks, subspaces.T, 1.0, axis=0)
        return masks

    def expand(self, X: Matrix) -> DesignMatrix:
        """Return the design matrix of rows; sparse if X is sparse and all centres are zero."""
        if sparse.issparse(X) and self.centre.any():
            X = X.toarray()
        X = densify(X)
        return self._expand_sparse(X) if sparse.issparse(X) else self._expand_dense(X)

    @lazy
    def unit(self) -> FloatArray:
        """Factors of the values of numeric features: one over their floors."""
        return 1 / self.feature_statistics.floor[self.numeric]

    def _scale(
        self, values: FloatArray, numbers: IntArray | slice
    ) -> tuple[FloatArray, FloatArray]:
        """Return scaled values and their squares."""
        u = values - self.centre[numbers]
        with np.errstate(over="ignore"):
            u *= self.unit[numbers]
        np.clip(u, -MAX_DISTANCE, MAX_DISTANCE, out=u)
        return u, u * u

    def _expand_dense(self, X: FloatArray) -> DesignMatrix:
        n_rows, n_numeric = len(X), len(self.numeric)
        shown = np.zeros((n_rows, len(self.column_feature) - 2 * n_numeric))
        values = X if n_numeric == X.shape[1] else X[:, self.numeric]
        u, square = self._scale(values, slice(None))
        # Much faster than `nonzero` in two dimensions.
        absent_row, absent = np.divmod(np.flatnonzero(np.isnan(u)), max(1, n_numeric))
        u[absent_row, absent] = square[absent_row, absent] = 0
        absent_feature = self.numeric[absent]

        counted = np.flatnonzero(self.feature_statistics.categorical)
        if len(counted):
            place = self.feature_statistics.positions(counted, X[:, counted])
            columns = np.append(self.value_column, -2)[place]
            row, which = np.nonzero(columns >= 0)
            shown[row, columns[row, which] - 2 * n_numeric] = 1
            unknown_row, unknown = np.nonzero(columns == -2)
            absent_row = np.concatenate([absent_row, unknown_row])
            absent_feature = np.concatenate([absent_feature, counted[unknown]])
        blocks = (u, square, shown) if shown.size else (u, square)
        return DesignMatrix(blocks, _indicator(absent_row, absent_feature, X.shape))

    def _expand_sparse(self, X: Any) -> DesignMatrix:
        feature_statistics, n_numeric = self.feature_statistics, len(self.numeric)
        cells = X.tocoo()
        # Number of a feature among the numeric ones.
        number = np.cumsum(~feature_statistics.categorical) - 1
        counted = feature_statistics.categorical[cells.col]
        missing = np.isnan(cells.data)

        kept = ~counted & ~missing
        row, column = cells.row[kept], number[cells.col[kept]]
        u, square = self._scale(cells.data[kept], column)
        place = feature_statistics.positions(cells.col[counted], cells.data[counted])
        value_column = np.append(self.value_column, -2)[place]
        shown = value_column >= 0
        value_row = cells.row[counted]
        matrix = _csr(
            np.concatenate([u, square, np.ones(np.count_nonzero(shown))]),
            np.concatenate([row, row, value_row[shown]]),
            np.concatenate([column, column + n_numeric, value_column[shown]]),
            (X.shape[0], len(self.column_feature)),
        )
        missing &= ~counted
        unknown = value_column == -2
        absent_row = [cells.row[missing], value_row[unknown]]
        absent_feature = [cells.col[missing], cells.col[counted][unknown]]
        # Implicit zeros of a feature that was never zero in training are unknown values.
        never = np.flatnonzero(feature_statistics.categorical & (self.base >= 0))
        never = never[feature_statistics.values[self.base[never]] != 0]
        if len(never):
            listed = np.zeros((X.shape[0], len(never)), dtype=bool)
            here = np.isin(cells.col, never)
            listed[cells.row[here], np.searchsorted(never, cells.col[here])] = True
            left_row, left = np.nonzero(~listed)
            absent_row.append(left_row)
            absent_feature.append(never[left])
        absent = _indicator(np.concatenate(absent_row), np.concatenate(absent_feature), X.shape)
        return DesignMatrix((matrix,), absent)


def subspace_tables(is_used: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the columns of each subspace, and the positions of their weights.

    `is_used` (n_columns, n_subspaces) is above 0 for the columns of a subspace. In a row of values
    a constant 1 follows them; it ends the columns of each subspace, and pads them to one length.
    After the weights of columns follow the constants of the subspaces, and a zero for padding.
    """
    n_columns, n_subspaces = is_used.shape
    count = np.count_nonzero(is_used, axis=0)
    columns = np.full((n_subspaces, int(np.max(count, initial=0)) + 1), n_columns)
    columns[np.arange(columns.shape[1]) < count[:, np.newaxis]] = np.nonzero(is_used.T)[1]
    weights = np.where(columns < n_columns, columns, n_columns + n_subspaces)
    weights[:, -1] = n_columns + np.arange(n_subspaces)
    return columns, weights


def _csr(values: FloatArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    return sparse.coo_array((values, (row, column)), shape=shape).tocsr()


def _indicator(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    return _csr(np.ones(len(row)), row, column, shape) if len(row) else None
