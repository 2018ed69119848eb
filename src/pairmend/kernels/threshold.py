"""From scores of labels to decisions."""

import numpy as np
from numpy.typing import NDArray

from pairmend._typing import FloatArray


def accept(scores: FloatArray, threshold: float) -> NDArray[np.int64]:
    """Accept the labels whose score lies above the threshold, strictly (eq. 7, 8).

    Parameters
    ----------
    scores : ndarray of shape (t, L)
        Label scores.
    threshold : float
        What a score must exceed.

    Returns
    -------
    ndarray of int, shape (t, L)
        0 or 1.

    Examples
    --------
    >>> accept(np.array([[0.4, 0.5, 0.6]]), 0.5).tolist()
    [[0, 0, 1]]
    """
    return (scores > threshold).astype(np.int64)
