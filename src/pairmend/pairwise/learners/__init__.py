"""Learners of all pairs: their interface, and the rows that they are trained on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pairmend._utils.arrays import Namespace
from pairmend._utils.computing import BLOCK_ARRAYS, row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend._utils.weights import take_params
from pairmend.kernels.confusion import ValidationDecisions, confusion_sums
from pairmend.kernels.pairs import LabelRows
from pairmend.kernels.rrc import decide


class PairLearner(ABC):
    """Trains a binary classifier for each pair of labels and predicts their supports."""

    @property
    def row_size(self) -> int:
        """Number of floats that a row needs in memory during prediction, without its supports."""
        return 0

    @property
    def pair_size(self) -> int:
        """Number of floats that a pair needs in memory during prediction, without its supports."""
        return 0

    @property
    def namespace(self) -> Namespace:
        """Array library and device of supports."""
        return Namespace(np, "cpu")

    @abstractmethod
    def fit(
        self,
        X: MatrixLike,
        Y: BoolArray,
        pairs: IntArray,
        fit_params: dict[str, Any],
        owner: Any = None,
    ) -> Self:
        """Train all pairs, each on the rows that have exactly one of its labels.

        Pairs may have one label more than `Y` has columns, the virtual one: against it, a label is
        trained on all rows, those with it and those without. Progress is reported for `owner`.
        """

    @abstractmethod
    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports of blocks of pairs, (n, pairs of the block), by their first labels.

        A support is the probability of the pair's first label; 1/2 for a pair without rows.
        """

    def folded_supports_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that have them, folded, (n_entries, L).

        There is a row for each entry of `label_rows` and a column for each label: the supports, for
        the entry's label and for the column's label, of their pair, as one number (see
        :mod:`pairmend.kernels.rrc`). The column of the entry's own label holds an arbitrary
        number in [-1/2, 1/2].
        """
        raise NotImplementedError

    def decide(
        self, X: MatrixLike, label_rows: LabelRows, reference: Callable[..., FloatArray]
    ) -> FloatArray:
        """Return the probabilities of decisions for labels at the rows that have them, folded."""
        supports = self.folded_supports_at(X, label_rows)
        for part in row_chunks(len(supports), BLOCK_ARRAYS * label_rows.n_labels):
            supports[part] = decide(supports[part], reference)
        return supports

    def confusion(
        self,
        weights: FloatArray,
        decisions: ValidationDecisions,
        labels: slice,
        *,
        overlap: float,
        balance: tuple[FloatArray, FloatArray] | None,
    ) -> FloatArray:
        """Return the confusion matrices of a block of pairs around t points, (t, n_pairs, 2, 2).

        `weights`, (M, t), are those of validation rows around the points. `overlap` and `balance`
        are those of :meth:`kernels.confusion.ConfusionSums.confusion`.
        """
        sums = confusion_sums(weights, decisions, labels, shared=overlap > 0)
        return sums.confusion(overlap, balance)


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a fit in memory; rows in blocks have the same interface.

    Attributes
    ----------
    X : array-like of n rows
        Rows.
    Y : ndarray of bool, shape (n, n_labels)
        Label indicators.
    fit_params : dict
        Parameters of the base classifier's fit.
    """

    X: MatrixLike
    Y: BoolArray
    fit_params: dict[str, Any]

    def take(self, rows: IntArray) -> "TrainingRows":
        """Return some of the rows."""
        params = take_params(self.Y, self.fit_params, rows)
        return TrainingRows(take_rows(self.X, rows), self.Y[rows], params)

    def train(self, learner: PairLearner, pairs: IntArray, owner: Any) -> PairLearner:
        """Train all pairs on the rows."""
        return learner.fit(self.X, self.Y, pairs, self.fit_params, owner)
