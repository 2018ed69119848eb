"""The unit in which sample weights are counted.

A prior mass, a smoothing count or a minimum number of rows is a number of rows. Where rows have
weights, such a number counts in a unit that is found in the weights themselves, so that all
weights times a constant give the same classifier.
"""

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray

SHARE = 0.02
"""Share of the total weight that rows lighter than the unit, and those of the unit, hold."""
NEGLIGIBLE = 1e-6
"""Rows that weigh less than this many units are left out, as rows of weight 0 are."""
SLACK = 1e-9
"""Relative difference of sums below which they count as equal."""


def unit_weight(weights: FloatArray) -> float:
    """Return the weight that counts as one row.

    It is the smallest weight such that the rows with weights up to it hold at least 2 % of the
    total weight. Rows of weight 1 among heavier ones are the unit as long as they hold 2 % of the
    total, and rows of very small weight do not move it.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Weights of rows, none below 0.

    Returns
    -------
    float
        1 if no weight is above 0.

    Examples
    --------
    >>> unit_weight(np.array([1.0, 2.0, 2.0, 1e-9]))
    1.0
    >>> unit_weight(np.full(4, 0.25))
    0.25
    """
    positive = np.sort(weights[weights > 0])
    if len(positive) == 0:
        return 1.0
    up_to = np.cumsum(positive)
    return float(positive[np.searchsorted(up_to, SHARE * (1 - SLACK) * up_to[-1])])


def without_negligible(weights: FloatArray, unit: float | None = None) -> FloatArray:
    """Return weights with 0 in place of those below a millionth of the unit.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Weights of rows, none below 0.
    unit : float, default=None
        The weight that counts as one row; None means :func:`unit_weight` of the weights.

    Examples
    --------
    >>> without_negligible(np.array([1.0, 1e-9, 0.5])).tolist()
    [1.0, 0.0, 0.5]
    """
    unit = unit_weight(weights) if unit is None else unit
    return np.where(weights < NEGLIGIBLE * unit, 0, weights)


def relative_weights(weights: FloatArray) -> FloatArray:
    """Return weights in units of :func:`unit_weight`.

    Examples
    --------
    >>> relative_weights(np.array([0.25, 0.5, 0.25])).tolist()
    [1.0, 2.0, 1.0]
    """
    return weights / unit_weight(weights)


def all_equal(weights: FloatArray) -> bool:
    """Return whether all weights are the same, so that they change nothing.

    Examples
    --------
    >>> all_equal(np.array([0.5, 0.5])), all_equal(np.array([0.5, 1.0]))
    (True, False)
    """
    return bool((weights == weights[:1]).all())


def draw_rows(
    order: IntArray, weights: FloatArray, n_rows: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Draw rows without replacement, heavier ones with a larger chance.

    The chance of a row is proportional to its weight, at most 1, and the row then counts by its
    weight over its chance: weighted means over the rows drawn are those over all rows but for
    chance. Rows of equal weight are equally likely and keep their weight.

    Parameters
    ----------
    order : ndarray of int, shape (n,)
        All rows in random order.
    weights : ndarray of shape (n,)
        Weights of rows by number, all above 0.
    n_rows : int
        How many rows to draw; all if there are no more.
    rng : RandomState
        Source of randomness, used where weights differ only.

    Returns
    -------
    rows : ndarray of int
        Numbers of the rows drawn, in the order given.
    weights : ndarray of shape (n,)
        The weights of rows where they are drawn, by number.

    Examples
    --------
    >>> weights = np.array([100.0, 1.0, 1.0, 1.0])
    >>> rows, counts = draw_rows(np.arange(4), weights, 2, np.random.RandomState(0))
    >>> rows.tolist(), counts.tolist()
    ([0, 2], [100.0, 3.0, 3.0, 3.0])
    """
    if n_rows >= len(order) or all_equal(weights):
        return order[:n_rows], weights
    chances = _chances(weights, n_rows)
    # Systematic sampling: one row for each whole number that the running sum of chances passes.
    passed = np.floor(np.cumsum(chances[order]) + rng.random_sample())
    return order[np.diff(passed, prepend=0) > 0], weights / chances


def _chances(weights: FloatArray, n_rows: int) -> FloatArray:
    """Return chances proportional to weights, none above 1, whose sum is a number of rows."""
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        left = np.where(certain, 0.0, weights)
        chances = np.where(certain, 1.0, (n_rows - certain.sum()) * left / left.sum())
        heavier = ~certain & (chances >= 1)
        if not heavier.any():
            return chances
        certain |= heavier


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the median of values, each counted by its weight.

    As for an even number of values, it is the mean of two values where they halve the weight.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]))
    3.0
    """
    if all_equal(weights):
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    half = up_to[-1] / 2
    low, high = np.searchsorted(up_to, [half * (1 - SLACK), half * (1 + SLACK)])
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)
