"""PairEvaluator: evaluates single pairs at chosen rows and counts the evaluations."""

from collections.abc import Callable

import numpy as np

from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.pairwise.learners import GenericPairLearner, PairLearner


class PairEvaluator:
    """Supports of single pairs at rows, with a count of evaluated pairs for each row.

    A learner with one model per pair evaluates that model only. A learner that computes all pairs
    with matrix products evaluates them once, at the start.
    """

    _support: Callable[[int, IntArray], FloatArray]

    def __init__(
        self,
        learner: PairLearner,
        X: MatrixLike,
        all_supports: Callable[[MatrixLike], FloatArray],
    ):
        self.n_evaluated: IntArray = np.zeros(count_rows(X), dtype=np.int64)
        if isinstance(learner, GenericPairLearner):
            self._support = lambda pair, rows: learner.support_of(take_rows(X, rows), pair)
        else:
            supports = all_supports(X)
            self._support = lambda pair, rows: supports[rows, pair]

    def support(self, pair: int, rows: IntArray) -> FloatArray:
        """Return a pair's support for its first label at distinct rows."""
        self.n_evaluated[rows] += 1
        return self._support(pair, rows)

    def supports(self, pairs: IntArray) -> FloatArray:
        """Return the supports of some pairs at all rows, of shape (n, n_pairs)."""
        rows = np.arange(len(self.n_evaluated))
        return np.column_stack([self.support(pair, rows) for pair in pairs])
