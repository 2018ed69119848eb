"""Array libraries other than numpy for tests: array-api-strict, and torch where it is installed."""

import numpy as np
import pytest
import sklearn
from sklearn.utils import _array_api

LIBRARIES = ["strict", "torch"]
"""array-api-strict has only what the standard has, and refuses to mix its two devices."""


class Library:
    """Converts arrays of numpy to a library and back."""

    def __init__(self, name, dtype=None):
        if not hasattr(_array_api, "move_estimator_to"):
            pytest.skip("arrays of other libraries are tested with scikit-learn 1.9 or newer")
        self.name, self.dtype = name, dtype
        if name == "strict":
            self.xp = pytest.importorskip("array_api_strict")
            self.device = self.xp.Device("device1")
        else:
            self.xp = pytest.importorskip("torch", reason="torch is too large to be required")
            self.device = "cpu"

    def __call__(self, array):
        array = np.asarray(array)
        if self.dtype is not None and array.dtype.kind == "f":
            array = array.astype(self.dtype)
        return self.xp.asarray(array, device=self.device)

    def numpy(self, array):
        """Return an array of numpy, after a check of library and device."""
        with sklearn.config_context(array_api_dispatch=True):
            if self.name == "strict":
                assert array.device == self.device
            else:
                assert isinstance(array, self.xp.Tensor)
            return _array_api.move_to(array, xp=np, device="cpu")


def dispatched():
    """Return the context in which scikit-learn takes arrays of other libraries."""
    return sklearn.config_context(array_api_dispatch=True)


def moved_to(estimator, array):
    """Return a fitted estimator with the library and the device of an array."""
    xp, _, device = _array_api.get_namespace_and_device(array)
    return _array_api.move_estimator_to(estimator, xp, device)


def moved_to_numpy(estimator):
    """Return a fitted estimator with arrays of numpy."""
    with dispatched():
        return _array_api.move_estimator_to(estimator, np, "cpu")
