"""The validation set: rows with true labels and out-of-fold probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.correction import p_true_given_decision
from pairmend.kernels.leave_one_out import global_confusion, tabulate
from pairmend.kernels.rrc import REFERENCES


@dataclass(frozen=True)
class ValidationRows:
    """Some rows with out-of-fold probabilities, which estimate the base classifier's errors.

    Attributes
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows, in the form that distances take.
    Y : ndarray of bool, shape (n_rows, n_labels)
        True labels.
    proba : ndarray of shape (n_rows, n_labels)
        Out-of-fold probabilities of the base classifier.
    weights : ndarray of shape (n_rows,)
        Weights of rows, in units of the weight that counts as one row.
    """

    X: MatrixLike
    Y: BoolArray
    proba: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.Y)

    def take(self, rows: IntArray | slice) -> "ValidationRows":
        """Select rows."""
        X = take_rows(self.X, rows)
        return ValidationRows(X, self.Y[rows], self.proba[rows], self.weights[rows])

    def without_features(self) -> "ValidationRows":
        """Return the same without X."""
        return replace(self, X=None)

    def p_decide(self, reference: str) -> FloatArray:
        """Return the probability that a reference classifier decides for each label."""
        return REFERENCES[reference](self.proba)

    def summands(self, reference: str) -> FloatArray:
        """Return what each row adds to confusion sums, (n_rows, 3 * n_labels + 1)."""
        return tabulate(self.Y, self.p_decide(reference), self.weights)

    def brier_score(self, proba: FloatArray, weights: FloatArray) -> float:
        """Return the weighted mean squared error of probabilities."""
        return float(np.average(self.squared_errors(proba), weights=weights))

    def squared_errors(self, proba: FloatArray) -> FloatArray:
        """Return the squared error of each row, the mean over labels."""
        return np.asarray(np.mean((proba - self.Y) ** 2, axis=-1))


@dataclass(frozen=True)
class GlobalSums:
    """Confusion sums over all validation rows.

    Attributes
    ----------
    sums : mapping of ndarray of shape (1, 3 * n_labels + 1)
        By the name of the reference classifier.
    """

    sums: Mapping[str, FloatArray]

    def confusion(self, reference: str) -> FloatArray:
        """Return the confusion matrices of labels, (1, n_labels, 2, 2), [truth, decision]."""
        return global_confusion(self.sums[reference])

    def p_true_without(self, reference: str, summands: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p_true_given_decision over all rows but one, for each row of summands."""
        return p_true_given_decision(global_confusion(self.sums[reference] - summands))

    def rows_per_part(self, n_parts: int) -> float:
        """Return the weight of all rows divided by a number of parts, in rows, at least 1."""
        return max(1.0, round(self.n_rows / n_parts, 3))

    @property
    def n_rows(self) -> float:
        """Weight of all rows, in rows."""
        return float(next(iter(self.sums.values()))[0, -1])

    @property
    def n_examples(self) -> FloatArray:
        """Weight of the rarer class of each label, (n_labels,)."""
        sums = next(iter(self.sums.values()))[0]
        n_labels = len(sums) // 3
        positive = sums[2 * n_labels : 3 * n_labels]
        return np.minimum(positive, sums[-1] - positive)
