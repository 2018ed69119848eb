"""All private functions of scikit-learn that the package uses."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
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

__all__ = [
    "CachedParameterNames",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_method_params",
    "check_params",
    "check_prediction_parameters",
    "count_rows",
    "fit_context",
    "get_visual_block",
    "read_sample_weight",
    "routing_enabled",
    "safe_indexing",
]


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
