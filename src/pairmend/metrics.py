"""The losses of the study, all in [0, 1]; and how good the probabilities of labels are.

Less is better.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.metrics import f1_score, hamming_loss, zero_one_loss
from sklearn.utils import check_array

from pairmend._utils.targets import check_indicators
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, TargetLike

__all__ = [
    "LOSSES",
    "Reliability",
    "brier_by_label",
    "hamming_loss",
    "log_loss_by_label",
    "macro_f1_loss",
    "micro_f1_loss",
    "reliability",
    "zero_one_loss",
]


def macro_f1_loss(y_true: ArrayLike, y_pred: ArrayLike, *, zero_division: float = 1.0) -> float:
    """One minus the mean of the labels' F1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples, n_labels)
        True and predicted label indicators.
    zero_division : float, default=1.0
        F1 of a label with neither a true nor a predicted positive. 1 is Mulan's convention,
        and the study's; scikit-learn's own is 0.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> Y_true, Y_pred = np.array([[1, 0], [1, 0]]), np.array([[1, 0], [1, 0]])
    >>> macro_f1_loss(Y_true, Y_pred), macro_f1_loss(Y_true, Y_pred, zero_division=0.0)
    (0.0, 0.5)
    """
    return _f1_loss(y_true, y_pred, "macro", zero_division)


def micro_f1_loss(y_true: ArrayLike, y_pred: ArrayLike, *, zero_division: float = 1.0) -> float:
    """One minus the F1 of all decisions of all labels taken together.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples, n_labels)
        True and predicted label indicators.
    zero_division : float, default=1.0
        F1 where there is neither a true nor a predicted positive at all.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> micro_f1_loss(np.array([[1, 0], [1, 0]]), np.array([[1, 0], [0, 1]]))
    0.5
    """
    return _f1_loss(y_true, y_pred, "micro", zero_division)


def _f1_loss(y_true: ArrayLike, y_pred: ArrayLike, average: str, zero_division: float) -> float:
    return 1 - float(f1_score(y_true, y_pred, average=average, zero_division=zero_division))


LOSSES: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "hamming": hamming_loss,
    "macro_f1": macro_f1_loss,
    "micro_f1": micro_f1_loss,
    "zero_one": zero_one_loss,
}
"""The four criteria of the study by name."""


def brier_by_label(
    Y_true: TargetLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> FloatArray:
    """Brier score of each label: its probability's mean squared error, in [0, 1].

    Parameters
    ----------
    Y_true : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        True label indicators.
    probabilities : array-like of shape (n_samples, n_labels)
        What ``predict_proba`` gives.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of rows.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> brier_by_label([[1, 0], [0, 0]], [[1.0, 0.5], [0.5, 0.5]]).tolist()
    [0.125, 0.25]
    """
    Y, p = _check(Y_true, probabilities)
    return _mean((p - Y) ** 2, sample_weight)


def log_loss_by_label(
    Y_true: TargetLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> FloatArray:
    """Log loss of each label: minus the mean log-probability of what is true.

    Parameters
    ----------
    Y_true : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        True label indicators.
    probabilities : array-like of shape (n_samples, n_labels)
        What ``predict_proba`` gives. They are kept as far from 0 and 1 as numbers can tell
        apart, as scikit-learn does it: to be certain and wrong costs about 36, not infinity.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of rows.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> log_loss_by_label([[1, 0], [0, 0]], [[1.0, 0.5], [0.5, 0.5]]).round(3).tolist()
    [0.347, 0.693]
    """
    Y, p = _check(Y_true, probabilities)
    smallest = np.finfo(p.dtype).eps
    p = np.clip(p, smallest, 1 - smallest)
    losses = -(xlogy(Y, p) + xlogy(~Y, 1 - p))
    return _mean(losses, sample_weight)


@dataclass(frozen=True)
class Reliability:
    """How often labels are true, by the probability they were given.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
        Mean probability of each bin that is not empty, ascending.
    observed : ndarray of shape (n,)
        Share of true labels in it. Equal to `predicted` if probabilities are calibrated.
    counts : ndarray of int, shape (n,)
        Number of probabilities in it.
    """

    predicted: FloatArray
    observed: FloatArray
    counts: IntArray

    @property
    def error(self) -> float:
        """Mean distance of both, each bin by its count: the expected calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))


def reliability(
    Y_true: TargetLike, probabilities: ArrayLike, *, label: int | None = None, n_bins: int = 10
) -> Reliability:
    """Hold probabilities against how often labels are true, in bins of equal width.

    Parameters
    ----------
    Y_true : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        True label indicators.
    probabilities : array-like of shape (n_samples, n_labels)
        What ``predict_proba`` gives.
    label : int, default=None
        Number of the only label to look at; None means all, pooled.
    n_bins : int, default=10
        Number of bins between 0 and 1.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> found = reliability([[0, 1], [0, 1]], [[0.1, 0.7], [0.2, 0.9]], n_bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist(), found.counts.tolist()
    ([0.15, 0.8], [0.0, 1.0], [2, 2])
    >>> round(found.error, 3)
    0.175
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number of at least 1, got {n_bins!r}.")
    Y, p = _check(Y_true, probabilities)
    if label is not None:
        if not -Y.shape[1] <= label < Y.shape[1]:
            raise ValueError(f"label is number {label!r}, but there are {Y.shape[1]} labels.")
        Y, p = Y[:, label], p[:, label]
    bins = np.minimum((p.ravel() * n_bins).astype(np.intp), n_bins - 1)
    counts, said, true = (
        np.bincount(bins, weights=weights, minlength=n_bins)
        for weights in (None, p.ravel(), Y.ravel())
    )
    filled = counts > 0
    return Reliability(said[filled] / counts[filled], true[filled] / counts[filled], counts[filled])


def _mean(losses: FloatArray, sample_weight: ArrayLike | None) -> FloatArray:
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return np.asarray(np.average(losses, axis=0, weights=weights))


def _check(Y_true: TargetLike, probabilities: ArrayLike) -> tuple[BoolArray, FloatArray]:
    Y = check_indicators(Y_true)
    p = check_array(probabilities, input_name="probabilities", dtype=[np.float64, np.float32])
    if p.shape != Y.shape:
        raise ValueError(
            f"probabilities have the shape {p.shape}, Y_true {Y.shape}; expected a probability "
            "for each row and label."
        )
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise ValueError(
            f"probabilities lie in [{p.min():g}, {p.max():g}]; expected [0, 1]. Scores of "
            "decision_function are no probabilities."
        )
    return Y, p
