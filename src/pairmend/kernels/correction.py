"""Correction of a pair's vote by its local confusion matrix."""

import numpy as np

from pairmend._typing import BoolArray, FloatArray


def competences(confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probability that the first label is true, given each of the two decisions (section 3.4.1).

    A decision that no validation row near the point speaks of has an undefined competence,
    0/0. It is taken at its word: 1 for the first label, 0 for the second, so that where
    nothing is known at all the correction changes nothing.

    Parameters
    ----------
    confusion : ndarray of shape (..., 2, 2)
        Confusion matrices, [truth, decision].

    Returns
    -------
    given_first, given_second : ndarray of shape (...)

    Examples
    --------
    >>> given_first, given_second = competences(np.array([[3.0, 1.0], [1.0, 3.0]]))
    >>> float(given_first), float(given_second)
    (0.75, 0.25)
    """

    def share(decision: int, undefined: float) -> FloatArray:
        hit = confusion[..., 0, decision]
        total = hit + confusion[..., 1, decision]
        known = total > 0
        if known.all():
            return hit / total
        return np.where(known, hit / np.where(known, total, 1), undefined)

    return share(0, undefined=1.0), share(1, undefined=0.0)


def correct(decided: FloatArray, confusion: FloatArray) -> FloatArray:
    """Correct the support for a pair's first label (eq. 10).

    Parameters
    ----------
    decided : ndarray of shape (...)
        P(h = first | z), the uncorrected probability of deciding for the first label.
    confusion : ndarray of shape (..., 2, 2)
        Local confusion matrices around z, [truth, decision], in any scale.

    Returns
    -------
    ndarray of shape (...)
        Corrected support for the first label; that of the second is its complement.

    Examples
    --------
    >>> confusion = np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> float(correct(np.array(0.5), confusion)), float(correct(np.array(1.0), confusion))
    (0.5, 0.75)
    """
    given_first, given_second = competences(confusion)
    return decided * given_first + (1 - decided) * given_second


def unsettled(
    decided: FloatArray, confusion: FloatArray, skipped: FloatArray, tolerance: float
) -> BoolArray:
    """Tell where rows left out of the confusion matrices may matter.

    Let a and b be the two cells of the column of decision h, D = a + b > 0, and let the rows
    left out add a' and b', neither above S. They move the competence from a / D to
    (a + a') / (D + a' + b'), that is by

        |a' b - a b'| / (D (D + a' + b')) <= max(a', b') / D <= S / D ,

    as a' b lies between 0 and max(a', b') D, and so does a b'. Where D = 0 it moves by at most 1.
    The corrected support is the mean of the two competences by P(h | z), so it moves by at most
    the sum over h of P(h | z) min(1, S / D). Where both summands are at most half of the
    tolerance, what was left out is too little to matter.

    Parameters
    ----------
    decided : ndarray of shape (...)
        P(h = first | z).
    confusion : ndarray of shape (..., 2, 2)
        Confusion matrices, [truth, decision], from which rows were left out.
    skipped : ndarray of shape (...)
        S: no class misses more weight.
    tolerance : float
        How much the corrected support may move.

    Returns
    -------
    ndarray of bool, shape (...)

    Examples
    --------
    >>> confusion = np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> [bool(unsettled(np.array(0.5), confusion, np.array(s), 0.1)) for s in (0.0, 0.4, 0.5)]
    [False, False, True]
    """
    half = tolerance / 2

    def matters(probability: FloatArray, decision: int) -> BoolArray:
        total = confusion[..., 0, decision] + confusion[..., 1, decision]
        return (probability * skipped > half * total) & (probability > half)

    return matters(decided, 0) | matters(1 - decided, 1)
