"""From scores to labels: cuts by F1 and by cardinality, top k; which cut is chosen in a tie."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import dawsn

from pairmend._utils.typing import BoolArray, FloatArray, IntArray

DIGITS = 12
"""Decimal places to which shares of weights are compared."""
FEWEST_HITS = 1e-12
"""Smallest number of hits of a batch, by whose root is divided."""


def accept(scores: FloatArray, threshold: float | FloatArray) -> NDArray[np.int64]:
    """Accept labels whose score is strictly above the threshold, common or per label (eq. 7, 8)."""
    return (scores > threshold).astype(np.int64)


def cardinality_cut(
    scores: FloatArray, n_accepted: float, weights: FloatArray | None = None
) -> float:
    """Return the threshold above which the total weight of scores is closest to `n_accepted`.

    Equal scores are accepted together or not at all; of two cuts at the same distance, the one that
    accepts less is returned. The threshold lies midway between two scores, or is infinite.
    """
    ordered, order = descending(scores)
    counts, thresholds = cuts_of_descending(ordered)
    accepted = counts if weights is None else _up_to(weights.ravel()[order])[counts]
    missed = np.abs(accepted - n_accepted)
    if weights is not None:  # rounding must not decide between equal distances
        missed = np.round(missed / weights.sum(), DIGITS)
    return float(thresholds[np.argmin(missed)])


def f1_cut(scores: FloatArray, y: BoolArray, weights: FloatArray | None = None) -> float:
    """Return the threshold of one label at which its F1 is largest.

    It lies midway between two scores; it is infinite if none or all rows are to be accepted. Of
    cuts with the same F1, the one that accepts least is returned.
    """
    ordered, order = descending(scores)
    counts, thresholds = cuts_of_descending(ordered)
    if weights is None:
        hits = np.concatenate([[0], np.cumsum(y[order])])[counts]
        # Twice the hits over accepted plus positive rows; 0 where both are 0.
        f1 = 2 * hits / np.maximum(counts + np.count_nonzero(y), 1)
    else:
        accepted = _up_to(weights[order])[counts]
        hits = _up_to((weights * y)[order])[counts]
        # Rounding must not decide between equal F1.
        total = np.maximum(accepted + weights @ y, np.finfo(np.float64).tiny)
        f1 = np.round(2 * hits / total, DIGITS)
    return float(thresholds[np.argmax(f1)])


def expected_f1_cut(probabilities: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the threshold at which the expected F1 of calibrated probabilities is largest.

    It is half of the largest expected F1 (Lipton, Elkan and Naryanaswamy, 2014), and infinite where
    all probabilities are 0.
    """
    if weights is None:
        ordered = np.sort(probabilities, axis=None)[::-1]
        accepted, hits = np.arange(1, len(ordered) + 1), np.cumsum(ordered)
    else:
        ordered, order = descending(probabilities)
        accepted, hits = np.cumsum(weights[order]), np.cumsum(weights[order] * ordered)
    f1 = 2 * hits / (accepted + hits[-1])
    best = float(f1.max())
    return best / 2 if best > 0 else np.inf


def batch_f1_cut(
    probabilities: FloatArray,
    y: BoolArray,
    batch_size: float,
    prior_mass: float,
    weights: FloatArray | None = None,
) -> float:
    """Return the threshold of one label at which its mean F1 over batches of rows is largest.

    Accepted rows with the label are counted, and expected from the probabilities with a prior mass,
    in rows with the label. Of cuts with the same F1, the one that accepts least is returned.
    """
    ordered, order = descending(probabilities)
    counts, thresholds = cuts_of_descending(ordered)
    weights = np.ones(len(ordered)) if weights is None else weights[order]
    accepted = _up_to(weights)
    hits, expected = _up_to(weights * y[order]), _up_to(weights * ordered)
    total = hits[-1] + prior_mass
    share = hits[-1] / total if total > 0 else 1.0
    mixed = share * hits + (1 - share) * expected
    per_batch = batch_size / accepted[-1]
    errors = np.maximum(accepted[counts] + mixed[-1] - 2 * mixed[counts], 0)
    f1 = mean_batch_f1(per_batch * mixed[counts], per_batch * errors)
    return float(thresholds[np.argmax(np.round(f1, DIGITS))])


def mean_batch_f1(hits: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the mean F1 of one label over random batches of rows, 1 in those without the label.

    `hits` are the mean true positives of a batch, `errors` its mean false positives and negatives.
    Both numbers H and E are taken as independent Poisson variables. The mean of 2H / (2H + E) is
    one minus the integral of e * exp(-h (1 - s^2) - e (1 - s)) over s from 0 to 1, a difference of
    two values of Dawson's function. F1 counts as 1 where H = E = 0.
    """
    root = np.sqrt(np.maximum(hits, FEWEST_HITS))
    ratio = errors / (2 * root)
    none_at_all = np.exp(-(root**2) - errors)
    return np.asarray(1 - 2 * ratio * (dawsn(root + ratio) - none_at_all * dawsn(ratio)))


def descending(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return scores in descending order, and the order."""
    flat = scores.ravel()
    order = np.argsort(-flat)
    return flat[order], order


def _up_to(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, 2... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def cuts_of_descending(descending: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many of the sorted scores can be accepted, and the thresholds to do so."""
    high, low = descending[:-1], descending[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle < high, middle, low)  # between adjacent floats there is no other
    thresholds = np.concatenate([[np.inf], middle, [-np.inf]])
    distinct = np.concatenate([[True], high > low, [True]])
    counts = np.flatnonzero(distinct)
    return counts, thresholds[counts]


def top_labels(scores: FloatArray, k: int) -> NDArray[np.int64]:
    """Accept the k labels of each row with the highest scores; of equal scores, the first."""
    accepted = np.zeros(scores.shape, dtype=np.int64)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.put_along_axis(accepted, best, 1, axis=1)
    return accepted
