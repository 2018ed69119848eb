"""Learners of all pairs: `PairLearner`, and the choice of a learner by the base classifier.

A learner trains the binary classifiers of all pairs and predicts their supports. Pairwise
classifiers use the interface :class:`PairLearner` only.
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
    """Predicts the supports of trained pairs at validation rows."""

    def folded_supports_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that have them, folded, (n_entries, L).

        There is a row for each entry of `label_rows` and a column for each label: the supports, for
        the entry's label and for the column's label, of their pair, as one number (see
        :mod:`pairmend.kernels.folding`). The column of the entry's own label holds an arbitrary
        number in [-1/2, 1/2].
        """


class PairLearner(ValidationLearner, Protocol):
    """Trains a binary classifier for each pair and predicts their supports."""

    @property
    def row_size(self) -> int:
        """Number of floats that a row needs in memory during prediction, without its supports."""

    def fit(
        self,
        X: MatrixLike,
        Y: BoolArray,
        pairs: IntArray,
        fit_params: dict[str, Any],
        owner: Any = None,
    ) -> "PairLearner":
        """Train all pairs, each on the rows that have exactly one of its labels.

        Pairs may have one label more than `Y` has columns, the virtual one: against it, a label is
        trained on all rows, those with it and those without. Progress is reported for `owner`.
        """

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports of blocks (slices of `pairs`) as arrays (n, pairs of the block).

        A support is the probability of the pair's first label; 1/2 for a pair without rows.
        """


def make_pair_learner(estimator: Any, *, n_jobs: int | None, seed: int) -> PairLearner:
    """Return the learner for an unfitted base classifier."""
    if type(estimator) is RandomSubspaceNB:  # a subclass may behave differently
        return SubspaceNBPairLearner(estimator, n_jobs=n_jobs, seed=seed)
    return GenericPairLearner(estimator, n_jobs=n_jobs, seed=seed)
