"""Parameters of fit for scikit-learn's multi-label wrappers, which may refuse to pass them on."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from pairmend._utils.typing import MatrixLike

Wrapper = Any
"""A :class:`sklearn.multioutput.ClassifierChain` or the like: ``estimators_`` of ``estimator``."""


def fit_wrapper(
    wrapper: Wrapper, X: MatrixLike, Y: np.ndarray[Any, Any], fit_params: dict[str, Any]
) -> Wrapper:
    """Fit one of scikit-learn's wrappers, with parameters for the fit of its base classifiers.

    Parameters
    ----------
    wrapper : estimator
        Trains clones of ``estimator`` on all of the rows and keeps them as ``estimators_``.
    X : array-like of shape (n_samples, n_features)
        Rows.
    Y : ndarray of shape (n_samples, n_labels)
        Label indicators.
    fit_params : dict
        Goes to the ``fit`` of every base classifier as it is.

    Returns
    -------
    estimator
        The wrapper, fitted.

    Examples
    --------
    >>> from sklearn.multioutput import ClassifierChain
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[0, 1], [1, 0], [1, 1]])
    >>> weights = {"sample_weight": np.array([1.0, 2.0, 5.0])}
    >>> chain = fit_wrapper(ClassifierChain(GaussianNB()), X, Y, weights)
    >>> [model.class_prior_.tolist() for model in chain.estimators_]
    [[0.125, 0.875], [0.25, 0.75]]
    """
    if not fit_params:
        return wrapper.fit(X, Y)
    base = wrapper.estimator
    wrapper.set_params(estimator=_Bound(base, fit_params)).fit(X, Y)
    wrapper.estimators_ = [bound.estimator for bound in wrapper.estimators_]
    return wrapper.set_params(estimator=base)


class _Bound(ClassifierMixin, BaseEstimator):
    """A classifier whose fit has all its parameters already."""

    def __init__(self, estimator: Any, fit_params: dict[str, Any]):
        self.estimator = estimator
        self.fit_params = fit_params

    def __sklearn_clone__(self) -> "_Bound":
        return _Bound(clone(self.estimator), self.fit_params)  # weights are not to be copied

    def fit(self, X: MatrixLike, y: np.ndarray[Any, Any]) -> Self:
        self.classes_ = self.estimator.fit(X, y, **self.fit_params).classes_
        return self

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        return np.asarray(self.estimator.predict(X))
