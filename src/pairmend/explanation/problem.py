"""Explanation of one binary problem at one row; N_NEIGHBORS, the default number of neighbours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.explanation.data import Neighbour, ProblemExplanation
from pairmend.kernels.pairs import correct
from pairmend.kernels.rrc import vote

N_NEIGHBORS = 5
"""Default number of validation rows in an explanation."""


def explain_problem(
    labels: tuple[int, int | None],
    names: tuple[str, str],
    *,
    before: float,
    p_decide: float,
    weights: FloatArray,
    truth: BoolArray,
    decisions: FloatArray,
    confusion: FloatArray | None = None,
    rows: IntArray | None = None,
    overlap: float = 0.0,
    class_weights: tuple[float, float] = (1.0, 1.0),
    shrinkage: ArrayLike = ((0.0, 0.0), (0.0, 0.0)),
    after: float | None = None,
    n_neighbors: int = N_NEIGHBORS,
    correction: str = "",
    reference: str = "",
) -> ProblemExplanation:
    """Explain the correction of a binary problem at one row.

    Validation rows of neither class, and rows of weight 0, may be left out.

    Parameters
    ----------
    labels : tuple of int and (int or None)
        The labels of a pair, or a label and None for the label against the rest.
    names : tuple of two str
        Names of the two classes.
    before : float
        Support of the base classifier for the first label.
    p_decide : float
        Probability that the reference classifier decides for the first label.
    weights : ndarray of shape (n_validation,)
        Weights of validation rows around the row to explain.
    truth : ndarray of bool, shape (n_validation, 2)
        Whether each belongs to the first and to the second class.
    decisions : ndarray of shape (n_validation,) or (n_validation, 2)
        Probability of deciding for the first class at each validation row; or for the first and
        for the second class, which keeps more digits of small ones.
    confusion : ndarray of shape (2, 2), default=None
        Local confusion matrix without prior masses, [truth, decision]. None means to sum up the
        validation rows. It is needed if a listed row stands for several, with their weights.
    rows : ndarray of int, shape (n_validation,), default=None
        Positions of the validation rows in the training data; None means 0, 1, 2, ...
    overlap : float, default=0.0
        Membership in each class of rows that belong to both.
    class_weights : tuple of two floats, default=(1.0, 1.0)
        Factors of the memberships in the two classes.
    shrinkage : array-like of shape (2, 2), default=zeros
        Prior masses added to the confusion matrix, [truth, decision].
    after : float, default=None
        Corrected support as the classifier returns it; None means to compute it.
    n_neighbors : int, default=5
        Number of neighbours to list.
    correction, reference : str, default=""
        See :class:`ProblemExplanation`.

    Returns
    -------
    ProblemExplanation
        With the local confusion matrix and the corrected support.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.explanation import explain_problem
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
    prior: Any = np.asarray(shrinkage, dtype=np.float64)
    confusion = (mass.T @ decisions if confusion is None else confusion) + prior
    (e_ii, e_ij), (e_ji, e_jj) = confusion.tolist()
    if after is None:
        after = float(correct(np.asarray(p_decide), confusion))
    vote_before, vote_after = vote(np.array([before, after])).tolist()

    by_row = mass.sum(axis=1)
    relative = by_row / (by_row.max(initial=0.0) or 1.0)  # squares of tiny masses would underflow
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
        votes=(vote_before, vote_after),
        masses=((e_ii, e_ij), (e_ji, e_jj)),
        shrinkage=float(prior.sum()),
        n_effective=float(relative.sum()) ** 2 / squares if squares else 0.0,
        neighbours=neighbours,
        correction=correction,
        reference=reference,
    )
