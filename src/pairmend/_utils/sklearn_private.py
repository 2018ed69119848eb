"""Parameters of estimators, and all private functions of scikit-learn that the package uses."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._array_api import _convert_to_numpy as to_numpy
from sklearn.utils._array_api import device as device_of
from sklearn.utils._array_api import get_namespace
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as read_sample_weight
from sklearn.utils.validation import _num_samples as count_rows

try:
    from sklearn.utils._array_api import _estimator_with_converted_arrays as convert_arrays
    from sklearn.utils._array_api import check_same_namespace as compare_namespaces
    from sklearn.utils._array_api import move_estimator_to as move_estimator
except ImportError:  # scikit-learn 1.7 and 1.8
    compare_namespaces = convert_arrays = move_estimator = None

HAS_ARRAY_API = move_estimator is not None
"""Whether scikit-learn has what arrays of other libraries than numpy need here."""


def namespace_of(*arrays: Any) -> Any:
    """Return the functions of the array API for arrays of any library.

    These are numpy's without ``array_api_dispatch``.
    """
    return get_namespace(*arrays)[0]


def check_params(estimator: BaseEstimator, params: dict[str, Any]) -> None:
    """Check values of some of an estimator's parameters against its constraints."""
    validate_parameter_constraints(
        estimator._parameter_constraints, params, caller_name=type(estimator).__name__
    )


def check_prediction_parameters(estimator: Any) -> None:
    """Check the parameters that take effect at prediction, which may have been set after fit."""
    names = estimator.prediction_parameters
    check_params(estimator, {name: getattr(estimator, name) for name in names})


class DefaultParts:
    """Mixin for estimators in which None as a parameter stands for an object with parameters.

    ``get_params`` lists the parameters of that object, and ``set_params`` of one of them sets the
    object first. The parameter stays None until then, so that ``clone`` and ``repr`` are those of
    any scikit-learn estimator. Where the parameter is "auto", ``set_params`` of a nested parameter
    sets the object first, too.
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Functions that create the object that None stands for, by the name of the parameter."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of nested objects, also of those that None stands for.

        Returns
        -------
        dict
            Parameter names mapped to their values.
        """
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        for name, default in self._default_parts.items():
            if deep and params[name] is None:
                nested = default().get_params(deep=True)
                params.update({f"{name}__{key}": value for key, value in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters. ``<name>__<parameter>`` is one of a nested object; where the object is
            None or "auto", the one that None stands for is set first.

        Returns
        -------
        self
        """
        nested = {name.partition("__")[0] for name in params if "__" in name}
        after = {**self.get_params(deep=False), **params}
        parts = {
            name: default()
            for name, default in self._default_parts.items()
            if name in nested and (after[name] is None or is_auto(after[name]))
        }
        for name, part in parts.items():  # an error changes nothing
            own = [key for key in params if key.startswith(f"{name}__")]
            part.set_params(**{key.partition("__")[2]: params.pop(key) for key in own})
        changed: Self = super().set_params(**{**params, **parts})  # type: ignore[misc]
        return changed

    def _part(self, name: str) -> Any:
        """Return the value of a parameter, or the object that None stands for."""
        value = getattr(self, name)
        return self._default_parts[name]() if value is None else value


def is_auto(value: Any) -> bool:
    """Return whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def same_parameters(first: Any, second: Any) -> bool:
    """Compare two values of a parameter; estimators by all their parameters, lists by members.

    Values that cannot be compared count as different.
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, str):
        return bool(first == second)
    if hasattr(first, "get_params"):
        ours, theirs = first.get_params(deep=False), second.get_params(deep=False)
        return ours.keys() == theirs.keys() and all(
            same_parameters(ours[name], theirs[name]) for name in ours
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same_parameters, first, second))
    return np.array_equal(first, second)
