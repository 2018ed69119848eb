"""Local confusion matrices of one-against-rest problems, each row left out of its own.

One problem a label: the label against all else. The sums that its confusion matrix is made of
are products of the weights with a table that all points in question share.
"""

from collections.abc import Iterator

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.kernels.correction import p_true_given_decision
from pairmend.kernels.neighbourhood import exponential, offsets_to

ROUNDING = 64
"""A share of the sum below so many units of the last place is what rounding leaves of nothing."""


def tabulate(Y: BoolArray, p_decide: FloatArray, weights: FloatArray) -> FloatArray:
    """Lay out what sums over rows need.

    Parameters
    ----------
    Y : ndarray of bool, shape (M, L)
        Which labels the rows carry.
    p_decide : ndarray of shape (M, L)
        Probability of deciding for each label at each row.
    weights : ndarray of shape (M,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (M, 3 L + 1)
        Weight of rows that carry a label and are decided for it, of those decided for it, of
        those that carry it, and of all.

    Examples
    --------
    >>> tabulate(np.array([[True], [False]]), np.array([[0.75], [0.5]]), np.ones(2)).tolist()
    [[0.75, 0.75, 1.0, 1.0], [0.0, 0.5, 0.0, 1.0]]
    """
    table = np.hstack([p_decide * Y, p_decide, Y, np.ones((len(Y), 1))])
    table *= weights[:, np.newaxis]
    return table


def confusion_of(sums: FloatArray) -> FloatArray:
    """Make confusion matrices of sums over the rows of a table.

    Parameters
    ----------
    sums : ndarray of shape (t, 3 L + 1)
        Weighted sums of the rows of a table.

    Returns
    -------
    ndarray of shape (t, L, 2, 2)
        ``[truth, decision]``, index 0 standing for the label, 1 for all else.

    Examples
    --------
    >>> confusion_of(np.array([[0.75, 1.25, 1.0, 2.0]])).tolist()
    [[[[0.75, 0.25], [0.5, 0.5]]]]
    """
    n_labels = sums.shape[1] // 3
    hit, p_decide, label_rows = (sums[:, k * n_labels : (k + 1) * n_labels] for k in range(3))
    confusion = np.empty((*hit.shape, 2, 2))
    confusion[..., 0, 0] = hit
    confusion[..., 0, 1] = label_rows - hit
    confusion[..., 1, 0] = p_decide - hit
    confusion[..., 1, 1] = sums[:, -1:] - label_rows - p_decide + hit
    # Differences of nearly equal sums may fall below nothing.
    return np.maximum(confusion, 0, out=confusion)


def shrink(confusion: FloatArray, towards: FloatArray, mass: float) -> FloatArray:
    """Add to each decision a mass that is right as often as elsewhere.

    Parameters
    ----------
    confusion : ndarray of shape (t, L, 2, 2)
        Local confusion matrices.
    towards : ndarray of shape (t, L, 2, 2) or (L, 2, 2)
        Confusion matrices whose p_true_given_decision are aimed at.
    mass : float
        Mass added for each decision. The nearest row has the mass 1.

    Returns
    -------
    ndarray of shape (t, L, 2, 2)

    Examples
    --------
    >>> shrink(np.zeros((1, 1, 2, 2)), np.array([[[3.0, 1.0], [1.0, 3.0]]]), 4.0).tolist()
    [[[[3.0, 1.0], [1.0, 3.0]]]]
    """
    if mass == 0:
        return confusion
    first, second = p_true_given_decision(towards)
    extra = np.stack(
        [np.stack([first, second], axis=-1), np.stack([1 - first, 1 - second], axis=-1)], axis=-2
    )
    return confusion + mass * extra


def global_confusion(table: FloatArray, leave_out: IntArray | None = None) -> FloatArray:
    """Confusion matrices over all rows.

    Parameters
    ----------
    table : ndarray of shape (M, 3 L + 1)
        See :func:`tabulate`.
    leave_out : ndarray of int, shape (t,), default=None
        A row each that is left out.

    Returns
    -------
    ndarray of shape (t, L, 2, 2), or (1, L, 2, 2)
        A row's worth of the label's prevalence is in each decision, so that one that was never
        taken has a competence, too.
    """
    total = table.sum(axis=0, keepdims=True)
    sums = total if leave_out is None else total - table[leave_out]
    n_labels = sums.shape[1] // 3
    confusion = confusion_of(sums)
    all_rows = np.maximum(sums[:, -1:], np.finfo(np.float64).tiny)
    prevalence = np.clip(sums[:, 2 * n_labels : 3 * n_labels] / all_rows, 0, 1)
    confusion[..., 0, :] += prevalence[..., np.newaxis]
    confusion[..., 1, :] += 1 - prevalence[..., np.newaxis]
    return confusion


def corrected_by(
    p_decide: FloatArray,
    sums: FloatArray,
    towards: tuple[FloatArray, FloatArray],
    mass: float | FloatArray,
) -> FloatArray:
    """Correct supports for labels by shrunken local confusion matrices.

    The same as :func:`confusion_of`, :func:`shrink` and
    :func:`~pairmend.kernels.correction.correct` one after the other, but sooner: the sums over
    a decision, which the confusion matrix splits by the truth, are there already.

    Parameters
    ----------
    p_decide : ndarray of shape (t, L)
        Probability of deciding for each label.
    sums : ndarray of shape (t, 3 L + 1)
        Weighted sums of the rows of a table.
    towards : tuple of two ndarray of shape (t, L) or (1, L)
        Competences that are aimed at: probability that the label is carried, given the decision
        for it and the one against it.
    mass : float or ndarray of shape (k, 1, 1)
        Mass of them that is added for each decision.

    Returns
    -------
    ndarray of shape (t, L), or (k, t, L)
    """
    n_labels = p_decide.shape[1]
    hit, on, label_rows = (sums[:, k * n_labels : (k + 1) * n_labels] for k in range(3))
    total = sums[:, -1:]
    off = total - on
    off = np.where(off > ROUNDING * np.finfo(sums.dtype).eps * total, off, 0)
    missed = np.clip(label_rows - hit, 0, off)
    mass = np.asarray(mass, dtype=np.float64)[()]  # single precision might not hold it
    given_on = _share(hit + mass * towards[0], on + mass, 1.0)
    given_off = _share(missed + mass * towards[1], off + mass, 0.0)
    return np.clip(given_off + p_decide * (given_on - given_off), 0, 1)


def _share(part: FloatArray, whole: FloatArray, undefined: float) -> FloatArray:
    """Divide; nothing of nothing is undefined, and the decision taken at its word."""
    known = whole > 0
    if known.all():
        return part / whole
    return np.where(known, part / np.where(known, whole, 1), undefined)


def nearness_scale(weights: FloatArray, masses: FloatArray, axis: int) -> FloatArray | None:
    """Return what to multiply the weights around points with, so that a light row is no scale.

    Weights are relative to the nearest row, whose weight is 1. If that row itself counts less
    than one row, the others must not fade beside it: the largest weight times mass, where no row
    counts more than one, becomes 1 instead.

    Parameters
    ----------
    weights : ndarray of shape (t, M) or (M, t)
        Weights of rows around points, at most 1.
    masses : ndarray of shape (M,)
        How much each row counts, in units of what counts as one row.
    axis : int
        The axis of rows.

    Returns
    -------
    ndarray or None
        A factor for each point, at least 1; None if all rows count one row or more.

    Examples
    --------
    >>> nearness_scale(np.array([[1.0, 0.5]]), np.array([0.1, 3.0]), axis=1).tolist()
    [2.0]
    """
    if (masses >= 1).all():
        return None
    capped = np.minimum(masses, 1).astype(weights.dtype)
    largest = (weights * (capped if axis == 1 else capped[:, np.newaxis])).max(axis=axis)
    return np.asarray(1 / largest)


def sums_around(
    points: Matrix,
    rows: IntArray,
    table: FloatArray,
    beta: float,
    n_doublings: int = 0,
    masses: FloatArray | None = None,
) -> Iterator[FloatArray]:
    """Yield sums around rows, each row left out, at beta and at its doubles.

    Weights at the double of beta are the squares of those at beta, so one exponential serves
    all.

    Parameters
    ----------
    points : ndarray or CSR of shape (M, d)
        Where the rows lie.
    rows : ndarray of int, shape (t,)
        Numbers of the rows in question.
    table : ndarray of shape (M, C)
        What is summed.
    beta : float
        How fast weights fall with the squared distance.
    n_doublings : int, default=0
        How often beta is doubled.
    masses : ndarray of shape (M,), default=None
        How much each row counts, for :func:`nearness_scale`; None means one row each.

    Yields
    ------
    ndarray of shape (t, C)

    Examples
    --------
    >>> points, table = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [10.0], [100.0]])
    >>> [sums.round(2).tolist() for sums in sums_around(points, np.array([0]), table, 0.5, 1)]
    [[[32.31]], [[14.98]]]
    """
    exponents = offsets_to(points[rows], points)
    exponents[rows, np.arange(len(rows))] = np.inf
    exponents -= exponents.min(axis=0)
    info = np.finfo(exponents.dtype)
    with np.errstate(over="ignore"):  # too far to count
        exponents *= -np.clip(beta, info.tiny, info.max)
    weights = exponential(exponents)
    vanished = np.sqrt(info.tiny)
    for doubling in range(n_doublings + 1):
        if doubling:
            # Squares of these would not be normal numbers, which are slow.
            weights[weights < vanished] = 0
            np.square(weights, out=weights)
        scale = None if masses is None else nearness_scale(weights, masses, axis=0)
        sums = weights.T @ table
        yield sums if scale is None else sums * scale[:, np.newaxis]
