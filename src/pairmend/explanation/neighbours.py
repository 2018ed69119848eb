"""The training rows that are neighbours in an explanation, and whether they are the row itself."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import row_chunks
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


def row_numbers(
    known: IntArray | None,
    n_stored: int,
    n_training: int | None,
    points_of: Callable[[IntArray], tuple[Matrix, Matrix] | None],
) -> IntArray:
    """Return the numbers of the rows that a classifier holds among the training rows.

    `known` are their numbers in fit; a classifier from a model file has none. `points_of` returns
    the points of some of the `n_training` training rows and those that the classifier holds; None
    if it compares no features. Other training rows than those of fit are an error.
    """
    if n_training is None:
        return np.arange(n_stored) if known is None else known
    if known is not None:
        _check_training(known, n_training, points_of)
        return known
    if (found := points_of(np.arange(n_training))) is None:
        raise ValueError(
            "training cannot be given: a model file does not number its rows, and this classifier "
            "compares no features by which they could be found."
        )
    return _find_rows(*found)


def _find_rows(training: Matrix, points: Matrix) -> IntArray:
    """Return for each point the position of an equal training row, of equal points different ones.

    The nearest training row is found by products, and is then compared.
    """
    n_points = points.shape[0]
    nearest, smallest = np.zeros(n_points, dtype=np.intp), np.full(n_points, np.inf)
    for rows in row_chunks(training.shape[0], n_points):
        chunk = training[rows]
        products = points @ chunk.T
        products = products.toarray() if sparse.issparse(products) else products
        squares = chunk.multiply(chunk) if sparse.issparse(chunk) else chunk * chunk
        distances = np.asarray(squares.sum(axis=1)).ravel() - 2 * products
        best = distances.argmin(axis=1)
        found = distances[np.arange(n_points), best]
        nearest = np.where(found < smallest, rows.start + best, nearest)
        smallest = np.minimum(found, smallest)
    if not (equal := equal_points(points, training[nearest])).all():
        raise ValueError(
            f"{np.count_nonzero(~equal)} of the {n_points} rows that the model holds are not among "
            "the rows of training; expected the rows given to fit."
        )
    numbers, counts = np.unique(nearest, return_counts=True)
    for number in numbers[counts > 1].tolist():
        same = np.flatnonzero(nearest == number)
        others = np.flatnonzero(equal_points(training, training[[number]]))
        nearest[same] = np.resize(others, len(same))
    return nearest


def _check_training(
    rows: IntArray,
    n_training: int,
    points_of: Callable[[IntArray], tuple[Matrix, Matrix] | None],
) -> None:
    """Raise an error if the training rows given to ``explain`` cannot be those given to fit."""
    expected = "expected the rows given to fit, in the same order"
    if n_training <= rows.max(initial=-1):
        raise ValueError(
            f"training has {n_training} rows, but row {rows.max()} is a validation row; {expected}."
        )
    numbers = np.unique(np.linspace(0, len(rows) - 1, N_CHECKED).astype(np.intp))
    if (found := points_of(rows[numbers])) is None:
        return
    given, stored = found
    equal = equal_points(given, stored[numbers])
    if not equal.all():
        row = int(rows[numbers][~equal][0])
        raise ValueError(f"row {row} of training is not the row {row} of fit; {expected}.")
