"""From scores to labels: cuts by F1, by cardinality, and with a guaranteed recall or precision.

Which cut is chosen in a tie. Guarantees are those of conformal risk control and learn then test.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, dawsn, xlogy

from pairmend._utils.typing import BoolArray, FloatArray, IntArray

DIGITS = 12
"""Decimal places to which shares of weights are compared."""
FEWEST_HITS = 1e-12
"""Smallest number of hits of a batch, by whose root is divided."""


def cardinality_cut(
    scores: FloatArray, n_accepted: float, weights: FloatArray | None = None
) -> float:
    """Return the threshold above which the total weight of scores is closest to `n_accepted`.

    Equal scores are accepted together or not at all; of two cuts at the same distance, the one that
    accepts less is returned. The threshold lies midway between two scores, or is infinite.
    """
    weights = np.ones(scores.size) if weights is None else weights
    thresholds, accepted = cuts_of(scores, weights)
    missed = np.abs(accepted - n_accepted)
    # Rounding must not decide between equal distances.
    return float(thresholds[np.argmin(np.round(missed / weights.sum(), DIGITS))])


def f1_cut(scores: FloatArray, y: BoolArray, weights: FloatArray | None = None) -> float:
    """Return the threshold of one label at which its F1 is largest.

    It lies midway between two scores; it is infinite if none or all rows are to be accepted. Of
    cuts with the same F1, the one that accepts least is returned.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    thresholds, accepted, hits = cuts_of(scores, weights, weights * y)
    # Twice the hits over accepted plus positive rows; 0 where both are 0.
    f1 = 2 * hits / np.maximum(accepted + weights @ y, np.finfo(np.float64).tiny)
    # Rounding must not decide between equal F1.
    return float(thresholds[np.argmax(np.round(f1, DIGITS))])


def expected_f1_cut(probabilities: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the threshold at which the expected F1 of calibrated probabilities is largest.

    It is half of the largest expected F1 (Lipton, Elkan and Naryanaswamy, 2014), and infinite where
    all probabilities are 0.
    """
    weights = np.ones(len(probabilities)) if weights is None else weights
    order = np.argsort(-probabilities)
    accepted, hits = np.cumsum(weights[order]), np.cumsum((weights * probabilities)[order])
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
    weights = np.ones(len(probabilities)) if weights is None else weights
    summands = weights, weights * y, weights * probabilities
    thresholds, accepted, hits, expected = cuts_of(probabilities, *summands)
    total = hits[-1] + prior_mass
    share = hits[-1] / total if total > 0 else 1.0
    mixed = share * hits + (1 - share) * expected
    per_batch = batch_size / accepted[-1]
    errors = np.maximum(accepted + mixed[-1] - 2 * mixed, 0)
    f1 = mean_batch_f1(per_batch * mixed, per_batch * errors)
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


def cuts_of(scores: FloatArray, *summands: FloatArray) -> tuple[FloatArray, ...]:
    """Return all thresholds, the largest first, and the sums over what is accepted at each.

    Thresholds lie between two scores. Equal scores are accepted together.
    """
    order = np.argsort(-scores.ravel())
    ordered = scores.ravel()[order]
    high, low = ordered[:-1], ordered[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle < high, middle, low)  # between adjacent floats there is no other
    distinct = np.concatenate([[True], high > low, [True]])
    sums = (np.concatenate([[0.0], np.cumsum(each.ravel()[order])])[distinct] for each in summands)
    return np.concatenate([[np.inf], middle, [-np.inf]])[distinct], *sums


def top_labels(scores: FloatArray, k: int) -> NDArray[np.int64]:
    """Accept the k labels of each row with the highest scores; of equal scores, the first."""
    accepted = np.zeros(scores.shape, dtype=np.int64)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.put_along_axis(accepted, best, 1, axis=1)
    return accepted


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


def recall_cut(
    scores: FloatArray, Y: BoolArray, target: float, confidence: float | None
) -> tuple[float, float]:
    """Return the largest cut with a guaranteed recall, and the mean recall of the rows.

    Without a confidence, the guarantee is that of the expected recall of a new row. All rows have a
    label. The cut is minus infinity if no other has the guarantee.
    """
    thresholds, recall = recalls(scores, Y)
    n_rows = len(scores)
    if confidence is None:
        bound = (n_rows * (1 - recall) + 1) / (n_rows + 1)
        valid = np.round(bound, DIGITS) <= round(1 - target, DIGITS)
    else:
        p_values = hoeffding_bentkus(1 - recall, np.full(len(recall), n_rows), 1 - target)
        valid = p_values <= 1 - confidence
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
    thresholds, total = cuts_of(scores, Y / np.maximum(Y.sum(axis=1, keepdims=True), 1))
    thresholds[-1] = np.nextafter(scores.min(), -np.inf)
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
    first = np.zeros(scores.shape)
    first[:, :1] = 1
    thresholds, total, counted = cuts_of(sorted_scores, changes, first)
    n_rows = counted.astype(np.int64)
    precision = np.where(n_rows > 0, _mean(total, np.maximum(n_rows, 1)), np.nan)
    return thresholds, precision, n_rows


def _mean(total: FloatArray, n_rows: int | IntArray) -> FloatArray:
    """Return means of shares; rounding errors of the sums must not lead out of [0, 1]."""
    mean: FloatArray = np.clip(total / n_rows, 0.0, 1.0)
    return mean
