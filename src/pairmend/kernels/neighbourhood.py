"""Gaussian and adaptive weights of validation rows around a row, from squared distances.

Points are rows of numbers, already scaled, dense or CSR. Weights are (t, M), one row for each of
the t queries, in column-major order because the confusion sums read them that way.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import in_threads, thread_count
from pairmend._utils.typing import FloatArray, Matrix

KTH_NEIGHBOUR_WEIGHT = 0.3
"""Weight of the k-th neighbour in an adaptive neighbourhood."""

AT_ONCE = 256
"""Points whose distances are computed at once, at the most."""
TILE = 2**15
"""Exponents processed at once, few enough to stay in the processor's cache."""


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
        offsets = points @ queries.T
        if sparse.issparse(offsets):
            offsets = offsets.toarray()
        offsets *= -2
        offsets += norms
        return offsets
    offsets = np.empty((len(points), queries.shape[0]), np.result_type(points, queries))
    n_threads = thread_count(nanoseconds=0.03 * points.size * queries.shape[0])
    at_once = max(1, min(AT_ONCE, -(-len(points) // n_threads)))

    def fill(start: int) -> None:
        part = slice(start, start + at_once)
        out = np.matmul(points[part], queries.T, out=offsets[part])
        out *= -2
        out += norms[part]

    in_threads(fill, range(0, len(points), at_once), n_threads)
    return offsets


def exponential(exponents: FloatArray) -> FloatArray:
    """Compute exp of numbers up to 0, in place: equal to numpy's, but faster.

    numpy is a dozen times slower where results are subnormal or zero, which nearly all are in a
    narrow neighbourhood. Only the few subnormal ones are left to it.
    """
    info = np.finfo(exponents.dtype)
    lowest, zero = np.log(info.tiny) + 1, np.log(info.smallest_subnormal) - 1
    assert exponents.flags.c_contiguous  # or flat would be a copy
    flat = exponents.reshape(-1)
    for start in range(0, len(flat), TILE):
        here = flat[start : start + TILE]
        below = here < lowest
        if not below.any():
            np.exp(here, out=here)
            continue
        nearly = np.flatnonzero(below & (here > zero))
        subnormal = np.exp(here[nearly])
        np.exp(np.maximum(here, lowest, out=here), out=here)
        np.copyto(here, 0, where=below)
        here[nearly] = subnormal
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
