"""Rows in the columns on which naive Bayes log-odds are linear."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.cells import Cells, densify
from pairmend._utils.lazy import lazy
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.naive_bayes.feature_statistics import FeatureStatistics

FAR = 1e100
"""Floors beyond which a value is as far as can be: its square is still a number."""


@dataclass(frozen=True)
class DesignMatrix:
    """Rows written in a basis.

    Attributes
    ----------
    blocks : tuple of ndarray or CSR, of shape (n, some columns) each
        Values of the basis' columns: dense ones of a kind in an array of their own, as numpy is
        slower on parts of one; or all in one CSR.
    absent : CSR of shape (n, d) or None
        Ones where a feature is left out for a row, because its value is missing or was not
        there in training; None if that is nowhere.
    """

    blocks: tuple[Matrix, ...]
    absent: Any


@dataclass(frozen=True)
class Design:
    """Columns such that the log-likelihood of a row is a constant plus a weighted sum.

    A numeric feature gives two columns, its value u and u^2, in units of its floor and seen
    from its centre. A categorical one gives an indicator for each value but one, its base. The
    constant is the log-likelihood of the row that is zero in all columns.

    Attributes
    ----------
    feature_statistics : FeatureStatistics
        Kinds, values and floors of the features.
    centre : ndarray of shape (n_numeric,)
        Where u is 0; zero for all features if sparse rows are to stay sparse.
    """

    feature_statistics: FeatureStatistics
    centre: FloatArray

    @classmethod
    def learn(cls, feature_statistics: FeatureStatistics, X: Matrix) -> "Design":
        """Choose the centres: the means of dense rows, zero for sparse ones."""
        X = densify(X)
        numeric = ~feature_statistics.categorical
        if sparse.issparse(X):
            return cls(feature_statistics, np.zeros(np.count_nonzero(numeric)))
        values = X if numeric.all() else X[:, numeric]
        centre = values.mean(axis=0)
        if np.isnan(centre).any():
            known = ~np.isnan(values)
            count = np.maximum(known.sum(axis=0), 1)
            centre = np.where(known, values, 0).sum(axis=0) / count
        return cls(feature_statistics, centre)

    @lazy
    def numeric(self) -> IntArray:
        """Numbers of the numeric features."""
        return np.flatnonzero(~self.feature_statistics.categorical)

    @lazy
    def base(self) -> IntArray:
        """Position of each categorical feature's base value among all values, else -1.

        Zero where the feature has that value, so that what a sparse matrix leaves out needs
        no cell here either.
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
        feature_statistics = self.feature_statistics
        of_value = np.repeat(
            np.arange(len(feature_statistics.categorical)), np.diff(feature_statistics.offsets)
        )
        return np.concatenate([self.numeric, self.numeric, of_value[self.value_column >= 0]])

    @lazy
    def subspace_table(self) -> IntArray:
        """Columns of each subspace, filled up with ``n_columns`` to the same length."""
        if len(self.numeric) == len(self.feature_statistics.categorical):
            return np.hstack(
                [
                    self.feature_statistics.subspaces,
                    len(self.numeric) + self.feature_statistics.subspaces,
                ]
            )
        chosen = self.subspace_masks[self.column_feature] > 0
        count = np.count_nonzero(chosen, axis=0)
        table = np.full((chosen.shape[1], int(np.max(count, initial=0))), len(chosen))
        table[np.arange(table.shape[1]) < count[:, np.newaxis]] = np.nonzero(chosen.T)[1]
        return table

    @lazy
    def value_table(self) -> IntArray:
        """Where a row has the values of each subspace, a one being behind all columns.

        The last of each is the one; what fills up a narrow subspace is, too.
        """
        n_columns, table = len(self.column_feature), self.subspace_table
        return np.column_stack([table, np.full(len(table), n_columns)])

    @lazy
    def weight_table(self) -> IntArray:
        """Where classes have the weights of these values.

        Behind all columns, there are the constants of the subspaces, and a zero.
        """
        n_columns, table = len(self.column_feature), self.subspace_table
        table = np.where(table < n_columns, table, n_columns + len(table))
        return np.column_stack([table, n_columns + np.arange(len(table))])

    @lazy
    def subspace_masks(self) -> FloatArray:
        """Which features are in which subspace, (d, n_subspaces)."""
        masks = np.zeros(
            (len(self.feature_statistics.categorical), len(self.feature_statistics.subspaces))
        )
        np.put_along_axis(masks, self.feature_statistics.subspaces.T, 1.0, axis=0)
        return masks

    def expand(self, X: Matrix) -> DesignMatrix:
        """Write rows in the basis.

        Parameters
        ----------
        X : ndarray or CSR of shape (n, d)
            Rows; NaN is a missing value.

        Returns
        -------
        DesignMatrix
            Sparse if X is sparse, of few cells, and all centres are zero.
        """
        if sparse.issparse(X) and self.centre.any():
            X = X.toarray()
        X = densify(X)
        return self._expand_sparse(X) if sparse.issparse(X) else self._expand_dense(X)

    @lazy
    def unit(self) -> FloatArray:
        """What values of numeric features are multiplied by: one over their floors."""
        return 1 / self.feature_statistics.floor[self.numeric]

    def _scale(
        self, values: FloatArray, numbers: IntArray | slice, u: FloatArray, square: FloatArray
    ) -> bool:
        """Write values in units of their features' floors, and squares; return if any is NaN."""
        np.subtract(values, self.centre[numbers], out=u)
        with np.errstate(over="ignore"):
            u *= self.unit[numbers]
            np.multiply(u, u, out=square)
        largest = square.max(initial=0)  # NaN if any value is
        if not largest < FAR**2:
            np.clip(u, -FAR, FAR, out=u)
            np.multiply(u, u, out=square)
        return bool(np.isnan(largest))

    def _expand_dense(self, X: FloatArray) -> DesignMatrix:
        n_rows, n_numeric = len(X), len(self.numeric)
        u, square = np.empty((2, n_rows, n_numeric))
        shown = np.zeros((n_rows, len(self.column_feature) - 2 * n_numeric))
        values = X if n_numeric == X.shape[1] else X[:, self.numeric]
        absent_row, absent = np.empty((2, 0), dtype=np.intp)
        if self._scale(values, slice(None), u, square):
            absent_row, absent = np.nonzero(np.isnan(u))
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
        cells = Cells.of(X)
        number = (
            np.cumsum(~feature_statistics.categorical) - 1
        )  # of a numeric feature among its like
        counted = feature_statistics.categorical[cells.column]
        missing = np.isnan(cells.value)

        kept = ~counted & ~missing
        row, column = cells.row[kept], number[cells.column[kept]]
        u, square = np.empty((2, len(row)))
        self._scale(cells.value[kept], column, u, square)
        place = feature_statistics.positions(cells.column[counted], cells.value[counted])
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
        absent_feature = [cells.column[missing], cells.column[counted][unknown]]
        # Zeros that the matrix leaves out, of a feature that never was zero in training.
        never = np.flatnonzero(feature_statistics.categorical & (self.base >= 0))
        never = never[feature_statistics.values[self.base[never]] != 0]
        if len(never):
            listed = np.zeros((X.shape[0], len(never)), dtype=bool)
            here = np.isin(cells.column, never)
            listed[cells.row[here], np.searchsorted(never, cells.column[here])] = True
            left_row, left = np.nonzero(~listed)
            absent_row.append(left_row)
            absent_feature.append(never[left])
        absent = _indicator(np.concatenate(absent_row), np.concatenate(absent_feature), X.shape)
        return DesignMatrix((matrix,), absent)


def _csr(values: FloatArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    return sparse.coo_array((values, (row, column)), shape=shape).tocsr()


def _indicator(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    return _csr(np.ones(len(row)), row, column, shape) if len(row) else None
