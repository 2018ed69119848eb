"""Sample weights: the weight that counts as one row, and which rows are left out.

A prior mass, a smoothing count or a minimum number of rows is a number of rows. Where rows have
weights, such a number is multiplied by a unit that is computed from the weights, so that all
weights times a constant give the same classifier.
"""

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray

SHARE = 0.02
"""Share of the total weight of the rows up to the unit."""
NEGLIGIBLE = 1e-6
"""Rows that weigh less than this many units are left out, as rows of weight 0 are."""
SLACK = 1e-9
"""Relative difference of sums below which they count as equal."""


def unit_weight(weights: FloatArray) -> float:
    """Return the weight that counts as one row, 1 if no weight is above 0.

    It is the smallest weight such that the rows with weights up to it have at least 2 % of the
    total weight. Rows of weight 1 among heavier ones are the unit as long as they have 2 % of the
    total, and rows of very small weight do not change it.
    """
    positive = np.sort(weights[weights > 0])
    if len(positive) == 0:
        return 1.0
    up_to = np.cumsum(positive)
    return float(positive[np.searchsorted(up_to, SHARE * (1 - SLACK) * up_to[-1])])


def without_negligible(weights: FloatArray, unit: float | None = None) -> FloatArray:
    """Return weights with 0 in place of those below a millionth of the unit."""
    unit = unit_weight(weights) if unit is None else unit
    return np.where(weights < NEGLIGIBLE * unit, 0, weights)


def relative_weights(weights: FloatArray) -> FloatArray:
    """Return weights in units of :func:`unit_weight`."""
    return weights / unit_weight(weights)


def all_equal(weights: FloatArray) -> bool:
    """Return whether all weights are the same, so that they have no effect."""
    return bool((weights == weights[:1]).all())


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


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median, the mean of two values where they halve the weight."""
    if all_equal(weights):
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    half = up_to[-1] / 2
    low, high = np.searchsorted(up_to, [half * (1 - SLACK), half * (1 + SLACK)])
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)
