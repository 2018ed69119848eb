"""Local confusion matrices of classes, and of each label against the rest; their correction."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.folding import unfold


def class_confusion(weights: FloatArray, Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Return local confusion matrices (t, C, C), [truth, decision], of a problem with C classes.

    Weights are (t, M), dense or CSR; Y (M, C) has one true cell in each row.
    """
    members = (np.flatnonzero(column) for column in Y.T)
    return np.stack([weights[:, rows] @ p_decide[rows] for rows in members], axis=1)


def correct_classes(p_decide: FloatArray, confusion: FloatArray) -> FloatArray:
    """Correct the supports (t, C) of classes by local confusion matrices (t, C, C) in any scale.

    A decision with no validation row near the point is assumed to be true, as in
    :func:`~pairmend.kernels.correction.p_true_given_decision`.
    """
    total = confusion.sum(axis=1, keepdims=True)
    defined = total > 0
    p_true_given_decision = np.where(
        defined, confusion / np.where(defined, total, 1), np.eye(confusion.shape[2])
    )
    corrected: FloatArray = np.einsum("tij,tj->ti", p_true_given_decision, p_decide)
    return corrected


def label_cells(Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Return the cells (M, 4 L) of the confusion matrices of labels against the rest.

    Probabilities of decisions are folded, see :mod:`pairmend.kernels.folding`.
    """
    decisions = unfold(p_decide)
    return np.hstack([np.where(truth, part, 0) for truth in (Y, ~Y) for part in decisions])


def label_confusion(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Return local confusion matrices (t, L, 2, 2), [truth, decision], of labels against the rest.

    Index 0 is the label, 1 the rest. Weights are (t, M), dense or CSR.
    """
    sums = np.asarray(weights @ cells)
    return np.moveaxis(sums.reshape(len(sums), 2, 2, -1), 3, 1)
