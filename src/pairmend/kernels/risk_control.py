"""Cuts with a guaranteed recall or precision: conformal risk control, learn then test."""

import numpy as np
from scipy.special import bdtr, xlogy

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.threshold import DIGITS, cuts_of_descending, descending

WHOLE = 9
"""Decimal places to which sums of losses are compared with whole numbers."""


def hoeffding_bentkus(risk: FloatArray, n_rows: IntArray, alpha: float) -> FloatArray:
    """Return p-values of the hypotheses that the expected loss is above `alpha`.

    The losses lie in [0, 1], `risk` is their mean over `n_rows` independent rows. Without rows the
    p-value is 1.
    """
    below = np.minimum(risk, alpha)
    divergence = xlogy(below, below / alpha) + xlogy(1 - below, (1 - below) / (1 - alpha))
    hoeffding = np.exp(-n_rows * divergence)
    # Rounding errors of a sum must not count as one more loss.
    total = np.minimum(np.ceil(np.round(n_rows * risk, WHOLE)), n_rows)
    bentkus = np.e * bdtr(total, n_rows, alpha)
    p_values: FloatArray = np.where(n_rows > 0, np.minimum(1, np.minimum(hoeffding, bentkus)), 1.0)
    return p_values


def conformal_recall_cut(scores: FloatArray, Y: BoolArray, target: float) -> tuple[float, float]:
    """Return the largest cut with a guaranteed expected recall of a new row, and the mean recall.

    All rows have a label. The cut is minus infinity if no other has the guarantee.
    """
    thresholds, recall = recalls(scores, Y)
    n_rows = len(scores)
    bound = (n_rows * (1 - recall) + 1) / (n_rows + 1)
    return _largest(thresholds, recall, np.round(bound, DIGITS) <= round(1 - target, DIGITS))


def recall_cut(
    scores: FloatArray, Y: BoolArray, target: float, confidence: float
) -> tuple[float, float]:
    """Return the largest cut whose recall is guaranteed with a confidence, and the mean recall."""
    thresholds, recall = recalls(scores, Y)
    n_rows = np.full(len(recall), len(scores))
    p_values = hoeffding_bentkus(1 - recall, n_rows, 1 - target)
    return _largest(thresholds, recall, p_values <= 1 - confidence)


def _largest(thresholds: FloatArray, recall: FloatArray, valid: BoolArray) -> tuple[float, float]:
    if not valid.any():  # all labels have the recall 1: this guarantee needs no rows
        return -np.inf, 1.0
    chosen = int(np.argmax(valid))
    return float(thresholds[chosen]), float(recall[chosen])


def recalls(scores: FloatArray, Y: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return all cuts, the largest first, and the mean recall of the rows at each.

    The last cut is the largest number below all scores.
    """
    if not len(scores):
        return np.empty(0), np.empty(0)
    ordered, order = descending(scores)
    counts, thresholds = cuts_of_descending(ordered)
    thresholds[-1] = np.nextafter(ordered[-1], -np.inf)
    shares = Y / np.maximum(Y.sum(axis=1, keepdims=True), 1)
    total = np.concatenate([[0.0], np.cumsum(shares.ravel()[order])])[counts]
    return thresholds, _mean(total, len(scores))


def precision_cut(
    scores: FloatArray, Y: BoolArray, target: float, confidence: float, starts: FloatArray
) -> tuple[float, float, int]:
    """Return a cut with a guaranteed precision, the mean precision, and the rows that have one.

    From each of the `starts`, the largest first, the cut is lowered until a test at the level
    (1 - confidence) / len(starts) fails. The lowest cut that passed is returned, or infinity.
    """
    thresholds, precision, n_rows = precisions(scores, Y)
    p_values = hoeffding_bentkus(1 - precision, n_rows, 1 - target)
    passed = p_values <= (1 - confidence) / len(starts)
    # At cuts from the score below, inclusive, to the score above, the same labels are accepted.
    below = np.concatenate([np.unique(scores)[::-1], [-np.inf]])
    first = np.searchsorted(-below, -starts)
    run = np.cumsum(~passed)
    lowest = [
        int(np.flatnonzero(passed & (run == run[at]))[-1]) if passed[at] else -1 for at in first
    ]
    chosen = max(lowest)
    if chosen < 0:
        return np.inf, np.nan, 0
    # The tests have begun at a starting point, so no cut above it was tested.
    start = starts[lowest.index(chosen)]
    return (
        min(float(thresholds[chosen]), float(start)),
        float(precision[chosen]),
        int(n_rows[chosen]),
    )


def precisions(scores: FloatArray, Y: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return all cuts, the largest first, the mean precision at each, and the rows that have one.

    At the cuts, labels are accepted one after the other. Each changes the precision of its row.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    sorted_scores = np.take_along_axis(scores, order, axis=1)
    hits = np.cumsum(np.take_along_axis(Y, order, axis=1), axis=1)
    of_row = hits / np.arange(1, scores.shape[1] + 1)
    changes = np.diff(of_row, axis=1, prepend=0.0)
    first = np.zeros(scores.shape, dtype=np.int64)
    first[:, :1] = 1
    ordered, place = descending(sorted_scores)
    counts, thresholds = cuts_of_descending(ordered)
    total = np.concatenate([[0.0], np.cumsum(changes.ravel()[place])])[counts]
    n_rows = np.concatenate([[0], np.cumsum(first.ravel()[place])])[counts]
    precision = np.where(n_rows > 0, _mean(total, np.maximum(n_rows, 1)), np.nan)
    return thresholds, precision, n_rows


def _mean(total: FloatArray, n_rows: int | IntArray) -> FloatArray:
    """Return means of shares; rounding errors of the sums must not lead out of [0, 1]."""
    mean: FloatArray = np.clip(total / n_rows, 0.0, 1.0)
    return mean
