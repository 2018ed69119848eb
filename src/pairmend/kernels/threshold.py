"""From scores of labels to decisions."""

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.typing import BoolArray, FloatArray, IntArray

DIGITS = 12
"""Decimal places to which shares of weights are compared."""


def accept(scores: FloatArray, threshold: float | FloatArray) -> NDArray[np.int64]:
    """Accept the labels whose score lies above the threshold, strictly (eq. 7, 8).

    Parameters
    ----------
    scores : ndarray of shape (t, L)
        Label scores.
    threshold : float or ndarray of shape (L,)
        What a score must exceed; one for all labels, or one for each.

    Returns
    -------
    ndarray of int, shape (t, L)
        0 or 1.

    Examples
    --------
    >>> accept(np.array([[0.4, 0.5, 0.6]]), 0.5).tolist()
    [[0, 0, 1]]
    """
    return (scores > threshold).astype(np.int64)


def cardinality_cut(
    scores: FloatArray, n_accepted: float, weights: FloatArray | None = None
) -> float:
    """Return the threshold above which the weight of scores is closest to a wanted one.

    Equal scores are accepted together or not at all; of two cuts as close, the one that
    accepts less is taken.

    Parameters
    ----------
    scores : ndarray
        Scores of all labels of all rows.
    n_accepted : float
        Weight of those that are to be accepted.
    weights : ndarray, default=None
        Weights of the scores, in the same shape; None means that each weighs 1.

    Returns
    -------
    float
        Midway between two scores; infinite if none or all are accepted.

    Examples
    --------
    >>> cardinality_cut(np.array([[0.1, 0.4], [0.8, 0.6]]), 2)
    0.5
    """
    ordered, order = _descending(scores)
    counts, thresholds = _cuts(ordered)
    accepted = counts if weights is None else _up_to(weights.ravel()[order])[counts]
    missed = np.abs(accepted - n_accepted)
    if weights is not None:  # what rounding leaves must not decide between equals
        missed = np.round(missed / weights.sum(), DIGITS)
    return float(thresholds[np.argmin(missed)])


def f1_cut(scores: FloatArray, y: BoolArray, weights: FloatArray | None = None) -> float:
    """Return the threshold of one label at which its F1 is largest.

    Parameters
    ----------
    scores : ndarray of shape (t,)
        The label's scores.
    y : ndarray of bool, shape (t,)
        Which rows carry it.
    weights : ndarray of shape (t,), default=None
        Weights of the rows; None means that each weighs 1.

    Returns
    -------
    float
        Midway between two scores; infinite if none or all are to be accepted: none where no
        row carries the label. Of cuts with the same F1, the one that accepts least.

    Examples
    --------
    >>> f1_cut(np.array([0.1, 0.25, 0.75, 0.9]), np.array([False, True, False, True]))
    0.175
    """
    ordered, order = _descending(scores)
    counts, thresholds = _cuts(ordered)
    if weights is None:
        hits = np.concatenate([[0], np.cumsum(y[order])])[counts]
        # Twice the hits over the number accepted plus the number carried; 0 where both are 0.
        f1 = 2 * hits / np.maximum(counts + np.count_nonzero(y), 1)
    else:
        accepted = _up_to(weights[order])[counts]
        hits = _up_to((weights * y)[order])[counts]
        # What rounding leaves must not decide between equals.
        total = np.maximum(accepted + weights @ y, np.finfo(np.float64).tiny)
        f1 = np.round(2 * hits / total, DIGITS)
    return float(thresholds[np.argmax(f1)])


def expected_f1_cut(probabilities: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the threshold at which the F1 to be expected of probabilities is largest.

    It needs no truth, only probabilities that mean what they say: half of the largest expected
    F1 (Lipton, Elkan and Naryanaswamy, 2014).

    Parameters
    ----------
    probabilities : ndarray of shape (t,)
        Probability that each row carries the label.
    weights : ndarray of shape (t,), default=None
        Weights of the rows; None means that each weighs 1.

    Returns
    -------
    float
        Infinite where no row can carry the label.

    Examples
    --------
    >>> expected_f1_cut(np.array([0.1, 0.4, 1.0]))
    0.4
    """
    if weights is None:
        ordered = np.sort(probabilities, axis=None)[::-1]
        accepted, hits = np.arange(1, len(ordered) + 1), np.cumsum(ordered)
    else:
        ordered, order = _descending(probabilities)
        accepted, hits = np.cumsum(weights[order]), np.cumsum(weights[order] * ordered)
    f1 = 2 * hits / (accepted + hits[-1])
    best = float(f1.max())
    return best / 2 if best > 0 else np.inf


def _descending(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return scores from the highest to the lowest, and their order, equals in any order."""
    flat = scores.ravel()
    order = np.argsort(-flat)
    return flat[order], order


def _up_to(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, 2... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _cuts(descending: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many of the sorted scores can be accepted, and the thresholds to do so."""
    high, low = descending[:-1], descending[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle < high, middle, low)  # neighbouring floats have nothing between
    thresholds = np.concatenate([[np.inf], middle, [-np.inf]])
    distinct = np.concatenate([[True], high > low, [True]])
    counts = np.flatnonzero(distinct)
    return counts, thresholds[counts]


def top_labels(scores: FloatArray, k: int) -> NDArray[np.int64]:
    """Accept the k labels of each row that score highest.

    Parameters
    ----------
    scores : ndarray of shape (t, L)
        Label scores.
    k : int
        How many; of labels that score alike, the first.

    Returns
    -------
    ndarray of int, shape (t, L)
        0 or 1.

    Examples
    --------
    >>> top_labels(np.array([[0.4, 0.9, 0.6, 0.4]]), 3).tolist()
    [[1, 1, 1, 0]]
    """
    accepted = np.zeros(scores.shape, dtype=np.int64)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.put_along_axis(accepted, best, 1, axis=1)
    return accepted
