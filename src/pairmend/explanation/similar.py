"""The similar training rows of an explanation: their numbers."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import take_rows
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import IntArray, Matrix, MatrixLike
from pairmend.explanation.data import Explanation
from pairmend.kernels.local_sums import nearest_landmark


def numbers_of(
    explanations: Sequence[Explanation],
    training: MatrixLike,
    known: IntArray | None,
    points_of: Callable[[MatrixLike], Matrix] | None,
    points: Matrix,
) -> dict[int, int]:
    """Return the numbers of similar training rows by their positions among the validation rows.

    `known` are the numbers of validation rows; a classifier from a model file has none. `points`
    are the validation rows in the space in which similarity is measured, and `points_of` returns
    others in it; it is None if rows have no features. Training rows that are not those of fit are
    an error.
    """
    listed = np.unique([each.row for found in explanations for each in found.similar]).astype(int)
    numbers = listed if known is None else known[listed]
    if training is not None and len(listed):
        if known is None:
            if points_of is None:
                raise ValueError(
                    "training cannot be given: a model file does not number its rows, and this "
                    "classifier compares no features by which they could be found."
                )
            numbers = nearest_landmark(points[listed], points_of(training))
        are_same = count_rows(training) > numbers.max()
        if are_same and points_of is not None:
            are_same = _equal(points_of(take_rows(training, numbers)), points[listed])
        if not are_same:
            raise ValueError(
                "a row of training differs from that of fit; expected the rows given to fit, in "
                "the same order."
            )
    return dict(zip(listed.tolist(), numbers.tolist(), strict=True))


def _equal(points: Matrix, others: Matrix) -> bool:
    """Return whether rows are the same up to rounding."""
    first, second = (
        each.toarray() if sparse.issparse(each) else np.asarray(each) for each in (points, others)
    )
    return np.allclose(first, second, rtol=1e-6, atol=1e-9)
