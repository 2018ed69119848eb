"""How the binary problems of pairs are trained and asked.

A learner stands between the classifiers and whatever does the learning. A classifier only
ever uses what :class:`PairLearner` lists.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import LabelRows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

__all__ = [
    "GenericPairLearner",
    "PairLearner",
    "SubspaceNBPairLearner",
    "ValidationLearner",
    "make_pair_learner",
]


class ValidationLearner(Protocol):
    """Tells what trained pairs say of validation rows."""

    def support_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that carry them, in all their pairs.

        The result has a row for each entry of `label_rows` and a column for each label: what the
        pair of the entry's label and the column's says for the former. The column of the
        entry's own label holds anything in [0, 1].
        """


class PairLearner(ValidationLearner, Protocol):
    """Trains a binary classifier for each pair and tells their supports."""

    @property
    def row_size(self) -> int:
        """How many floats a row takes while it is asked about, pairs left aside."""

    def fit(
        self, X: MatrixLike, Y: BoolArray, pairs: IntArray, fit_params: dict[str, Any]
    ) -> "PairLearner":
        """Train all pairs, each on the rows that carry exactly one of its labels.

        Pairs may have one label more than `Y` has columns, the virtual one: against it, a
        label is trained on all rows, those with it and those without.
        """

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""


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
    if type(estimator) is RandomSubspaceNB:  # a subclass may do something else
        return SubspaceNBPairLearner(estimator, n_jobs=n_jobs, seed=seed)
    return GenericPairLearner(estimator, n_jobs=n_jobs, seed=seed)
