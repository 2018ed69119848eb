"""Counts of zeros and means of columns over blocks, which decide on the encoding of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from dask import delayed
from scipy import sparse

from pairmend._utils.cells import is_mostly_zeros
from pairmend._utils.typing import FloatArray, Matrix
from pairmend.distributed.blocks import in_a_tree
from pairmend.distributed.training_rows import SplitBlock, TrainingRows
from pairmend.mended.rows import SparseRows


def fit_sparse_rows(rows: TrainingRows) -> SparseRows | None:
    """Fit `SparseRows` on matrices in blocks, as its own ``fit`` does on all rows."""
    parts = [delayed(_sums_of_block)(block) for block in rows.blocks()]
    sums: ColumnSums = in_a_tree(_add_sums, parts).compute()
    return sums.sparse_rows()


@dataclass(frozen=True)
class ColumnSums:
    """Sums over the rows of positive weight."""

    n_sparse: int  # number of sparse matrices
    n_cells: int
    n_nonzero: int  # NaN is not 0
    sums: FloatArray  # (n_features,), weighted, without NaN
    masses: FloatArray  # (n_features,), weight of the rows without NaN

    @classmethod
    def of(cls, X: Matrix, weights: FloatArray | None) -> "ColumnSums":
        """Sum over the rows of a matrix; weights of None mean ones."""
        weights = np.ones(X.shape[0]) if weights is None else weights
        present = weights > 0
        if not present.all():
            X, weights = X[present], weights[present]
        is_sparse = sparse.issparse(X)
        missing = _map_cells(np.isnan, X)
        if (missing.data if is_sparse else missing).any():
            X = _map_cells(lambda cells: np.where(np.isnan(cells), 0, cells), X)
        masses: FloatArray = weights.sum() - weights @ missing
        n_nonzero = np.count_nonzero(X.data if is_sparse else X) + missing.sum()
        n_cells = X.shape[0] * X.shape[1]
        return cls(int(is_sparse), n_cells, int(n_nonzero), weights @ X, masses)

    def sparse_rows(self) -> SparseRows | None:
        """Return the means; None unless rows are sparse matrices, or mostly zeros."""
        if not self.n_sparse and not is_mostly_zeros(self.n_nonzero, self.n_cells):
            return None
        means = np.zeros(len(self.sums))
        return SparseRows(np.divide(self.sums, self.masses, out=means, where=self.masses > 0))


def _map_cells(function: Any, X: Matrix) -> Matrix:
    """Return a matrix with a function of the cells, in a sparse matrix of the stored ones."""
    if not sparse.issparse(X):
        return function(X)
    return sparse.csr_array((function(X.data), X.indices, X.indptr), shape=X.shape)


def _sums_of_block(block: SplitBlock) -> ColumnSums:
    return ColumnSums.of(block.X, block.weights)


def _add_sums(parts: Sequence[ColumnSums]) -> ColumnSums:
    names = [field.name for field in fields(ColumnSums)]
    return ColumnSums(*(sum(getattr(part, name) for part in parts) for name in names))
