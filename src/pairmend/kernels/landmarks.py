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
    frequent where probabilities are 0 or 1, are resolved alike in each precision of the queries.

    Distances are computed in single precision first, in half the time, and once more in double
    precision for queries with several landmarks that may be the nearest.
    """
    nearest = np.empty(queries.shape[0], dtype=np.int64)
    lengths = np.sqrt(squared_norms(landmarks))
    own_lengths = np.sqrt(squared_norms(queries))
    in_double = _Points(landmarks.astype(np.float64, copy=False), 0.5)
    is_single = max(own_lengths.max(initial=0), lengths.max()) < np.sqrt(LARGEST)
    in_single = _Points(landmarks.astype(np.float32), 0.5) if is_single else in_double
    relative_error = (_n_summands(queries) + 4) * float(np.finfo(np.float32).eps)

    def find(rows: slice) -> None:
        exponents = in_single.exponents(queries[rows].astype(in_single.dtype, copy=False))
        first, own = exponents.argmax(axis=1), own_lengths[rows]
        nearest[rows] = first
        # All landmarks that may be the nearest are at most this long: none is further from the
        # query than the first is.
        longest = 2 * own + lengths[first]
        error = relative_error * longest * (own + longest / 2)
        least = exponents.max(axis=1) - (2 * error + _slack(own, lengths[first]))
        near = exponents >= least.astype(in_single.dtype)[:, np.newaxis]
        (positions,) = (np.count_nonzero(near, axis=1) > 1).nonzero()
        if len(positions):
            positions += rows.start
            nearest[positions] = exactly(positions)

    def exactly(positions: IntArray) -> IntArray:
        exponents = in_double.exponents(queries[positions].astype(in_double.dtype, copy=False))
        slack = _slack(own_lengths[positions], lengths[exponents.argmax(axis=1)])
        least = exponents.max(axis=1) - slack
        return (exponents >= least[:, np.newaxis]).argmax(axis=1)

    n_queries = queries.shape[0]
    in_blocks(find, n_queries, BLOCK, NANOSECONDS * n_queries * landmarks.shape[0])
    return nearest


def _slack(own_lengths: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return the difference of halved squared distances up to which landmarks are equally near.

    Given are the lengths of queries and of their nearest landmarks.
    """
    return TIE * lengths * (own_lengths + lengths / 2)


def _n_summands(queries: Matrix) -> int:
    """Return the largest number of summands of a product with a query that are not 0."""
    if sparse.issparse(queries):
        return int(np.diff(queries.indptr).max(initial=0))
    return int(queries.shape[1])


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
    """

    def __init__(self, landmarks: Matrix, table: FloatArray, beta: float):
        self.landmarks, self.table, self.beta = landmarks, table, beta

    def around(self, queries: Matrix) -> FloatArray:
        """Return the sums around each query, (t, C); the nearest landmark has the weight 1."""
        points, table = self._points, self.table
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

    def weights(self, queries: Matrix) -> FloatArray:
        """Return the weights of landmarks around queries in double precision, (t, M)."""
        weights = gaussian_weights(queries, self.landmarks, self.beta)
        scale = nearness_scale(weights, self.table[:, -1], axis=1)
        return weights if scale is None else weights * scale[:, np.newaxis]

    @lazy
    def _points(self) -> "_Points":
        return _Points(self.landmarks, self.beta)


class _Points:
    """Landmarks, transposed for products with queries."""

    def __init__(self, landmarks: Matrix, beta: float):
        self.beta, self.dtype = beta, landmarks.dtype
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
