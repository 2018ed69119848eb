"""Landmarks: points that represent all rows nearest to them, and sums of a table around queries."""

import numpy as np
from scipy import sparse

from pairmend._utils.lazy import lazy
from pairmend._utils.products import multiply
from pairmend._utils.threads import in_blocks
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.kernels.leave_one_out import nearness_scale
from pairmend.kernels.neighbourhood import exponential, gaussian_weights, squared_norms

BLOCK = 128
"""Queries at once: their weights stay in the processor's cache."""
NANOSECONDS = 0.8
"""Time of one weight, from which the number of threads follows."""
MIN_SINGLE = 500
"""Number of landmarks from which on single precision is faster."""
TOLERANCE = 1e-4
"""Largest error of an exponent in single precision; beyond it, double precision is used."""
TIE = 16 * float(np.finfo(np.float32).eps)
"""Difference of two halved squared distances that counts as a tie, relative to the lengths of the
query and of its nearest landmark."""
LARGEST = 1e30
"""Largest number in products of single precision."""
MAX_DENSE = 2**24
"""Number of cells up to which sparse landmarks are made dense, which makes products faster."""


def nearest_landmark(queries: Matrix, landmarks: Matrix) -> IntArray:
    """Return the index of the nearest landmark of each query, of equals the first.

    Landmarks count as equally near if single precision cannot distinguish them. So ties, which are
    frequent where probabilities are 0 or 1, are resolved alike in each precision.
    """
    nearest = np.empty(queries.shape[0], dtype=np.int64)
    squares, lengths = squared_norms(queries), squared_norms(landmarks)
    is_single = max(squares.max(initial=0), lengths.max()) < LARGEST
    dtype = np.float32 if is_single else np.float64
    points, queries = _Points(landmarks.astype(dtype), 0.5), queries.astype(dtype)

    def fill(rows: slice) -> None:
        exponents = points.exponents(queries[rows])
        best = lengths[exponents.argmax(axis=1)]
        slack = TIE * (np.sqrt(squares[rows] * best) + best / 2)
        least = exponents.max(axis=1) - slack.astype(dtype)
        nearest[rows] = (exponents >= least[:, np.newaxis]).argmax(axis=1)

    n_queries = queries.shape[0]
    in_blocks(fill, n_queries, BLOCK, NANOSECONDS * n_queries * landmarks.shape[0])
    return nearest


class LandmarkSums:
    """Sums of a table over landmarks with Gaussian weights around queries.

    Parameters
    ----------
    landmarks : ndarray or CSR of shape (M, n_features)
        Points.
    table : ndarray of shape (M, C)
        Summands of the landmarks; the last column is their mass.
    beta : float
        Inverse squared bandwidth.
    single : bool, default=False
        Whether weights are computed in single precision where possible, in half the time.
    """

    def __init__(self, landmarks: Matrix, table: FloatArray, beta: float, *, single: bool = False):
        self.landmarks, self.table, self.beta, self.single = landmarks, table, beta, single

    def around(self, queries: Matrix) -> FloatArray:
        """Return the sums around each query, (t, C); the nearest landmark has the weight 1.

        In single precision, queries far from the landmarks' mean are nevertheless computed in
        double precision, because the digits of their distances cancel.
        """
        if not self.is_single:
            return self._around(queries, self._in_double_precision)
        error = self.beta * squared_norms(queries) * np.finfo(np.float32).eps
        is_exact = error <= TOLERANCE
        if is_exact.all():
            return self._around(queries, self._in_single_precision)
        sums = np.empty((queries.shape[0], self.table.shape[1]))
        sums[is_exact] = self._around(queries[is_exact], self._in_single_precision)
        sums[~is_exact] = self._around(queries[~is_exact], self._in_double_precision)
        return sums

    def weights(self, queries: Matrix) -> FloatArray:
        """Return the weights of landmarks around queries in double precision, (t, M)."""
        weights = gaussian_weights(queries, self.landmarks, self.beta)
        scale = nearness_scale(weights, self.table[:, -1], axis=1)
        return weights if scale is None else weights * scale[:, np.newaxis]

    @staticmethod
    def _around(queries: Matrix, prepared: "tuple[_Points, FloatArray]") -> FloatArray:
        """Return the sums in the precision of landmarks and table."""
        points, table = prepared
        queries = queries.astype(table.dtype, copy=False)
        sums = np.empty((queries.shape[0], table.shape[1]), dtype=table.dtype)

        def fill(rows: slice) -> None:
            weights = points.exponents(queries[rows])
            weights -= weights.max(axis=1, keepdims=True)
            exponential(weights)
            scale = nearness_scale(weights, table[:, -1], axis=1)
            multiply(weights, table, out=sums[rows])
            if scale is not None:
                sums[rows] *= scale[:, np.newaxis]

        n_queries = queries.shape[0]
        in_blocks(fill, n_queries, BLOCK, NANOSECONDS * n_queries * len(table))
        return sums

    @lazy
    def is_moderate(self) -> bool:
        """Whether single precision can represent the exponents of landmarks."""
        largest = max(self.beta, 1 / self.beta, self.beta * squared_norms(self.landmarks).max())
        return bool(largest < LARGEST)

    @property
    def is_single(self) -> bool:
        """Whether most sums are computed in single precision."""
        return self.single and self.is_moderate

    @lazy
    def _in_single_precision(self) -> "tuple[_Points, FloatArray]":
        landmarks = self.landmarks.astype(np.float32, copy=False)
        return _Points(landmarks, self.beta), self.table.astype(np.float32, copy=False)

    @lazy
    def _in_double_precision(self) -> "tuple[_Points, FloatArray]":
        return _Points(self.landmarks, self.beta), self.table


class _Points:
    """Landmarks, transposed for products with queries."""

    def __init__(self, landmarks: Matrix, beta: float):
        self.beta = beta
        self.offsets = (beta * squared_norms(landmarks)).astype(landmarks.dtype)
        if sparse.issparse(landmarks) and np.prod(landmarks.shape, dtype=float) <= MAX_DENSE:
            landmarks = landmarks.toarray()
        transposed = landmarks.T
        if not sparse.issparse(transposed):
            transposed = np.ascontiguousarray(transposed)
        self.transposed = transposed * landmarks.dtype.type(2 * beta)

    def exponents(self, queries: Matrix) -> FloatArray:
        """Return -beta * squared distance, plus a constant for each query, (t, M)."""
        if sparse.issparse(queries) or sparse.issparse(self.transposed):
            exponents = queries @ self.transposed
            if sparse.issparse(exponents):
                exponents = exponents.toarray()
        else:
            exponents = multiply(queries, self.transposed)
        exponents -= self.offsets
        return exponents
