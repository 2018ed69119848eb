"""All private functions of scikit-learn that the package uses."""

from typing import Any, ClassVar

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
)
from sklearn.utils._repr_html.estimator import _get_visual_block as get_visual_block
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

__all__ = [
    "HAS_ARRAY_API",
    "CachedParameterNames",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_method_params",
    "check_params",
    "check_prediction_parameters",
    "compare_namespaces",
    "convert_arrays",
    "count_rows",
    "device_of",
    "fit_context",
    "get_visual_block",
    "move_estimator",
    "namespace_of",
    "read_sample_weight",
    "routing_enabled",
    "safe_indexing",
    "to_numpy",
]


HAS_ARRAY_API = move_estimator is not None
"""Whether scikit-learn has what arrays of other libraries than numpy need here."""


def namespace_of(*arrays: Any) -> Any:
    """Return the functions of the array API for arrays of any library.

    These are numpy's without ``array_api_dispatch``.
    """
    return get_namespace(*arrays)[0]


class CachedParameterNames:
    """Mixin that caches the names of an estimator's parameters by class.

    scikit-learn reads the signature whenever it checks, clones or shows an estimator. For small
    data that takes as long as the computation itself.
    """

    _parameter_names: ClassVar[tuple[str, ...]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        if "_parameter_names" not in vars(cls):  # a subclass may have others
            cls._parameter_names = tuple(super()._get_param_names())  # type: ignore[misc]
        return list(cls._parameter_names)


def check_params(estimator: BaseEstimator, params: dict[str, Any]) -> None:
    """Check values of some of an estimator's parameters against its constraints."""
    validate_parameter_constraints(
        estimator._parameter_constraints, params, caller_name=type(estimator).__name__
    )


def check_prediction_parameters(estimator: Any) -> None:
    """Check the parameters that take effect at prediction, which may have been set after fit."""
    names = estimator.prediction_parameters
    check_params(estimator, {name: getattr(estimator, name) for name in names})
