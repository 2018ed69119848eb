"""The validation set: true labels and out-of-fold probabilities, tabulated for confusion sums."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.correction import p_true_given_decision
from pairmend.kernels.leave_one_out import global_confusion, tabulate
from pairmend.kernels.rrc import REFERENCES


@dataclass(frozen=True)
class ReferenceTable:
    """Decisions of one randomized reference classifier on the validation set.

    Attributes
    ----------
    reference : str
        Name of the reference classifier.
    table : ndarray of shape (n_validation, 3 * n_labels + 1)
        Columns whose weighted sums give confusion matrices.
    global_confusion : ndarray of shape (1, n_labels, 2, 2)
        Confusion matrices over all rows, [truth, decision].
    """

    reference: str
    table: FloatArray
    global_confusion: FloatArray

    @classmethod
    def from_rows(
        cls, reference: str, Y: BoolArray, proba: FloatArray, weights: FloatArray
    ) -> "ReferenceTable":
        """Tabulate the decisions of a reference classifier."""
        table = tabulate(Y, REFERENCES[reference](proba), weights)
        return cls(reference, table, global_confusion(table))

    def p_decide(self, proba: FloatArray) -> FloatArray:
        """Return the probability of deciding for each label."""
        return REFERENCES[self.reference](proba)

    def p_true_without(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return p_true_given_decision over all rows but one, for each of these rows."""
        return p_true_given_decision(global_confusion(self.table, rows))


@dataclass(frozen=True)
class ValidationSet:
    """Rows with out-of-fold probabilities, which estimate the base classifier's errors.

    Attributes
    ----------
    Y : ndarray of bool, shape (n_validation, n_labels)
        True labels.
    proba : ndarray of shape (n_validation, n_labels)
        Out-of-fold probabilities of the base classifier.
    weights : ndarray of shape (n_validation,)
        Weights of rows, in units of the weight that counts as one row.
    references : dict of ReferenceTable
        By the name of the reference classifier.
    """

    Y: BoolArray
    proba: FloatArray
    weights: FloatArray
    references: dict[str, ReferenceTable]

    @classmethod
    def from_rows(
        cls, Y: BoolArray, proba: FloatArray, weights: FloatArray, references: Sequence[str]
    ) -> "ValidationSet":
        """Tabulate the rows for some reference classifiers."""
        tables = {name: ReferenceTable.from_rows(name, Y, proba, weights) for name in references}
        return cls(Y, proba, weights, tables)

    def brier_score(self, proba: FloatArray, rows: IntArray, weights: FloatArray) -> float:
        """Return the weighted mean squared error of probabilities of some rows."""
        return float(np.average(self.squared_errors(proba, rows), weights=weights))

    def squared_errors(self, proba: FloatArray, rows: IntArray) -> FloatArray:
        """Return the squared error of each row, the mean over labels."""
        return np.asarray(np.mean((proba - self.Y[rows]) ** 2, axis=-1))

    @property
    def n_examples(self) -> FloatArray:
        """Weight of the rarer class of each label, (n_labels,)."""
        return np.minimum(self.weights @ self.Y, self.weights @ ~self.Y)
