"""Dense and sparse matrices alike, cell by cell."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray, Matrix

SPARSE_SHARE = 0.15
"""Share of listed cells above which a matrix is worked on faster as a dense one."""


def densify(X: Matrix) -> Matrix:
    """Return a sparse matrix that lists many of its cells as a dense one, others as they are."""
    if sparse.issparse(X) and X.nnz > SPARSE_SHARE * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


@dataclass(frozen=True)
class Cells:
    """The cells of a matrix one by one; what a sparse matrix leaves out is zero.

    Attributes
    ----------
    row, column, value : ndarray of shape (n_cells,)
        Ordered by row.
    shape : tuple
        Shape of the matrix.
    implicit_zeros : bool
        Whether cells that are not listed are zeros; False means that all are listed.
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
