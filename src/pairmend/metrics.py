"""The losses of the study. All are in [0, 1], and less is better."""

from collections.abc import Callable

from numpy.typing import ArrayLike
from sklearn.metrics import f1_score, hamming_loss, zero_one_loss

__all__ = ["LOSSES", "hamming_loss", "macro_f1_loss", "micro_f1_loss", "zero_one_loss"]


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
