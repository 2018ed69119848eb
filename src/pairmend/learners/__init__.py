"""How the binary problems of pairs are trained and asked.

A learner stands between the classifiers and whatever does the learning. A classifier only
ever calls the three methods of :class:`PairLearner`.
"""

from typing import Any, Protocol

from pairmend._pairs import PairRows
from pairmend._typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.learners.generic import GenericPairLearner

__all__ = ["GenericPairLearner", "PairLearner", "make_pair_learner"]


class PairLearner(Protocol):
    """Trains a binary classifier for each pair and tells their supports."""

    def fit(
        self, X: MatrixLike, Y: BoolArray, pairs: IntArray, fit_params: dict[str, Any]
    ) -> "PairLearner":
        """Train all pairs, each on the rows that carry exactly one of its labels."""

    def support(self, X: MatrixLike, block: slice) -> FloatArray:
        """Return the supports for the first labels of a block of pairs, (n, block)."""

    def support_at(self, X: MatrixLike, members: PairRows, block: slice) -> FloatArray:
        """Return the supports at the entries of a block's rows only, (n_entries,)."""


def make_pair_learner(estimator: Any, *, n_jobs: int | None, seed: int) -> PairLearner:
    """Choose the learner for a base classifier.

    Parameters
    ----------
    estimator : classifier
        The unfitted base classifier.
    n_jobs : int or None
        Number of workers.
    seed : int
        Seed of everything random in the base classifiers.

    Returns
    -------
    PairLearner
    """
    return GenericPairLearner(estimator, n_jobs=n_jobs, seed=seed)
