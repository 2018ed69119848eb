"""The device of a study: rows are moved to it as tensors of torch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import sklearn
from sklearn.utils import get_tags


def reason_device_is_missing(name: str | None) -> str:
    """Return why a device cannot be used, or ''.

    Parameters
    ----------
    name : str or None
        Name of the device for torch, such as "cuda"; None means the processors.

    Returns
    -------
    str
        What is missing, and what to do.

    Examples
    --------
    >>> reason_device_is_missing(None)
    ''
    """
    if name is None:
        return ""
    try:
        torch = import_module("torch")
    except ImportError:
        return f"device = {name!r} needs torch, which is not installed"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        return f"the device {name!r} of the study is not available: {first}"
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        return (
            f"device = {name!r} needs the environment variable SCIPY_ARRAY_API=1, set before "
            "Python starts"
        )
    return ""


class Mover:
    """Moves dense rows to a device, for classifiers that support the array API.

    Parameters
    ----------
    device : str or None
        Name of the device for torch; None means that nothing is moved.
    classifier : classifier
        The classifier that gets the rows.

    Examples
    --------
    >>> Mover(None, None)([[1.0]])
    [[1.0]]
    """

    def __init__(self, device: str | None, classifier: Any):
        self.device = device if device and get_tags(classifier).array_api_support else None

    def __call__(self, rows: Any) -> Any:
        """Return rows on the device; frames and sparse rows as they are."""
        if self.device is None or not isinstance(rows, np.ndarray):
            return rows
        return import_module("torch").asarray(rows, device=self.device)

    @contextmanager
    def dispatching(self) -> Iterator[None]:
        """Let scikit-learn dispatch by the library of arrays, if any are moved."""
        if self.device is None:
            yield
            return
        with sklearn.config_context(array_api_dispatch=True):
            yield
