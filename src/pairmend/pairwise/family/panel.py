"""Trained pairs that are asked one by one, each about the rows that need it."""

from collections.abc import Callable

import numpy as np

from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.pairwise.learners import GenericPairLearner, PairLearner


class Panel:
    """The pairs of a learner, asked about some rows at a time; keeps count.

    A learner of many models is asked for one of them. One that answers for all pairs at once,
    by products of matrices, is asked at the start: nothing can be saved there, and what is
    counted are the answers that were made use of.

    Parameters
    ----------
    learner : PairLearner
        The trained pairs.
    X : array-like
        The rows.
    all_supports : callable
        Gives the supports of all pairs, (n, n_pairs), for the rows.

    Attributes
    ----------
    n_asked : ndarray of shape (n,)
        How many pairs were asked about each row so far.
    """

    _answer: Callable[[int, IntArray], FloatArray]

    def __init__(
        self,
        learner: PairLearner,
        X: MatrixLike,
        all_supports: Callable[[MatrixLike], FloatArray],
    ):
        self.n_asked: IntArray = np.zeros(count_rows(X), dtype=np.int64)
        if isinstance(learner, GenericPairLearner):
            self._answer = lambda pair, rows: learner.support_of(take_rows(X, rows), pair)
        else:
            supports = all_supports(X)
            self._answer = lambda pair, rows: supports[rows, pair]

    def ask(self, pair: int, rows: IntArray) -> FloatArray:
        """Return a pair's support for its first label at some rows, none of them twice."""
        self.n_asked[rows] += 1
        return self._answer(pair, rows)

    def ask_all(self, pairs: IntArray) -> FloatArray:
        """Return what some pairs say of every row, (n, pairs)."""
        rows = np.arange(len(self.n_asked))
        return np.column_stack([self.ask(pair, rows) for pair in pairs])
