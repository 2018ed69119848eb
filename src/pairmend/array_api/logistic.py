"""Logistic regression of all labels at once, in terms of the array API."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.per_label import smoothed_share, varying_labels
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.array_api.logistic_solver import fit_logistic


class LabelLogisticRegression(ClassifierMixin, BaseEstimator):
    """L2-penalized logistic regression of standardized features, for all labels at once.

    The optimum is that of :class:`~pairmend.base_classifiers.ScaledLogisticRegression` for each
    label. scikit-learn's ``LogisticRegression`` fits one label at a time, which on a GPU takes many
    times as long. A label with one class only has its smoothed share.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty.
    max_iter : int, default=1000
        Largest number of Newton steps.
    standardize : bool, default=True
        Whether features are standardized; ``ScaledLogisticRegression`` does not where rows are
        mostly zeros.

    Attributes
    ----------
    mean_, scale_ : array of shape (n_features,)
        Mean and standard deviation of the features; 1 for constant ones. If features are not
        standardized, 0 and 1.
    coef_ : array of shape (n_features, n_labels)
        Coefficients of the standardized features.
    intercept_ : array of shape (n_labels,)
        Intercepts.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.array_api.logistic import LabelLogisticRegression
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    >>> clf = LabelLogisticRegression().fit(X, Y == 1)
    >>> clf.predict_proba(np.array([[1.5]])).round(2).tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, C: float = 1.0, *, max_iter: int = 1000, standardize: bool = True):
        self.C = C
        self.max_iter = max_iter
        self.standardize = standardize

    def fit(self, X: Array, Y: BoolArray, sample_weight: FloatArray | None = None) -> Self:
        """Fit all labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows without missing values, of any array library.
        Y : ndarray of bool, shape (n_samples, n_labels)
            Label indicators.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self
            Fitted classifier.
        """
        space = Namespace.of(X)
        xp = space.xp
        mass = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weights = space.asarray(mass)
        X = xp.astype(X, space.float64)
        mean, scale = self._mean_and_scale(X, weights / float(mass.sum()), space)
        varying = varying_labels(Y)
        shares = smoothed_share(Y, mass)
        coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.log(shares) - np.log1p(-shares)
        scaled = (X - mean) / scale
        optimum = fit_logistic(scaled, Y[:, varying], mass, self.C, self.max_iter, overwrite=True)
        optimum.warn_unless_converged()
        coef[:, varying], intercept[varying] = optimum.coef, optimum.intercept
        self.mean_, self.scale_ = mean, scale
        self.coef_, self.intercept_ = space.asarray(coef), space.asarray(intercept)
        self.classes_ = np.arange(Y.shape[1])
        return self

    def _mean_and_scale(self, X: Array, share: Array, namespace: Namespace) -> tuple[Array, Array]:
        """Return what is subtracted from the features, and what they are divided by."""
        xp = namespace.xp
        mean = xp.sum(X * share[:, None], axis=0)
        if not self.standardize:
            return xp.zeros_like(mean), xp.ones_like(mean)
        variance = xp.sum((X - mean) ** 2 * share[:, None], axis=0)
        # The variance of a constant feature is rounding, with the bound of `StandardScaler`.
        rounding = X.shape[0] * float(xp.finfo(X.dtype).eps)
        is_constant = variance <= rounding * variance + (rounding * mean) ** 2
        return mean, xp.where(is_constant, xp.ones_like(mean), xp.sqrt(variance))

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities of labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, of the array library of fit.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Probabilities.
        """
        check_is_fitted(self)
        xp = Namespace.of(self.coef_).xp
        Z = (xp.astype(X, self.mean_.dtype) - self.mean_) / self.scale_
        return _logistic(Z @ self.coef_ + self.intercept_, xp)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.array_api_support = True
        return tags


def _logistic(scores: Array, xp: Any) -> Array:
    """Return the logistic function; an exponential that overflows gives 0."""
    with np.errstate(over="ignore"):
        return 1 / (1 + xp.exp(-scores))
