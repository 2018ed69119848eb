"""Encoding of rows for the base classifier and for distances; draws of rows by their weights."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import can_be_sparse, is_frame, is_mostly_zeros, take_rows, to_csr
from pairmend._utils.training import all_equal
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.frames import ColumnWarning, FrameEncoder


@dataclass(frozen=True)
class RowEncoder:
    """Encodes frames, and arrays that are mostly zeros, for the base classifier and for distances.

    Other rows are unchanged.

    Attributes
    ----------
    encoder : FrameEncoder or None
        None if fit saw no frame, or if neither needs encoded rows.
    for_base, for_distances : bool
        Whether the base classifier and distances take encoded frames.
    sparse_rows : SparseRows or None
        None unless fit saw a sparse matrix, or an array that is mostly zeros.
    sparse_for_base : bool
        Whether the base classifier takes `sparse_rows`.
    """

    encoder: FrameEncoder | None
    for_base: bool
    for_distances: bool
    sparse_rows: "SparseRows | None" = None
    sparse_for_base: bool = False

    @classmethod
    def fit(
        cls,
        X: MatrixLike,
        row_weights: FloatArray,
        *,
        for_base: bool,
        for_distances: bool,
        is_optional: bool,
        sparse_for_base: bool = False,
    ) -> "RowEncoder":
        """Fit an encoder on the rows of positive weight, if it is needed.

        If it `is_optional` for distances and the base classifier does not need it, a frame that
        cannot be encoded leads to a warning instead of an error.
        """
        if not is_frame(X):
            sparse_rows = None
            if sparse_for_base or for_distances:
                sparse_rows = SparseRows.fit(X, row_weights)
            return cls(None, for_base, for_distances, sparse_rows, sparse_for_base)
        if not (for_base or for_distances):
            return cls(None, for_base, for_distances)
        try:
            encoder = FrameEncoder().fit(take_rows(X, np.flatnonzero(row_weights > 0)))
        except ValueError as error:
            if for_base or not is_optional:
                raise
            warnings.warn(
                "Distances between rows are measured by predicted probabilities only, because "
                f"the features cannot be read: {error} Or pass transformer=...",
                ColumnWarning,
                stacklevel=3,
            )
            return cls(None, for_base, for_distances)
        return cls(encoder, for_base, for_distances)

    def encode(self, X: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return rows for the base classifier, and rows for distances."""
        if self.encoder is not None:
            encoded: Any = self.encoder.encode(X)
            for_base = self.for_base
        elif self.sparse_rows is not None and _is_matrix(X):
            encoded = self.sparse_rows.encode(X)
            for_base = self.sparse_for_base
        else:
            return X, X
        return encoded if for_base else X, encoded if self.for_distances else X


@dataclass(frozen=True)
class SparseRows:
    """Converts arrays to CSR, and replaces NaN by the mean of its feature.

    All arrays are converted, so that the form of rows does not depend on how many zeros they have.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Means over the rows of fit; 0 for a feature without any value.
    """

    mean: FloatArray

    @classmethod
    def fit(cls, X: MatrixLike, row_weights: FloatArray) -> "SparseRows | None":
        """Compute the means; None unless X is a sparse matrix, or an array that is mostly zeros."""
        if not _is_matrix(X) or not (sparse.issparse(X) or can_be_sparse(X)):
            return None
        present = row_weights > 0
        rows = X if present.all() else X[present]
        if not sparse.issparse(rows) and not is_mostly_zeros(
            int(np.count_nonzero(rows)), rows.size
        ):
            return None
        return ColumnSums.of(rows, row_weights[present]).sparse_rows()

    def encode(self, X: MatrixLike) -> MatrixLike:
        """Return rows as CSR without NaN; CSR without NaN is not copied."""
        rows: Any = X
        if not sparse.issparse(rows):
            # Sparse matrices do not support half precision.
            rows = to_csr(rows.astype(np.float32) if rows.dtype == np.float16 else rows)
        missing = np.flatnonzero(np.isnan(rows.data))
        if len(missing):
            rows = rows.copy()
            rows.data[missing] = self.mean[rows.indices[missing]]
        return rows


@dataclass(frozen=True)
class ColumnSums:
    """Sums over the rows of a matrix, from which `SparseRows` are fitted.

    Attributes
    ----------
    is_sparse : bool
        Whether any rows are a sparse matrix.
    n_cells, n_nonzero : int
        Number of cells, and of those that are not 0. NaN is not 0.
    sums, masses : ndarray of shape (n_features,)
        Weighted sum of the values, and weight of the rows that have one.
    """

    is_sparse: bool
    n_cells: int
    n_nonzero: int
    sums: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, X: Any, weights: FloatArray) -> "ColumnSums":
        """Sum over rows."""
        is_sparse = sparse.issparse(X)
        cells = X.data if is_sparse else X
        missing: Any = np.isnan(cells)
        values: Any = np.where(missing, 0, cells)
        if is_sparse:
            missing, values = (
                sparse.csr_array((part, X.indices, X.indptr), X.shape) for part in (missing, values)
            )
        n_cells, n_nonzero = X.shape[0] * X.shape[1], int(np.count_nonzero(cells))
        masses = weights.sum() - weights @ missing
        return cls(is_sparse, n_cells, n_nonzero, weights @ values, masses)

    def plus(self, other: "ColumnSums") -> "ColumnSums":
        """Return the sums over the rows of both."""
        return ColumnSums(
            self.is_sparse or other.is_sparse,
            self.n_cells + other.n_cells,
            self.n_nonzero + other.n_nonzero,
            self.sums + other.sums,
            self.masses + other.masses,
        )

    def sparse_rows(self) -> SparseRows | None:
        """Return the means; None unless rows are a sparse matrix, or mostly zeros."""
        if not self.is_sparse and not is_mostly_zeros(self.n_nonzero, self.n_cells):
            return None
        means = np.zeros(len(self.sums))
        return SparseRows(np.divide(self.sums, self.masses, out=means, where=self.masses > 0))


def takes_sparse_rows(base: Any) -> bool:
    """Return whether a base classifier takes `SparseRows`; classifiers may not take CSR."""
    return type(base) is ScaledLogisticRegression


def _is_matrix(X: MatrixLike) -> bool:
    """Return whether X is an array or a CSR matrix of numbers."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return False
    return X.ndim == 2 and X.dtype.kind in "biuf"


def draw_rows(
    order: IntArray, weights: FloatArray, n_rows: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Draw rows without replacement from `order`, with probabilities proportional to weights.

    A probability is at most 1. The weight of a drawn row is divided by its probability, so that
    weighted sums over the drawn rows are unbiased. Returns the rows in their order, and the weights
    of all rows.
    """
    if n_rows >= len(order) or all_equal(weights):
        return order[:n_rows], weights
    probabilities = _probabilities(weights, n_rows)
    # Systematic sampling: one row for each integer that the cumulative probability passes.
    passed = np.floor(np.cumsum(probabilities[order]) + rng.random_sample())
    return order[np.diff(passed, prepend=0) > 0], weights / probabilities


def _probabilities(weights: FloatArray, n_rows: int) -> FloatArray:
    """Return probabilities proportional to weights, at most 1, whose sum is a number of rows."""
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        left = np.where(certain, 0.0, weights)
        probabilities = np.where(certain, 1.0, (n_rows - certain.sum()) * left / left.sum())
        heavier = ~certain & (probabilities >= 1)
        if not heavier.any():
            return probabilities
        certain |= heavier
