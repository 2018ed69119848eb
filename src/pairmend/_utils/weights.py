"""Parameters of fit: sample weights, the weight that counts as one row, routing.

A prior mass, a smoothing count or a minimum number of rows is a number of rows. Where rows have
weights, such a number is multiplied by a unit that is computed from the weights, so that all
weights times a constant give the same classifier.
"""

from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from pairmend._utils.arrays import as_numpy
from pairmend._utils.sklearn_private import (
    check_method_params,
    count_rows,
    read_sample_weight,
    routing_enabled,
)
from pairmend._utils.targets import check_row_order
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows

SHARE = 0.02
"""Share of the total weight of the rows up to the unit."""
NEGLIGIBLE = 1e-6
"""Rows that weigh less than this many units are left out, as rows of weight 0 are."""
SLACK = 1e-9
"""Relative difference of sums below which they count as equal."""


def unit_weight(weights: FloatArray) -> float:
    """Return the weight that counts as one row, 1 if no weight is above 0.

    It is the smallest weight such that the rows with weights up to it have at least 2 % of the
    total weight. Rows of weight 1 among heavier ones are the unit as long as they have 2 % of the
    total, and rows of very small weight do not change it.
    """
    positive = np.sort(weights[weights > 0])
    if len(positive) == 0:
        return 1.0
    up_to = np.cumsum(positive)
    return float(positive[np.searchsorted(up_to, SHARE * (1 - SLACK) * up_to[-1])])


def without_negligible(weights: FloatArray, unit: float | None = None) -> FloatArray:
    """Return weights with 0 in place of those below a millionth of the unit."""
    unit = unit_weight(weights) if unit is None else unit
    return np.where(weights < NEGLIGIBLE * unit, 0, weights)


def relative_weights(weights: FloatArray) -> FloatArray:
    """Return weights in units of :func:`unit_weight`."""
    return weights / unit_weight(weights)


def all_equal(weights: FloatArray) -> bool:
    """Return whether all weights are the same, so that they have no effect."""
    return bool((weights == weights[:1]).all())


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
    routed = dict(params)
    if routing_enabled():
        routed = dict(process_routing(estimator, "fit", **params).estimator.fit)
    if routed.get("sample_weight") is None:
        routed.pop("sample_weight", None)
    _check_names(estimator, base, routed)
    if "sample_weight" not in routed:
        return routed, np.ones(count_rows(X))
    checked = check_row_weights(routed["sample_weight"], X)
    return {**routed, "sample_weight": checked}, checked


def _check_names(estimator: BaseEstimator, base: Any, params: dict[str, Any]) -> None:
    """Raise an error for parameters that the fit of the base classifier does not have."""
    known = signature(base.fit).parameters
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
    unknown = [name for name in params if name not in known or name in ("X", "y", "Y")]
    if routing_enabled() or takes_all or not unknown:
        return  # with routing, and in a meta-estimator that forwards **params, it raises its own
    if "sample_weight" in unknown:
        raise ValueError(
            f"The base classifier {type(base).__name__} takes no sample_weight in fit. Choose "
            "one that does. For a pipeline, enable scikit-learn's metadata routing and let its "
            "steps request sample_weight."
        )
    raise TypeError(
        f"{type(estimator).__name__}.fit() got an unexpected keyword argument {unknown[0]!r}. "
        f"Expected parameters of {type(base).__name__}.fit: {', '.join(known)}."
    )


def take_params(X: MatrixLike, params: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    """Select rows of those fit parameters that have one value a row."""
    selected: dict[str, Any] = check_method_params(X, params=params, indices=rows)
    return selected


def take_present(
    X: MatrixLike, params: dict[str, Any], weights: FloatArray
) -> tuple[MatrixLike, dict[str, Any], IntArray]:
    """Return the rows of positive weight, their fit parameters, and their numbers."""
    present = np.flatnonzero(weights > 0)
    if len(present) == len(weights):
        return X, params, present
    return take_rows(X, present), take_params(X, params, present), present
