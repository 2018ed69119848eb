"""Losses of predictions (LOSSES), of which less is better; reliability of probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from pairmend._utils.arrays import as_numpy
from pairmend._utils.training import check_indicators
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, TargetLike

__all__ = ["LOSSES", "Reliability", "reliability"]


def _weighted_hamming(Y: BoolArray, decisions: BoolArray, weights: FloatArray) -> float:
    return float(np.sum(weights @ (decisions != Y)) / (weights.sum() * Y.shape[1]))


def _weighted_zero_one(Y: BoolArray, decisions: BoolArray, weights: FloatArray) -> float:
    return float(weights @ (decisions != Y).any(axis=1) / weights.sum())


def _mean_f1_loss(true_positives: Any, positives: Any) -> float:
    """One minus the mean F1; F1 is 1 where there is neither a true nor a predicted positive."""
    defined = positives > 0
    return 1 - float(
        np.mean(np.where(defined, 2 * true_positives / np.where(defined, positives, 1), 1))
    )


def _weighted_micro_f1(Y: BoolArray, decisions: BoolArray, weights: FloatArray) -> float:
    positives = np.sum(weights @ Y) + np.sum(weights @ decisions)
    return _mean_f1_loss(np.sum(weights @ (Y & decisions)), positives)


def _weighted_macro_f1(Y: BoolArray, decisions: BoolArray, weights: FloatArray) -> float:
    return _mean_f1_loss(weights @ (Y & decisions), weights @ Y + weights @ decisions)


WEIGHTED_LOSSES = {
    "hamming": _weighted_hamming,
    "macro_f1": _weighted_macro_f1,
    "micro_f1": _weighted_micro_f1,
    "zero_one": _weighted_zero_one,
}
"""Losses of boolean arrays with row weights. They do not check the input, which would take most of
the time."""


def _loss(name: str, y_true: TargetLike, y_pred: TargetLike) -> float:
    """Return a loss of label indicators."""
    Y, decisions = check_indicators(y_true), check_indicators(y_pred)
    if Y.shape != decisions.shape:
        raise ValueError(f"y_true has the shape {Y.shape}, y_pred {decisions.shape}.")
    return WEIGHTED_LOSSES[name](Y, decisions, np.ones(len(Y)))


LOSSES: dict[str, Callable[[TargetLike, TargetLike], float]] = {
    name: partial(_loss, name) for name in WEIGHTED_LOSSES
}
"""The losses of studies and of ``criterion`` in `MendedClassifier`, by name.

They are the Hamming loss, the share of rows with any wrong label (zero-one loss), and one minus the
macro- and the micro-averaged F1. As in Mulan, the F1 of a label with neither a true nor a predicted
positive is 1; scikit-learn's is 0.
"""

LOSS_TITLES = {
    "hamming": "Hamming loss",
    "macro_f1": "1 - macro F1",
    "micro_f1": "1 - micro F1",
    "zero_one": "zero-one loss",
}


@dataclass(frozen=True)
class Reliability:
    """Frequencies of true labels in bins of predicted probabilities.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
        Mean probability of each bin that is not empty, ascending.
    observed : ndarray of shape (n,)
        Frequency of true labels in each bin. Close to `predicted` if probabilities are
        calibrated.
    counts : ndarray of int, shape (n,)
        Number of probabilities in each bin.

    Examples
    --------
    >>> import numpy as np
    >>> Reliability(np.array([0.25, 0.75]), np.array([0.25, 0.5]), np.array([3, 1])).error
    0.0625
    """

    predicted: FloatArray
    observed: FloatArray
    counts: IntArray

    @property
    def error(self) -> float:
        """Expected calibration error: mean of ``|predicted - observed|``, weighted by counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))


def reliability(
    Y_true: TargetLike, probabilities: ArrayLike, *, label: int | None = None, n_bins: int = 10
) -> Reliability:
    """Compare probabilities with frequencies of true labels, in bins of equal width.

    The points of :func:`sklearn.calibration.calibration_curve` for many labels, with their counts.

    Parameters
    ----------
    Y_true : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        True label indicators.
    probabilities : array-like of shape (n_samples, n_labels)
        Predicted probabilities.
    label : int, default=None
        Number of the label; None pools all labels.
    n_bins : int, default=10
        Number of bins between 0 and 1.

    Returns
    -------
    Reliability
        Mean probabilities, frequencies and counts of the bins.

    Examples
    --------
    >>> found = reliability([[0, 1], [0, 1]], [[0.1, 0.7], [0.2, 0.9]], n_bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist(), found.counts.tolist()
    ([0.15, 0.8], [0.0, 1.0], [2, 2])
    >>> round(found.error, 3)
    0.175
    """
    Y = check_indicators(Y_true)
    p = check_array(as_numpy(probabilities), input_name="probabilities", dtype="numeric")
    if p.shape != Y.shape:
        raise ValueError(f"probabilities have the shape {p.shape}, but Y_true has {Y.shape}.")
    columns = slice(None) if label is None else [label]
    y, p = Y[:, columns].ravel(), p[:, columns].ravel()
    from sklearn.calibration import calibration_curve  # takes long to import

    observed, predicted = calibration_curve(y, p, n_bins=n_bins)
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], p))
    return Reliability(predicted, observed, counts[counts > 0])
