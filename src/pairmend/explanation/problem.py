"""Explanation of one binary problem at one row."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.explanation.data import Neighbour, ProblemExplanation
from pairmend.kernels.correction import correct
from pairmend.kernels.ranking import vote


def explain_problem(
    labels: tuple[int, int | None],
    names: tuple[str, str],
    *,
    before: float,
    p_decide: float,
    weights: FloatArray,
    truth: BoolArray,
    decisions: FloatArray,
    rows: IntArray | None = None,
    overlap: float = 0.0,
    class_weights: tuple[float, float] = (1.0, 1.0),
    shrinkage: ArrayLike = ((0.0, 0.0), (0.0, 0.0)),
    after: float | None = None,
    n_neighbors: int = 5,
    opinion: str = "",
    reference: str = "",
) -> ProblemExplanation:
    """Explain how a binary problem was corrected at one row.

    Rows of neither class, and rows without weight, may be there or not.

    Parameters
    ----------
    labels : tuple of int and (int or None)
        The labels of a pair, or a label and None for all else.
    names : tuple of two str
        What the two sides are called.
    before : float
        Support of the base classifier for the first label.
    p_decide : float
        Probability of deciding for the first label, made of that support.
    weights : ndarray of shape (M,)
        Weights of validation rows around the row in question.
    truth : ndarray of bool, shape (M, 2)
        Whether each belongs to the first and to the second class.
    decisions : ndarray of shape (M,) or (M, 2)
        Probability of deciding for the first label there; or for the first and the second,
        which keeps more digits.
    rows : ndarray of int, shape (M,), default=None
        Positions of the validation rows in the training data; None means that they are all.
    overlap : float, default=0.0
        Membership in each class of rows that belong to both.
    class_weights : tuple of two floats, default=(1.0, 1.0)
        What memberships in the two classes are multiplied with.
    shrinkage : array-like of shape (2, 2), default=zeros
        Masses added to the confusion matrix, [truth, decision]: those of the global one, scaled.
    after : float, default=None
        Corrected support as the classifier gives it; None means to work it out.
    n_neighbors : int, default=5
        How many neighbours to list.
    opinion, reference : str, default=""
        See :class:`ProblemExplanation`.

    Returns
    -------
    ProblemExplanation

    Examples
    --------
    >>> sea = explain_problem(
    ...     (0, None), ("sea", "not sea"), before=0.4, p_decide=0.25,
    ...     weights=np.array([1.0, 0.5, 0.5]), decisions=np.array([0.0, 0.0, 1.0]),
    ...     truth=np.array([[1, 0], [0, 1], [1, 0]], dtype=bool), n_neighbors=1)
    >>> sea.masses
    ((0.5, 1.0), (0.0, 0.5))
    >>> sea.after, sea.changed
    (0.75, True)
    >>> sea.neighbours
    (Neighbour(row=0, weight=1.0, share=0.5, truth=(True, False), p_decide=0.0),)
    """
    weights = np.asarray(weights, dtype=np.float64)
    decisions = np.asarray(decisions, dtype=np.float64)
    if decisions.ndim == 1:
        decisions = np.column_stack([decisions, 1 - decisions])
    numbers = np.arange(len(weights)) if rows is None else rows
    membership = np.where(truth.all(axis=1, keepdims=True), overlap, truth) * class_weights
    mass = weights[:, np.newaxis] * membership
    extra: Any = np.asarray(shrinkage, dtype=np.float64)
    confusion = mass.T @ decisions + extra
    (e_ii, e_ij), (e_ji, e_jj) = confusion.tolist()
    if after is None:
        after = float(correct(np.asarray(p_decide), confusion))
    voted_before, voted_after = vote(np.array([before, after])).tolist()

    by_row = mass.sum(axis=1)
    relative = by_row / (by_row.max(initial=0.0) or 1.0)  # squares of tiny masses would vanish
    squares = float((relative**2).sum())
    heaviest = np.lexsort((numbers, -by_row))[:n_neighbors]
    total = float(confusion.sum())
    neighbours = tuple(
        Neighbour(
            row=int(numbers[k]),
            weight=float(weights[k]),
            share=float(by_row[k]) / total,
            truth=(bool(truth[k, 0]), bool(truth[k, 1])),
            p_decide=float(decisions[k, 0]),
        )
        for k in heaviest[by_row[heaviest] > 0]
    )
    return ProblemExplanation(
        labels=labels,
        names=names,
        before=float(before),
        p_decide=float(p_decide),
        after=float(after),
        votes=(voted_before, voted_after),
        masses=((e_ii, e_ij), (e_ji, e_jj)),
        shrinkage=float(extra.sum()),
        n_effective=float(relative.sum()) ** 2 / squares if squares else 0.0,
        neighbours=neighbours,
        opinion=opinion,
        reference=reference,
    )
