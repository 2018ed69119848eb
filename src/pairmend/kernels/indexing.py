"""Indices for compiled code, which does not look whether they lie within an array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_indices(indices: NDArray[Any], size: int, name: str) -> None:
    """Refuse indices outside of an array.

    Parameters
    ----------
    indices : ndarray of int
        Indices into an axis of an array; of a model that was damaged or forged, maybe any.
    size : int
        Length of the axis.
    name : str
        What the indices are of, for the message.

    Raises
    ------
    ValueError
        If one is negative or not below `size`.

    Examples
    --------
    >>> check_indices(np.array([0, 2]), 3, "rows")
    >>> check_indices(np.array([0, 3]), 3, "rows")
    Traceback (most recent call last):
        ...
    ValueError: a model refers to rows that it does not have
    """
    if indices.size and not (np.min(indices) >= 0 and np.max(indices) < size):
        raise ValueError(f"a model refers to {name} that it does not have")


def check_shape(array: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """Refuse an array of another shape than compiled code expects.

    Examples
    --------
    >>> check_shape(np.zeros((2, 3)), (2, 4), "weights")
    Traceback (most recent call last):
        ...
    ValueError: a model has weights of shape (2, 3), expected (2, 4)
    """
    if array.shape != shape:
        raise ValueError(f"a model has {name} of shape {array.shape}, expected {shape}")
