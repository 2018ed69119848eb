"""Parameters of fit: checks of sample weights, their rows in a split, routing."""

from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from pairmend._utils.namespaces import as_numpy
from pairmend._utils.sklearn_private import (
    check_method_params,
    count_rows,
    read_sample_weight,
    routing_enabled,
)
from pairmend._utils.targets import check_row_order
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.weights import without_negligible


def fit_with_weights(estimator: Any, given: tuple[Any, ...], weights: FloatArray | None) -> Any:
    """Fit an estimator, with sample weights if there are any and its fit accepts them."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(*given)
    return estimator.fit(*given, sample_weight=weights)


def check_sample_weight(sample_weight: Any, X: MatrixLike, **options: Any) -> FloatArray:
    """Read sample weights; None gives ones, and weights that are all zero are an error.

    scikit-learn 1.7 accepts weights that are all zero, newer versions do not.
    """
    check_row_order(X, sample_weight, "sample_weight")
    # Only the number of rows matters. A dispatching scikit-learn refuses an `EncodedFrame`.
    rows = np.empty((count_rows(X), 0))
    weights: FloatArray = read_sample_weight(as_numpy(sample_weight), rows, **options)
    if np.all(weights == 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def check_row_weights(sample_weight: Any, X: MatrixLike) -> FloatArray:
    """Read sample weights; those below a millionth of the unit become 0, None gives ones."""
    return without_negligible(check_sample_weight(sample_weight, X, ensure_non_negative=True))


def route_fit_params(
    estimator: BaseEstimator, base: Any, X: MatrixLike, params: dict[str, Any]
) -> tuple[dict[str, Any], FloatArray]:
    """Return fit parameters of the base classifier, and the checked weights of rows.

    Without weights these are ones. Weights below a millionth of the unit are 0.
    """
    if routing_enabled():
        routed = dict(process_routing(estimator, "fit", **params).estimator.fit)
    else:
        routed = dict(params)
    if routed.get("sample_weight") is None:
        routed.pop("sample_weight", None)
    _check_names(estimator, base, routed)
    if "sample_weight" not in routed:
        return routed, np.ones(count_rows(X))
    checked = check_row_weights(routed["sample_weight"], X)
    return {**routed, "sample_weight": checked}, checked


def _check_names(estimator: BaseEstimator, base: Any, params: dict[str, Any]) -> None:
    """Raise an error for parameters that the fit of the base classifier does not have."""
    known = signature(base.fit).parameters.values()
    if routing_enabled() or any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known):
        return  # routing, or a meta-estimator that forwards **params, raises its own error
    names = [parameter.name for parameter in known if parameter.name not in ("X", "y", "Y")]
    unknown = [name for name in params if name not in names]
    if "sample_weight" in unknown:
        raise ValueError(
            f"The base classifier {type(base).__name__} takes no sample_weight in fit. Choose "
            "one that does. For a pipeline, enable scikit-learn's metadata routing and let its "
            "steps request sample_weight."
        )
    if unknown:
        raise TypeError(
            f"{type(estimator).__name__}.fit() got an unexpected keyword argument {unknown[0]!r}. "
            f"Expected parameters of {type(base).__name__}.fit: {', '.join(names) or 'none'}."
        )


def take_params(X: MatrixLike, params: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    """Select rows of those fit parameters that have one value a row."""
    selected: dict[str, Any] = check_method_params(X, params=params, indices=rows)
    return selected
