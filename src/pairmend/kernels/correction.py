"""Correction of a pair's vote by its local confusion matrix."""

import numpy as np

from pairmend._utils.typing import FloatArray


def p_true_given_decision(confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
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
    >>> given_first, given_second = p_true_given_decision(np.array([[3.0, 1.0], [1.0, 3.0]]))
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


def correct(p_decide: FloatArray, confusion: FloatArray) -> FloatArray:
    """Correct the support for a pair's first label (eq. 10).

    Parameters
    ----------
    p_decide : ndarray of shape (...)
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
    given_first, given_second = p_true_given_decision(confusion)
    return p_decide * given_first + (1 - p_decide) * given_second
