"""Checks of indices and shapes for compiled code, which does not check bounds itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_indices(indices: NDArray[Any], size: int, name: str) -> None:
    """Raise a ValueError unless all indices, of a possibly damaged model, are in an axis."""
    if indices.size and not (np.min(indices) >= 0 and np.max(indices) < size):
        raise ValueError(
            f"a model refers to {name} from {np.min(indices)} to {np.max(indices)}, expected 0 to "
            f"{size - 1}. It is damaged: fit it again."
        )


def check_shape(array: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """Raise a ValueError unless an array has the shape that compiled code expects."""
    if array.shape != shape:
        raise ValueError(
            f"a model has {name} of shape {array.shape}, expected {shape}. It is damaged: "
            "fit it again."
        )
