"""Compiled equivalents of the numpy functions of ``mended/single_row.py``, all in one call."""

import numpy as np

from pairmend._utils.compilation import compiled
from pairmend._utils.exponentials import CHUNK, exponential_factors
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.kernels.landmarks import TOLERANCE
from pairmend.kernels.leave_one_out import ROUNDING
from pairmend.kernels.single_query import AT_ONCE
from pairmend.mended.distances import PROBA_MARGIN as LOG_ODDS_MARGIN
from pairmend.mended.label_sets import PROBA_MARGIN

FEATURES, LOG_ODDS = 0, 1
"""Sources of coordinates."""


@compiled()
def _replace_by_exponentials(
    values: FloatArray, copy: FloatArray, powers: FloatArray, bits: IntArray, lowest: float
) -> None:
    for i in range(len(values)):
        copy[i] = values[i]
    exponential_factors(copy[: len(values)], powers, bits)
    for i in range(len(values)):
        values[i] = max(copy[i] * powers[i], lowest)


@compiled()
def exponential(values: FloatArray) -> None:
    """Replace numbers by their exponentials, (n,); subnormal ones, which are slow, by the least."""
    copy, powers = np.empty(CHUNK), np.empty(CHUNK)
    bits, lowest = powers.view(np.int64), np.float64(np.finfo(values.dtype).tiny)
    for start in range(0, len(values), CHUNK):
        _replace_by_exponentials(values[start : start + CHUNK], copy, powers, bits, lowest)


@compiled(fastmath=True)
def _subtract_largest(values: FloatArray) -> None:
    """Subtract the largest value from all, (n,)."""
    largest = values[0]
    for i in range(len(values)):
        largest = max(largest, values[i])
    for i in range(len(values)):
        values[i] -= largest


@compiled(fastmath={"contract", "reassoc"})
def _add_products(
    query: FloatArray,
    other: FloatArray,
    landmarks: FloatArray,
    j: int,
    out: FloatArray,
    other_out: FloatArray,
) -> None:
    """Add the products of AT_ONCE coordinates of two queries with those of landmarks, (M,)."""
    a, b, c, d = query[j], query[j + 1], query[j + 2], query[j + 3]
    e, f, g, h = other[j], other[j + 1], other[j + 2], other[j + 3]
    for i in range(len(out)):
        w, x, y, z = landmarks[j, i], landmarks[j + 1, i], landmarks[j + 2, i], landmarks[j + 3, i]
        out[i] += a * w + b * x + c * y + d * z
        other_out[i] += e * w + f * x + g * y + h * z


@compiled(fastmath={"reassoc"})
def _sum(values: FloatArray) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@compiled(fastmath={"contract", "reassoc"})
def _sum_of_products(a: FloatArray, b: FloatArray) -> np.floating:
    total = a.dtype.type(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled()
def sums_around(
    centred: FloatArray,
    spaces: IntArray,
    places: IntArray,
    factors: FloatArray,
    landmarks: FloatArray,
    offsets: FloatArray,
    tables: FloatArray,
    capped_masses: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill in the sums around one query, (n_parts, C), as `SingleQuerySums.around` does."""
    weights, queries = np.empty_like(offsets), np.empty(factors.shape, landmarks.dtype)
    for place in range(len(factors)):
        for j in range(len(centred)):
            queries[place, j] = factors[place, j] * centred[j]
    for s in range(len(spaces)):
        first, second = weights[s, 0], weights[s, 1]
        for i in range(len(first)):
            first[i], second[i] = -offsets[s, 0, i], -offsets[s, 1, i]
        for j in range(spaces[s, 1], spaces[s, 3], AT_ONCE):
            _add_products(queries[0], queries[1], landmarks, j, first, second)
    for k in range(len(places)):
        own = weights[places[k, 0], places[k, 1]]
        _subtract_largest(own)
        exponential(own)
        for column in range(tables.shape[1]):
            sums[k, column] = _sum_of_products(own, tables[k, column])
        if len(capped_masses):
            largest = own[0] * capped_masses[k, 0]
            for i in range(len(own)):
                largest = max(largest, own[i] * capped_masses[k, i])
            for column in range(tables.shape[1]):
                sums[k, column] /= largest


@compiled()
def _clipped_log_odds(proba: float) -> float:
    """Return the log-odds as a coordinate, as `distances.log_odds` does."""
    p = min(max(proba, LOG_ODDS_MARGIN), 1 - LOG_ODDS_MARGIN)
    return np.log(p / (1 - p))


@compiled()
def _reference(support: float, series: FloatArray, power: int) -> float:
    """Return the probability of deciding for a label, see `kernels.rrc`."""
    q = min(support, 1 - support)
    p = series[0]
    for c in range(1, len(series)):
        p = p * (4 * q - 1) + series[c]
    for _ in range(power):
        p *= q
    return 1 - p if support > 0.5 else p


@compiled()
def correct_and_stack(
    proba: FloatArray,
    sums: FloatArray,
    series: FloatArray,
    powers: IntArray,
    given_on: FloatArray,
    given_off: FloatArray,
    mass: FloatArray,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Fill in the weighted sum of corrections and `proba`, (L,), as in `single_row`."""
    n_parts, n_labels = len(sums), len(proba)
    rounding = sums.dtype.type(ROUNDING * np.finfo(sums.dtype).eps)
    for label in range(n_labels):
        total = weights[n_parts + 1, label] * proba[label]
        for k in range(n_parts + 1):
            on, off = given_on[k, label], given_off[k, label]
            if k < n_parts:
                hit, mass_on = sums[k, label], sums[k, n_labels + label]
                mass_off = sums[k, -1] - mass_on
                if mass_off <= rounding * sums[k, -1]:
                    mass_off = sums.dtype.type(0)
                missed = min(max(sums[k, 2 * n_labels + label] - hit, 0), mass_off)
                whole_on, whole_off = mass_on + mass[k], mass_off + mass[k]
                on = (hit + mass[k] * on) / whole_on if whole_on > 0 else 1.0
                off = (missed + mass[k] * off) / whole_off if whole_off > 0 else 0.0
            p = off + _reference(proba[label], series[k], powers[k]) * (on - off)
            total += weights[k, label] * min(max(p, 0.0), 1.0)
        out[label] = min(max(total, 0.0), 1.0)


@compiled(fastmath={"contract", "reassoc"})
def _add_multiple(factor: float, values: IntArray, out: FloatArray) -> None:
    for i in range(len(out)):
        out[i] += factor * values[i]


@compiled()
def marginals(proba: FloatArray, members: IntArray, prior: FloatArray, out: FloatArray) -> None:
    """Fill in the probability of each label over all sets, (L,), as `LabelSets.marginals` does."""
    scores = np.empty_like(prior)
    for i in range(len(prior)):
        scores[i] = prior[i]
    for label in range(len(proba)):
        p = min(max(proba[label], PROBA_MARGIN), 1 - PROBA_MARGIN)
        _add_multiple(np.log(p) - np.log1p(-p), members[label], scores)
    _subtract_largest(scores)
    exponential(scores)
    total = _sum(scores)
    for label in range(len(proba)):
        out[label] = min(_sum_of_products(scores, members[label]) / total, 1.0)


@compiled()
def correct_one_row(
    features: FloatArray,
    proba: FloatArray,
    spaces: IntArray,
    places: IntArray,
    mean: FloatArray,
    roots: FloatArray,
    factors: FloatArray,
    landmarks: FloatArray,
    offsets: FloatArray,
    tables: FloatArray,
    capped_masses: FloatArray,
    series: FloatArray,
    powers: IntArray,
    given_on: FloatArray,
    given_off: FloatArray,
    mass: FloatArray,
    weights: FloatArray,
    members: IntArray,
    prior: FloatArray,
    set_weights: FloatArray,
    out: FloatArray,
) -> bool:
    """Fill in corrected probabilities of one row without and with label sets, (2, L).

    Returns False if the row is too far from the landmarks for the precision, or not finite.
    """
    centred = np.zeros(len(mean))
    for s in range(len(spaces)):
        source, start, length = spaces[s, 0], spaces[s, 1], spaces[s, 2]
        for i in range(length):
            value = features[i] if source == FEATURES else _clipped_log_odds(proba[i])
            centred[start + i] = value - mean[start + i]
        for place in range(len(roots)):
            norm = 0.0
            for j in range(start, start + length):
                norm += (roots[place, j] * centred[j]) ** 2
            if not norm <= TOLERANCE / np.finfo(landmarks.dtype).eps:
                return False
    sums = np.empty(tables.shape[:2], landmarks.dtype)
    sums_around(centred, spaces, places, factors, landmarks, offsets, tables, capped_masses, sums)
    correct_and_stack(proba, sums, series, powers, given_on, given_off, mass, weights, out[0])
    if len(prior):
        marginals(out[0], members, prior, out[1])
    for label in range(len(proba)):
        p = set_weights[0] * out[0, label]
        if len(prior):
            p += set_weights[1] * out[1, label]
        out[1, label] = min(max(p, 0.0), 1.0)
    return True
