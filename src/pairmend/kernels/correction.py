"""Correction of a pair's support by its local confusion matrix."""

from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray


def p_true_given_decision(confusion: FloatArray, xp: Any = np) -> tuple[FloatArray, FloatArray]:
    """Return P(first label is true | decision) for the decision "first" and for "second".

    A decision with no validation row near the point has an undefined probability, 0/0. The decision
    is then assumed to be true: 1 for the first label, 0 for the second, so that an empty confusion
    matrix changes nothing. Confusion matrices are (..., 2, 2), [truth, decision], the results (...)
    (section 3.4.1).
    """

    def share(decision: int, undefined: float) -> FloatArray:
        hit = confusion[..., 0, decision]
        total = hit + confusion[..., 1, decision]
        defined = total > 0
        if xp is np and defined.all():
            return hit / total
        return xp.where(defined, hit / xp.where(defined, total, 1.0), undefined)

    return share(0, undefined=1.0), share(1, undefined=0.0)


def correct(p_decide: FloatArray, confusion: FloatArray, xp: Any = np) -> FloatArray:
    """Correct P(h = first | z) by local confusion matrices (..., 2, 2) in any scale (eq. 10).

    ``leave_one_out.corrected_by`` is a faster form with prior mass, for MendedClassifier.
    """
    given_first, given_second = p_true_given_decision(confusion, xp)
    return p_decide * given_first + (1 - p_decide) * given_second
