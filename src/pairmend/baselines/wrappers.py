"""Fit parameters for scikit-learn's multi-label wrappers that do not pass them on."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from pairmend._utils.typing import MatrixLike

Wrapper = Any
"""A :class:`sklearn.multioutput.ClassifierChain` or the like: ``estimators_`` of ``estimator``."""


def fit_wrapper(
    wrapper: Wrapper, X: MatrixLike, Y: np.ndarray[Any, Any], fit_params: dict[str, Any]
) -> Wrapper:
    """Fit a wrapper; `fit_params` are passed to the fit of each of its base classifiers."""
    if not fit_params:
        return wrapper.fit(X, Y)
    base = wrapper.estimator
    wrapper.set_params(estimator=_Bound(base, fit_params)).fit(X, Y)
    wrapper.estimators_ = [bound.estimator for bound in wrapper.estimators_]
    return wrapper.set_params(estimator=base)


class _Bound(ClassifierMixin, BaseEstimator):
    """A classifier with bound fit parameters."""

    def __init__(self, estimator: Any, fit_params: dict[str, Any]):
        self.estimator = estimator
        self.fit_params = fit_params

    def __sklearn_clone__(self) -> "_Bound":
        return _Bound(clone(self.estimator), self.fit_params)  # fit parameters are not copied

    def fit(self, X: MatrixLike, y: np.ndarray[Any, Any]) -> Self:
        self.classes_ = self.estimator.fit(X, y, **self.fit_params).classes_
        return self

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        return np.asarray(self.estimator.predict(X))
