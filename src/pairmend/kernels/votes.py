"""From supports of pairs to scores of labels; which supports and which scores are ties.

The namespace `xp` has the functions of the array API for arrays of any library.
"""

from typing import Any

import numpy as np

from pairmend._utils.namespaces import Namespace
from pairmend._utils.typing import FloatArray

DIGITS = 12
"""Decimals to which scores and differences of supports are rounded, so that ties stay ties."""
SINGLE_DIGITS = 6
"""The same in single precision."""


def vote(supports: FloatArray, xp: Any = np) -> FloatArray:
    """Replace supports by votes 0, 1/2 or 1; a tie is half a vote for each label (eq. 5).

    Differences from 1/2 are rounded to `DIGITS` decimals, `SINGLE_DIGITS` in single precision.
    """
    digits = DIGITS if supports.dtype == xp.float64 else SINGLE_DIGITS
    return (1 + xp.sign(round_scores(supports - 0.5, digits, xp))) / 2


def round_scores(scores: FloatArray, digits: int = DIGITS, xp: Any = np) -> FloatArray:
    """Round scores of labels, so that scores that differ by rounding errors only are ties."""
    scale = 10.0**digits
    return xp.round(scores * scale) / scale


def sum_supports(
    supports: FloatArray, labels: slice, n_labels: int, space: Namespace | None = None
) -> FloatArray:
    """Sum the supports (t, B) of a block of pairs for each label, (t, L).

    `labels` are the first labels of the pairs. Over all blocks, the sums divided by L - 1 are the
    labels' scores (eq. 4). Supports are on a device if `space` is given.
    """
    space = Namespace(np, "cpu") if space is None else space
    xp, by_pair = space.xp, supports.T
    shape = (n_labels, supports.shape[0])
    total = xp.zeros(shape, dtype=space.float64, device=space.device)  # float32 loses digits
    start = 0
    for label in range(labels.start, labels.stop):
        n_others = n_labels - 1 - label
        own = by_pair[start : start + n_others, :]
        total[label, :] += xp.sum(own, axis=0, dtype=total.dtype)
        others = total[label + 1 :, :]
        others += 1
        others -= own
        start += n_others
    return total.T


def sum_to_one(scores: FloatArray) -> FloatArray:
    """Scale the scores of each row to sum 1; equal scores where all are 0."""
    total = scores.sum(axis=1, keepdims=True)
    uniform = np.full_like(scores, 1 / scores.shape[1])
    return np.divide(scores, total, out=uniform, where=total > 0)
