"""Dense copies of sparse matrices with many stored cells; the stored cells of either kind."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray, Matrix

SPARSE_SHARE = 0.15
"""Share of stored cells above which computing with a dense matrix is faster."""


def densify(X: Matrix) -> Matrix:
    """Convert a sparse matrix that stores many of its cells to a dense one."""
    if sparse.issparse(X) and X.nnz > SPARSE_SHARE * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


@dataclass(frozen=True)
class Cells:
    """The cells of a matrix, ordered by row, as arrays of shape (n_cells,).

    With `implicit_zeros`, cells that are not listed are 0.
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    shape: tuple[int, int]
    implicit_zeros: bool

    @classmethod
    def of(cls, X: Matrix) -> "Cells":
        """List the cells of a dense or CSR matrix."""
        n_rows, n_columns = X.shape
        if sparse.issparse(X):
            row = np.repeat(np.arange(n_rows), np.diff(X.indptr))
            return cls(row, X.indices, X.data, X.shape, True)
        row = np.repeat(np.arange(n_rows), n_columns)
        return cls(row, np.tile(np.arange(n_columns), n_rows), X.ravel(), X.shape, False)
