"""Dense or sparse, chosen by the share of cells that are not zero; the cells of either form."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix

SPARSE_SHARE = 0.15
"""Share of stored cells above which a sparse matrix is made dense: it is faster by far."""
MOSTLY_ZEROS = 0.05
"""Share of cells that are not 0 up to which a dense matrix is made sparse.

In naive Bayes of all pairs and in distances of 500 features, both forms take the same time at
about this share. Matrices between the two shares keep their form.
"""


def by_density(X: Matrix) -> Matrix:
    """Convert a dense matrix of mostly zeros to CSR, and a sparse one with many cells to dense.

    NaN is not 0. An array of other than two dimensions, or of a dtype that sparse matrices do not
    support, is returned unchanged.
    """
    if sparse.issparse(X):
        return densify(X)
    if not can_be_sparse(X):
        return X
    is_stored = X != 0
    n_nonzero = int(np.count_nonzero(is_stored))
    return _to_csr(X, is_stored) if is_mostly_zeros(n_nonzero, X.size) else X


def can_be_sparse(X: FloatArray) -> bool:
    """Return whether an array has two dimensions and a dtype that sparse matrices support."""
    return X.ndim == 2 and X.dtype.kind in "biuf" and X.dtype != np.float16


def is_mostly_zeros(n_nonzero: int, n_cells: int) -> bool:
    """Return whether a dense matrix with this many cells that are not 0 is made sparse."""
    return n_nonzero <= MOSTLY_ZEROS * n_cells


def to_csr(X: Matrix) -> Matrix:
    """Convert a matrix to CSR: as ``scipy.sparse.csr_array`` does, but several times faster."""
    return sparse.csr_array(X) if sparse.issparse(X) else _to_csr(X, X != 0)


def densify(X: Matrix) -> Matrix:
    """Convert a sparse matrix that stores many of its cells to a dense one."""
    if sparse.issparse(X) and X.nnz > SPARSE_SHARE * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


def _to_csr(X: FloatArray, is_stored: BoolArray) -> Matrix:
    """Convert the cells of a dense matrix that a mask selects to CSR."""
    row, column = np.divmod(np.flatnonzero(is_stored), X.shape[1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(X)))])
    largest = max(len(row), X.shape[1])
    index = np.int32 if largest <= np.iinfo(np.int32).max else np.int64  # as scipy chooses
    cells = X[row, column], column.astype(index), indptr.astype(index)
    return sparse.csr_array(cells, shape=X.shape)


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
