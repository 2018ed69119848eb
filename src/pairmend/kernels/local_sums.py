"""Weights of points around rows, from squared distances, and sums of a table with these weights.

Points are rows of numbers, already scaled, dense or CSR. Weights are (t, M), one row for each of
the t queries, in column-major order because the confusion sums of pairs read them that way.

Each label against the rest is one problem. The sums of its confusion matrix are products of the
weights around points with one table of summands, shared by all points. Around validation rows, each
row is left out of its own sums. Landmarks are points that represent all rows nearest to them.

A table has 3 L + 1 columns: weight of rows with a label times the probability of deciding for it,
weight times that probability, weight of rows with the label, each for all labels, and weight of
each row.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import in_blocks, lazy
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.rrc import share

KTH_NEIGHBOUR_WEIGHT = 0.3
"""Weight of the k-th neighbour in an adaptive neighbourhood."""

AT_ONCE = 256
"""Points whose distances are computed at once, at the most."""
TILE = 2**15
"""Exponents processed at once, few enough to stay in the processor's cache."""
SLACK = 1e-5
"""Share of a point's mass below which what is left without a query is rounding."""
ROUNDING = 64
"""Sums below this many units of the last place of the total are rounding of an exact zero."""
LARGEST_MASS = 1e30
"""Larger prior masses have the same effect, and may exceed the range of single precision."""


def squared_norms(points: Matrix, xp: Any = np) -> FloatArray:
    """Return the squared norms of rows."""
    if xp is not np:
        return xp.sum(points * points, axis=1)
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", points, points)


def offsets_to(queries: Matrix, points: FloatArray, xp: Any = np) -> FloatArray:
    """Return squared distances less the query's own squared norm, (M, t)."""
    norms = squared_norms(points, xp)[:, None]
    if sparse.issparse(points) or xp is not np:
        offsets = -2 * points @ queries.T
        if sparse.issparse(offsets):
            offsets = offsets.toarray()
        offsets += norms
        return offsets
    offsets = np.empty((len(points), queries.shape[0]), np.result_type(points, queries))

    def fill(part: slice) -> None:
        np.matmul(-2 * points[part], queries.T, out=offsets[part])
        offsets[part] += norms[part]

    in_blocks(fill, len(points), AT_ONCE, 0.03 * points.size * queries.shape[0])
    return offsets


def exponential(exponents: FloatArray) -> FloatArray:
    """Compute exp of numbers up to 0, in place; results near and below the subnormal are 0.

    numpy is a dozen times slower where results are subnormal or zero, which nearly all are in a
    narrow neighbourhood.
    """
    lowest = np.log(np.finfo(exponents.dtype).tiny) + 1
    assert exponents.flags.c_contiguous  # or flat would be a copy
    flat = exponents.reshape(-1)
    for start in range(0, len(flat), TILE):
        here = flat[start : start + TILE]
        below = here < lowest
        if below.any():
            np.maximum(here, lowest, out=here)
        np.exp(here, out=here)
        here[below] = 0
    return exponents


def gaussian_weights(queries: Matrix, points: Matrix, beta: float, xp: Any = np) -> FloatArray:
    """Return the weights exp(-beta * squared distance), relative to the nearest (eq. 17).

    Only ratios of the weights of one query matter, so the smallest exponent is subtracted before
    the exponential: the nearest point has weight 1 at any distance, and weights do not vanish where
    all points are far. A query's own norm cancels in the same step and is never computed, which
    preserves the digits of queries far outside the points' range.
    """
    weights = offsets_to(queries, points, xp)
    weights -= xp.min(weights, axis=0)
    weights *= -beta
    return (exponential(weights) if xp is np else xp.exp(weights)).T


def adaptive_weights(queries: Matrix, points: Matrix, k: int, xp: Any = np) -> FloatArray:
    """Return weights of a Gaussian whose width is the distance of the k-th nearest point.

    That neighbour's weight is 0.3: the neighbourhood is wide where points are sparse and narrow
    where they are dense. Where k or more points coincide with the query, these have weight 1 and
    all others 0, the limit of ever closer points.
    """
    offsets = offsets_to(queries, points, xp)
    own = squared_norms(queries, xp)
    scale = squared_norms(points, xp)[:, None] + own
    squared = offsets + own
    # The computed distance of equal points is rounding.
    rounding = 4 * float(xp.finfo(squared.dtype).eps) * max(2, points.shape[1])
    squared = xp.where(squared > rounding * scale, squared, 0.0)
    kth = (
        np.partition(squared, k - 1, axis=0)[k - 1]
        if xp is np
        else xp.sort(squared, axis=0)[k - 1, :]
    )
    positive = kth > 0
    at_zero = xp.where(squared > 0, xp.full_like(squared, np.inf), 0.0)
    ratio = xp.where(positive, squared / xp.where(positive, kth, 1.0), at_zero)
    return xp.exp(math.log(KTH_NEIGHBOUR_WEIGHT) * ratio).T


def confusion_from_sums(sums: FloatArray) -> FloatArray:
    """Return confusion matrices (t, L, 2, 2), [truth, decision], from sums over a table."""
    n_labels = sums.shape[1] // 3
    hit, decided, positive = (sums[:, k * n_labels : (k + 1) * n_labels] for k in range(3))
    confusion = np.empty((*hit.shape, 2, 2))
    confusion[..., 0, 0] = hit
    confusion[..., 0, 1] = positive - hit
    confusion[..., 1, 0] = decided - hit
    confusion[..., 1, 1] = sums[:, -1:] - positive - decided + hit
    # Differences of nearly equal sums may be slightly negative.
    return np.maximum(confusion, 0, out=confusion)


def shrink(confusion: FloatArray, towards: FloatArray, mass: float) -> FloatArray:
    """Add prior mass to each decision, split as in the confusion matrices `towards`."""
    first, second = p_true_given_decision(towards)
    p_true = np.stack([first, second], axis=-1)
    return confusion + mass * np.stack([p_true, 1 - p_true], axis=-2)


def global_confusion(sums: FloatArray) -> FloatArray:
    """Return confusion matrices (t, L, 2, 2) from sums of a table over all rows, (t, 3 L + 1).

    One row's mass, split by the label's prevalence, is added to each decision, so that
    P(true | decision) is defined for decisions that never occur.
    """
    n_labels = sums.shape[1] // 3
    confusion = confusion_from_sums(sums)
    all_rows = np.maximum(sums[:, -1:], np.finfo(np.float64).tiny)
    prevalence = np.clip(sums[:, 2 * n_labels : 3 * n_labels] / all_rows, 0, 1)
    confusion[..., 0, :] += prevalence[..., np.newaxis]
    confusion[..., 1, :] += 1 - prevalence[..., np.newaxis]
    return confusion


def corrected_by(
    p_decide: FloatArray,
    sums: FloatArray,
    towards: tuple[FloatArray, FloatArray],
    mass: float | FloatArray,
    xp: Any = np,
) -> FloatArray:
    """Correct supports for labels by local confusion matrices with prior mass.

    The result of :func:`confusion_from_sums`, :func:`shrink` and
    :func:`~pairmend.kernels.pairs.correct` in sequence, but faster: the sums over each
    decision are columns of `sums` already. `towards` are the prior's P(true | decision), (t, L) or
    (1, L), for the decisions for and against the label; with `mass` of shape (k, 1, 1) the result
    is (k, t, L). The namespace `xp` has the functions of the array API.
    """
    n_labels = p_decide.shape[1]
    hit, on, positive = (sums[:, k * n_labels : (k + 1) * n_labels] for k in range(3))
    total = sums[:, -1:]
    off = total - on
    is_rounding = off <= ROUNDING * float(xp.finfo(sums.dtype).eps) * total
    off = xp.where(is_rounding, xp.zeros_like(off), off)
    missed = xp.minimum(xp.clip(positive - hit, 0.0, None), off)
    prior = mass if isinstance(mass, np.ndarray) else min(mass, LARGEST_MASS)
    given_on = share(hit + prior * towards[0], on + prior, 1.0, xp)
    given_off = share(missed + prior * towards[1], off + prior, 0.0, xp)
    corrected: FloatArray = xp.clip(given_off + p_decide * (given_on - given_off), 0.0, 1.0)
    return corrected


def nearness_scale(weights: FloatArray, masses: FloatArray, axis: int) -> FloatArray | None:
    """Return factors for the weights around points, so that a light nearest row is no scale.

    Weights are relative to the nearest row, whose weight is 1. If that row's own mass is below 1,
    the other rows would lose against the prior mass: the largest weight times mass, masses capped
    at 1, becomes 1 instead. None if all masses are at least 1.
    """
    if (masses >= 1).all():
        return None
    capped = np.minimum(masses, 1).astype(weights.dtype)
    largest = (weights * (capped if axis == 1 else capped[:, np.newaxis])).max(axis=axis)
    return np.asarray(1 / largest)


def sums_around(
    queries: Matrix,
    own: IntArray,
    summands: FloatArray,
    points: Matrix,
    table: FloatArray,
    beta: float,
    n_doublings: int = 0,
) -> Iterator[FloatArray]:
    """Yield sums of a table around rows, each row left out, at beta and at its doubles, (t, C).

    Each row of `table` (M, C) is the sum over the rows that a point represents, its last column
    their mass. `own` (t,) is the point that represents each query, `summands` (t, C) what the query
    added to it. A point that represents nothing but the query is left out of its neighbourhood.
    Weights at the double of beta are the squares of those at beta, so that one exponential
    suffices.
    """
    masses, places = table[:, -1], np.arange(len(own))
    others = masses[own] - summands[:, -1]
    is_alone = others <= SLACK * masses[own]
    shared, shared_own = places[~is_alone], own[~is_alone]
    exponents = offsets_to(queries, points)
    exponents[own[is_alone], places[is_alone]] = np.inf
    exponents -= exponents.min(axis=0)
    info = np.finfo(exponents.dtype)
    with np.errstate(over="ignore"):  # so far away that the weight is 0
        exponents *= -np.clip(beta, info.tiny, info.max)
    weights = exponential(exponents)
    vanished = info.tiny**0.4
    for doubling in range(n_doublings + 1):
        if doubling:
            # Squares of smaller weights, or their products, would be subnormal, which is slow.
            np.maximum(weights, vanished, out=weights)
            np.square(weights, out=weights)
            weights[own[is_alone], places[is_alone]] = 0
        scale = nearness_scale(weights, masses, axis=0)
        sums = weights.T @ table
        if len(shared):
            sums[shared] -= weights[shared_own, shared, np.newaxis] * summands[shared]
            np.maximum(sums, 0, out=sums)  # differences of nearly equal sums
        yield sums if scale is None else sums * scale[:, np.newaxis]


BLOCK = 128
"""Queries at once: their weights stay in the processor's cache."""
NANOSECONDS = 0.8
"""Time of one weight, from which the number of threads follows."""
TOLERANCE = 1e-4
"""Largest error of an exponent in single precision; beyond it, double precision is used."""
TIE = 16 * float(np.finfo(np.float32).eps)
"""Difference of two halved squared distances that counts as a tie, relative to the lengths of the
query and of its nearest landmark."""
MAX_DENSE = 2**24
"""Number of cells up to which sparse landmarks are made dense, which makes products faster."""


def nearest_landmark(queries: Matrix, landmarks: Matrix) -> IntArray:
    """Return the index of the nearest landmark of each query, of equals the first.

    Landmarks count as equally near if single precision cannot distinguish them. So ties, which are
    frequent where probabilities are 0 or 1, are resolved alike in each precision of the queries.
    """
    nearest = np.empty(queries.shape[0], dtype=np.int64)
    own, lengths = (np.sqrt(squared_norms(rows)) for rows in (queries, landmarks))
    points = _Points(landmarks.astype(np.float64, copy=False), 0.5)

    def find(rows: slice) -> None:
        exponents = points.exponents(queries[rows].astype(np.float64, copy=False))
        length = lengths[exponents.argmax(axis=1)]
        least = exponents.max(axis=1) - TIE * length * (own[rows] + length / 2)
        nearest[rows] = (exponents >= least[:, np.newaxis]).argmax(axis=1)

    in_blocks(find, len(nearest), BLOCK, NANOSECONDS * len(nearest) * len(lengths))
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
            np.matmul(weights, table, out=sums[rows])
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
        exponents = queries @ self.transposed
        if sparse.issparse(exponents):
            exponents = exponents.toarray()
        exponents -= self.offsets
        return exponents
