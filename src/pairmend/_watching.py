"""How trained pairs are watched on validation rows, and what weighs these around a point."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._pairs import LabelRows
from pairmend._streaming import BLOCK_ARRAYS, batches, row_chunks
from pairmend._typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from pairmend._validation import count_rows, take_rows
from pairmend.kernels.confusion import Watched
from pairmend.kernels.rrc import decide
from pairmend.learners import PairWitness

FEW = 10
"""Parts of the rows that are worked on in double precision, one after another."""


def watch(
    X: MatrixLike,
    Y: BoolArray,
    asked: Iterable[tuple[IntArray, Callable[[IntArray], PairWitness]]],
    reference: Callable[[FloatArray], FloatArray],
    dtype: str,
    *,
    has_virtual: bool = False,
) -> Watched:
    """Ask trained pairs about the validation rows that belong to them.

    Parameters
    ----------
    X : array-like of M rows
        Validation rows.
    Y : ndarray of bool, shape (M, L)
        Their labels.
    asked : iterable of (rows, callable)
        Which of the rows each learner is asked about, together all rows once; and what gives
        the witness that answers for it about some of them.
    reference : callable
        What makes probabilities of decisions out of supports.
    dtype : str
        Precision of the result.
    has_virtual : bool, default=False
        Whether there is a virtual label, too.

    Returns
    -------
    Watched
        What the pairs :func:`~pairmend.kernels.rrc.decide` there.
    """
    carried = LabelRows.of(Y, has_virtual=has_virtual)
    decided: FloatArray | None = None
    for asked_rows, witness in asked:
        # In single precision, what a learner says in double is never there as a whole.
        parts = [slice(None)] if dtype == "float64" else few(len(asked_rows))
        for rows in (asked_rows[part] for part in parts):
            if len(rows) == len(Y):
                supports = witness(rows).support_at(X, carried)
            else:
                here, chosen = carried.among(rows, len(Y))
                supports = witness(rows).support_at(take_rows(X, rows), here)
            for part in row_chunks(len(supports), BLOCK_ARRAYS * carried.n_labels):
                supports[part] = decide(supports[part], reference)
            if len(rows) == len(Y):
                decided = supports.astype(dtype, copy=False)
            else:
                if decided is None:
                    decided = np.empty((len(carried.rows), carried.n_labels), dtype=dtype)
                decided[chosen] = supports
    assert decided is not None
    if has_virtual:
        Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)])
    return Watched(carried, Y, decided)


def few(n_rows: int) -> Iterator[slice]:
    """Cut rows into a few parts."""
    return batches(n_rows, max(1, -(-n_rows // FEW)))


def checked_weights(neighbourhood: Any, X: MatrixLike, n_rows: int) -> Matrix:
    """Return a neighbourhood's weights around rows, dense or CSR, or say what is wrong.

    Parameters
    ----------
    neighbourhood : neighbourhood
        Anything with a method ``weights``.
    X : array-like of t rows
        Rows in question.
    n_rows : int
        Number M of validation rows.

    Returns
    -------
    ndarray or CSR of shape (t, M)
    """
    weights = neighbourhood.weights(X)
    weights = sparse.csr_array(weights) if sparse.issparse(weights) else np.asarray(weights)
    shape = (count_rows(X), n_rows)
    if weights.shape != shape:
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights of shape {weights.shape}; "
            f"expected {shape}, a weight for each row and validation row."
        )
    weights = weights.astype(np.result_type(weights.dtype, np.float32), copy=False)
    if not (weights.min() >= 0 and weights.max() < np.inf):
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights that are negative or not "
            "finite. Are there features with values too large to be squared?"
        )
    return weights
