"""Logistic regression of all labels at once by Newton's method, in terms of the array API."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.per_label import smoothed_share, varying_labels
from pairmend._utils.typing import BoolArray, FloatArray

TOLERANCE = 1e-4
"""Largest change of log-odds in the last Newton step; the error after it is about its square."""
MAX_ITERATIONS = 50
"""Number of Newton steps; a handful suffices for all but separable labels."""
SLACK = 1e-12
"""Relative increase of a loss that counts as rounding."""
MAX_HALVINGS = 20
"""Number of times that a step is halved which does not lower the loss."""


class LabelLogisticRegression(ClassifierMixin, BaseEstimator):
    """L2-penalized logistic regression of standardized features, for all labels at once.

    The optimum is that of :class:`~pairmend.base_classifiers.ScaledLogisticRegression` for each
    label. scikit-learn's ``LogisticRegression`` fits one label at a time, which on a GPU takes many
    times as long. A label with one class only has its smoothed share.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty.
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

    def __init__(self, C: float = 1.0, *, standardize: bool = True):
        self.C = C
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
        ones = xp.ones((X.shape[0], 1), dtype=X.dtype, device=space.device)
        Z = xp.concat([(X - mean) / scale, ones], axis=1)
        varying = varying_labels(Y)
        shares = smoothed_share(Y, mass)
        n_columns = Z.shape[1]
        W = np.zeros((n_columns, Y.shape[1]))
        W[-1] = np.log(shares) - np.log1p(-shares)
        step = max(1, space.max_bytes // (8 * max(n_columns**2, 4 * X.shape[0])))
        for start in range(0, len(varying), step):
            labels = varying[start : start + step]
            targets = space.asarray(Y[:, labels])
            problem = _Problem(Z, xp.astype(targets, X.dtype), weights, float(self.C), space)
            W[:, labels] = space.numpy(problem.solve(space.asarray(W[:, labels])))
        self.mean_, self.scale_ = mean, scale
        self.coef_, self.intercept_ = space.asarray(W[:-1]), space.asarray(W[-1])
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


class _Problem:
    """Penalized logistic losses of several labels that share their rows."""

    def __init__(self, Z: Array, Y: Array, weights: Array, C: float, namespace: Namespace):
        self.Z, self.Y, self.weights, self.C = Z, Y, weights[:, None], C
        self.namespace = namespace
        penalized = np.ones((Z.shape[1], 1))
        penalized[-1] = 0  # the intercept
        self.penalized = namespace.asarray(penalized / C)

    def solve(self, W: Array) -> Array:
        """Return the optimal coefficients, (n_columns, n_labels), from a start."""
        xp = self.namespace.xp
        losses = self.losses(W)
        for _ in range(MAX_ITERATIONS):
            P = _logistic(self.Z @ W, xp)
            gradient = self.Z.T @ ((P - self.Y) * self.weights) + self.penalized * W
            step = self._newton_step(P, gradient)
            if float(xp.max(xp.abs(self.Z @ step))) <= TOLERANCE:
                return W - step
            moved, new_losses = W - step, self.losses(W - step)
            for _ in range(MAX_HALVINGS):
                worse = new_losses > losses + SLACK * xp.abs(losses)
                if not bool(xp.any(worse)):
                    break
                step = xp.where(worse, step / 2, step)
                moved, new_losses = W - step, self.losses(W - step)
            better = new_losses <= losses + SLACK * xp.abs(losses)
            W = xp.where(better, moved, W)
            losses = xp.where(better, new_losses, losses)
        return W

    def losses(self, W: Array) -> Array:
        """Return the penalized loss of each label, divided by C."""
        xp = self.namespace.xp
        scores = self.Z @ W
        # log(1 + exp(s)) - y s, without overflow
        positive = xp.where(scores > 0, scores, xp.zeros_like(scores))
        loss = positive + xp.log1p(xp.exp(-xp.abs(scores))) - self.Y * scores
        return xp.sum(loss * self.weights, axis=0) + 0.5 * xp.sum(self.penalized * W * W, axis=0)

    def _newton_step(self, P: Array, gradient: Array) -> Array:
        xp = self.namespace.xp
        curvature = P * (1 - P) * self.weights
        hessians = [
            self.Z.T @ (self.Z * curvature[:, label][:, None]) for label in range(P.shape[1])
        ]
        # A little curvature in each direction: constant columns have none.
        floor = xp.where(self.penalized > 0, self.penalized, xp.full_like(self.penalized, 1e-12))
        H = xp.stack(hessians, axis=0) + floor * xp.eye(
            self.Z.shape[1], dtype=self.Z.dtype, device=self.namespace.device
        )
        steps = xp.linalg.solve(H, gradient.T[..., None])
        return steps[..., 0].T


def _logistic(scores: Array, xp: Any) -> Array:
    """Return the logistic function; an exponential that overflows gives 0."""
    with np.errstate(over="ignore"):
        return 1 / (1 + xp.exp(-scores))
