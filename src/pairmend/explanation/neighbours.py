"""The training rows that are neighbours in an explanation, and whether they are the row itself."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import BoolArray, IntArray, Matrix
from pairmend.explanation.data import ProblemExplanation, TrainingRow

N_CHECKED = 50
"""Number of training rows that are compared with those of fit."""


def list_training_rows(
    problems: Iterable[ProblemExplanation], labels_of: Callable[[int], Any]
) -> tuple[TrainingRow, ...]:
    """List the neighbours of problems, each once; `labels_of` returns the labels of a row."""
    shares: dict[int, float] = {}
    for problem in problems:
        for neighbour in problem.neighbours:
            shares[neighbour.row] = max(neighbour.share, shares.get(neighbour.row, 0.0))
    ordered = sorted(shares, key=lambda row: (-shares[row], row))
    return tuple(
        TrainingRow(row, shares[row], tuple(np.flatnonzero(labels_of(row)).tolist()))
        for row in ordered
    )


def equal_points(points: Matrix, others: Matrix) -> BoolArray:
    """Return which points are equal to others, row by row or to a single one, up to rounding."""
    first, second = (
        each.toarray() if sparse.issparse(each) else np.asarray(each) for each in (points, others)
    )
    return np.asarray(np.isclose(first, second, rtol=1e-6, atol=1e-9).all(axis=1))


def find_rows(points: Matrix, training: Matrix) -> IntArray:
    """Return the position of the training row that is equal to each point.

    Points that are equal to each other get different rows. A point without an equal row is an
    error.
    """
    nearest, smallest = np.zeros(points.shape[0], dtype=np.intp), np.full(points.shape[0], np.inf)
    for rows in row_chunks(training.shape[0], points.shape[0]):
        chunk = training[rows]
        products = points @ chunk.T
        products = products.toarray() if sparse.issparse(products) else products
        distances = (chunk.multiply(chunk) if sparse.issparse(chunk) else chunk**2).sum(axis=1)
        distances = np.asarray(distances).ravel() - 2 * products
        best = distances.argmin(axis=1)
        closer = distances[np.arange(len(best)), best] < smallest
        nearest[closer] = rows.start + best[closer]
        smallest = np.where(closer, distances[np.arange(len(best)), best], smallest)
    if not (equal := equal_points(points, training[nearest])).all():
        raise ValueError(
            f"{np.count_nonzero(~equal)} of the {len(equal)} rows that the model holds are not "
            "among the rows of training; expected the rows given to fit."
        )
    found, counts = np.unique(nearest, return_counts=True)
    for row in found[counts > 1].tolist():
        same = np.flatnonzero(nearest == row)
        equal_rows = np.flatnonzero(equal_points(training, training[[row]]))
        nearest[same] = equal_rows[: len(same)] if len(equal_rows) >= len(same) else row
    return nearest


def check_training(
    n_rows: int, rows: IntArray, compare: Callable[[IntArray, IntArray], BoolArray] | None
) -> None:
    """Raise an error if the training rows given to ``explain`` cannot be those given to fit.

    `rows` are the positions of the rows that the classifier keeps. `compare` returns for some of
    them, given by number and by position, whether they are equal to the rows that were given.
    """
    expected = "expected the rows given to fit, in the same order"
    if n_rows <= rows.max(initial=-1):
        raise ValueError(
            f"training has {n_rows} rows, but row {rows.max()} is a validation row; {expected}."
        )
    if compare is None:
        return
    numbers = np.unique(np.linspace(0, len(rows) - 1, N_CHECKED).astype(np.intp))
    equal = compare(numbers, rows[numbers])
    if not equal.all():
        found = int(rows[numbers][~equal][0])
        raise ValueError(f"row {found} of training is not the row {found} of fit; {expected}.")
