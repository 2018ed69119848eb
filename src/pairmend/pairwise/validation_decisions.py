"""Decisions of trained pairs on the validation set, and weights of its rows around a row."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import BLOCK_ARRAYS, row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.confusion import ValidationDecisions
from pairmend.kernels.pairs import LabelRows
from pairmend.kernels.rrc import decide
from pairmend.pairwise.learners import ValidationLearner


def decide_on_validation_set(
    X: MatrixLike,
    Y: BoolArray,
    parts: Iterable[tuple[IntArray, Callable[[IntArray], ValidationLearner]]],
    reference: Callable[[FloatArray], FloatArray],
    *,
    has_virtual: bool = False,
) -> ValidationDecisions:
    """Return the decisions of pairs; each part has rows of X and the learner of their supports."""
    label_rows = LabelRows.of(Y, has_virtual=has_virtual)
    p_decide: FloatArray | None = None
    for rows, learner_at in parts:
        everything = len(rows) == len(Y)
        here, chosen = (label_rows, slice(None)) if everything else label_rows.among(rows, len(Y))
        supports = learner_at(rows).folded_supports_at(
            X if everything else take_rows(X, rows), here
        )
        for part in row_chunks(len(supports), BLOCK_ARRAYS * label_rows.n_labels):
            supports[part] = decide(supports[part], reference)
        if everything:
            p_decide = supports
        else:
            if p_decide is None:
                p_decide = np.empty((len(label_rows.rows), label_rows.n_labels))
            p_decide[chosen] = supports
    assert p_decide is not None
    if has_virtual:
        Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)])
    return ValidationDecisions(label_rows, Y, p_decide)


def checked_weights(neighbourhood: Any, X: MatrixLike, n_rows: int) -> FloatArray:
    """Return a neighbourhood's weights of shape (rows of X, n_rows) after checking them."""
    weights = neighbourhood.weights(X)
    weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    shape = (count_rows(X), n_rows)
    if weights.shape != shape:
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights of shape {weights.shape}; "
            f"expected {shape}, a weight for each row and validation row."
        )
    weights = weights.astype(np.float64, copy=False)
    if not (weights.min() >= 0 and weights.max() < np.inf):
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights that are negative or not "
            "finite. Are there features with values too large to be squared?"
        )
    return weights
