"""The similar training rows of an explanation: their weights, and their numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import take_rows
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, IntArray, Matrix, MatrixLike
from pairmend.explanation.data import Explanation
from pairmend.kernels.local_sums import nearest_landmark

EXPECTED = "expected the rows given to fit, in the same order"
Points = Callable[[MatrixLike], Matrix]
"""Returns rows as points of the space in which similarity is measured."""


def numbered(
    explanations: Sequence[Explanation],
    training: MatrixLike,
    known: IntArray | None,
    points_of: Points | None,
    points: Matrix,
) -> list[Explanation]:
    """Replace positions among the validation rows by numbers of training rows.

    `known` are the numbers of validation rows; a classifier from a model file has none. `points`
    are the validation rows; without `points_of` they have no features. Training rows that are not
    those of fit are an error.
    """
    listed = np.unique([each.row for found in explanations for each in found.similar]).astype(int)
    numbers = listed if known is None else known[listed]
    if training is not None and len(listed):
        if known is None:
            numbers = _found_rows(training, listed, points_of, points)
        else:
            _check_rows(training, numbers, points_of, points[listed] if points_of else None)
    number_of = dict(zip(listed.tolist(), numbers.tolist(), strict=True))
    return [
        replace(
            found, similar=tuple(replace(each, row=number_of[each.row]) for each in found.similar)
        )
        for found in explanations
    ]


def _check_rows(
    training: MatrixLike, numbers: IntArray, points_of: Points | None, points: Matrix
) -> None:
    """Raise an error if training rows cannot be those given to fit."""
    if (n_rows := count_rows(training)) <= numbers.max():
        raise ValueError(
            f"training has {n_rows} rows, but row {numbers.max()} is a validation row; {EXPECTED}."
        )
    if points_of is not None:
        equal = _equal(points_of(take_rows(training, numbers)), points)
        if not equal.all():
            row = numbers[~equal][0]
            raise ValueError(f"row {row} of training is not the row {row} of fit; {EXPECTED}.")


def _found_rows(
    training: MatrixLike, listed: IntArray, points_of: Points | None, points: Matrix
) -> IntArray:
    """Return the numbers of training rows that equal the listed rows of a model."""
    if points_of is None:
        raise ValueError(
            "training cannot be given: a model file does not number its rows, and this classifier "
            "compares no features by which they could be found."
        )
    given = points_of(training)
    nearest = nearest_landmark(points[listed], given)
    equal = _equal(given[nearest], points[listed])
    if not equal.all():
        row = listed[~equal][0]
        raise ValueError(f"row {row} of the model is not among the rows of training; {EXPECTED}.")
    return nearest


def _equal(points: Matrix, others: Matrix) -> BoolArray:
    """Return which points are equal to others, row by row, up to rounding."""
    first, second = (
        each.toarray() if sparse.issparse(each) else np.asarray(each) for each in (points, others)
    )
    return np.asarray(np.isclose(first, second, rtol=1e-6, atol=1e-9).all(axis=1))
