"""What validation rows tell: supports of classifiers that did not see them, and the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.correction import p_true_given_decision
from pairmend.kernels.leave_one_out import global_confusion, tabulate
from pairmend.kernels.rrc import REFERENCES


@dataclass(frozen=True)
class Witness:
    """Validation rows seen through one reference classifier.

    Attributes
    ----------
    reference : str
        Name of the reference classifier.
    table : ndarray of shape (M, 3 L + 1)
        What sums over rows need.
    everywhere : ndarray of shape (1, L, 2, 2)
        Confusion matrices over all rows.
    """

    reference: str
    table: FloatArray
    everywhere: FloatArray

    @classmethod
    def of(cls, reference: str, Y: BoolArray, supports: FloatArray, weights: FloatArray) -> Any:
        """See rows through a reference classifier."""
        table = tabulate(Y, REFERENCES[reference](supports), weights)
        return cls(reference, table, global_confusion(table))

    def decide(self, supports: FloatArray) -> FloatArray:
        """Return the probabilities of deciding for labels of these supports."""
        return REFERENCES[self.reference](supports)

    def elsewhere(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return p_true_given_decision over all rows but one, for each of these."""
        return p_true_given_decision(global_confusion(self.table, rows))


@dataclass(frozen=True)
class Evidence:
    """Validation rows.

    Attributes
    ----------
    Y : ndarray of bool, shape (M, L)
        Truth.
    supports : ndarray of shape (M, L)
        What classifiers that did not see a row say of it.
    weights : ndarray of shape (M,)
        Weights of rows, in units of the weight that counts as one row.
    witnesses : dict of Witness
        By the name of the reference classifier.
    """

    Y: BoolArray
    supports: FloatArray
    weights: FloatArray
    witnesses: dict[str, Witness]

    @classmethod
    def of(
        cls, Y: BoolArray, supports: FloatArray, weights: FloatArray, references: Sequence[str]
    ) -> "Evidence":
        """Collect the evidence under some reference classifiers."""
        seen = {name: Witness.of(name, Y, supports, weights) for name in references}
        return cls(Y, supports, weights, seen)

    def loss(self, said: FloatArray, rows: IntArray, weights: FloatArray) -> float:
        """Return the Brier score of rows with these weights, the mean over labels."""
        return float(np.average(self.errors(said, rows), weights=weights))

    def errors(self, said: FloatArray, rows: IntArray) -> FloatArray:
        """Return the Brier score of each row."""
        return np.asarray(np.mean((said - self.Y[rows]) ** 2, axis=-1))

    @property
    def n_examples(self) -> FloatArray:
        """Weight of the rows of the rarer side of each label."""
        return np.minimum(self.weights @ self.Y, self.weights @ ~self.Y)
