"""Local fuzzy confusion matrices of classes, and of labels against the rest."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.rrc import unfold


def class_confusion(weights: FloatArray, Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Add up local confusion matrices of a problem with C classes.

    Parameters
    ----------
    weights : ndarray or CSR of shape (t, M)
        Weights of the validation rows around points.
    Y : ndarray of bool, shape (M, C)
        The class of each validation row: one true cell a row.
    p_decide : ndarray of shape (M, C)
        Probability of deciding for each class there.

    Returns
    -------
    ndarray of shape (t, C, C)
        ``[truth, decision]``.

    Examples
    --------
    >>> Y, p_decide = np.eye(2, dtype=bool), np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> class_confusion(np.array([[1.0, 0.5]]), Y, p_decide).tolist()
    [[[0.75, 0.25], [0.25, 0.25]]]
    """
    members = (np.flatnonzero(column) for column in Y.T)
    return np.stack([weights[:, rows] @ p_decide[rows] for rows in members], axis=1)


def correct_classes(p_decide: FloatArray, confusion: FloatArray) -> FloatArray:
    """Correct the supports of classes by local confusion matrices.

    A decision that no validation row near the point speaks of is taken at its word, as in
    :func:`~pairmend.kernels.correction.p_true_given_decision`.

    Parameters
    ----------
    p_decide : ndarray of shape (t, C)
        Probability of deciding for each class at points.
    confusion : ndarray of shape (t, C, C)
        Local confusion matrices, [truth, decision], in any scale.

    Returns
    -------
    ndarray of shape (t, C)
        Of sum 1 in each row, as `p_decide`.

    Examples
    --------
    >>> confusion = np.array([[[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]])
    >>> correct_classes(np.array([[0.5, 0.0, 0.5]]), confusion).tolist()
    [[0.375, 0.125, 0.5]]
    """
    total = confusion.sum(axis=1, keepdims=True)
    known = total > 0
    p_true_given_decision = np.where(
        known, confusion / np.where(known, total, 1), np.eye(confusion.shape[2])
    )
    corrected: FloatArray = np.einsum("tij,tj->ti", p_true_given_decision, p_decide)
    return corrected


def label_cells(Y: BoolArray, p_decide: FloatArray) -> FloatArray:
    """Lay out the cells of the confusion matrices of labels against the rest.

    Parameters
    ----------
    Y : ndarray of bool, shape (M, L)
        Which labels the validation rows carry.
    p_decide : ndarray of shape (M, L)
        What is decided there, see :func:`~pairmend.kernels.rrc.decide`.

    Returns
    -------
    ndarray of shape (M, 4 L)

    Examples
    --------
    >>> label_cells(np.array([[True], [False]]), np.array([[-0.25], [0.5]])).tolist()
    [[0.75, 0.25, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    decisions = unfold(p_decide)
    return np.hstack([np.where(truth, part, 0) for truth in (Y, ~Y) for part in decisions])


def label_confusion(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Add up local confusion matrices of labels against the rest.

    Parameters
    ----------
    weights : ndarray or CSR of shape (t, M)
        Weights of the validation rows around points.
    cells : ndarray of shape (M, 4 L)
        See :func:`label_cells`.

    Returns
    -------
    ndarray of shape (t, L, 2, 2)
        ``[truth, decision]``, index 0 standing for the label, 1 for all else.

    Examples
    --------
    >>> cells = np.array([[0.75, 0.25, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> label_confusion(np.array([[1.0, 0.5]]), cells).tolist()
    [[[[0.75, 0.25], [0.25, 0.25]]]]
    """
    sums = np.asarray(weights @ cells)
    return np.moveaxis(sums.reshape(len(sums), 2, 2, -1), 3, 1)
