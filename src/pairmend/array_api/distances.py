"""Scaled points and weights by distance, in terms of the array API.

They equal :mod:`pairmend.kernels.neighbourhood` for dense rows without missing values.
"""

import math

import numpy as np

from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.typing import FloatArray
from pairmend._utils.validation import LARGEST
from pairmend.kernels.neighbourhood import KTH_NEIGHBOUR_WEIGHT


def mean_and_divisor(
    rows: Array, scale: str | None, weights: FloatArray | None, namespace: Namespace
) -> tuple[Array, Array]:
    """Return each feature's mean, and its divisor: range, standard deviation or 1."""
    xp = namespace.xp
    if weights is not None and not (weights > 0).all():
        rows = xp.take(rows, namespace.asarray(np.flatnonzero(weights > 0)), axis=0)
        weights = weights[weights > 0]
    rows = xp.astype(rows, namespace.float64)
    mass = np.ones(rows.shape[0]) if weights is None else weights
    masses, total = namespace.asarray(mass)[:, None], float(mass.sum())
    mean = xp.sum(rows * masses, axis=0) / total
    low, high = xp.min(rows, axis=0), xp.max(rows, axis=0)
    spread = high - low
    if scale is None:
        return mean, xp.ones_like(spread)
    if scale == "range":
        return mean, spread
    deviation = xp.sqrt(xp.sum((rows - mean) ** 2 * masses, axis=0) / total)
    return mean, xp.where(spread > 0, deviation, xp.zeros_like(spread))


def scaled(rows: Array, mean: Array, divisor: Array) -> Array:
    """Return rows as points in double precision: centred, then divided."""
    space = Namespace.of(mean)
    xp = space.xp
    is_used = divisor > 2.3e-308 if divisor.dtype == xp.float64 else divisor > 1.2e-38
    factor = xp.where(is_used, 1 / xp.where(is_used, divisor, xp.ones_like(divisor)), 0.0)
    points = (xp.astype(rows, mean.dtype) - mean) * factor
    limit = LARGEST["float64" if mean.dtype == xp.float64 else "float32"]
    return xp.clip(points, min=-limit, max=limit)


def squared_offsets(queries: Array, points: Array) -> Array:
    """Return squared distances less the query's own squared norm, (M, t)."""
    xp = Namespace.of(points).xp
    norms = xp.sum(points * points, axis=1)[:, None]
    offsets = points @ queries.T
    offsets *= -2
    offsets += norms
    return offsets


def gaussian_weights(queries: Array, points: Array, beta: float) -> Array:
    """Return the weights exp(-beta * squared distance), relative to the nearest, (M, t)."""
    xp = Namespace.of(points).xp
    offsets = squared_offsets(queries, points)
    offsets -= xp.min(offsets, axis=0)
    offsets *= -beta
    return xp.exp(offsets)


def adaptive_weights(queries: Array, points: Array, k: int) -> Array:
    """Return weights of a Gaussian as wide as the distance of the k-th nearest point, (M, t)."""
    xp = Namespace.of(points).xp
    own = xp.sum(queries * queries, axis=1)
    size = xp.sum(points * points, axis=1)[:, None] + own
    squared = squared_offsets(queries, points) + own
    # The computed distance of equal points is rounding.
    rounding = 4 * float(xp.finfo(squared.dtype).eps) * max(2, points.shape[1])
    squared = xp.where(squared > rounding * size, squared, xp.zeros_like(squared))
    kth = xp.sort(squared, axis=0)[k - 1, :]
    ratio = squared / xp.where(kth > 0, kth, xp.ones_like(kth))
    # Where k or more points coincide with the query, these have weight 1 and all others 0.
    at_zero = xp.where(squared > 0, xp.full_like(squared, xp.inf), xp.zeros_like(squared))
    ratio = xp.where(kth > 0, ratio, at_zero)
    return xp.exp(math.log(KTH_NEIGHBOUR_WEIGHT) * ratio)
