"""What the rivals share: targets, and the way from scores to predictions."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from pairmend._typing import BoolArray, FloatArray, MatrixLike, TargetLike
from pairmend._validation import (
    check_features,
    check_rows,
    check_target,
    fit_context,
    remember_features,
)
from pairmend.kernels.threshold import accept
from pairmend.naive_bayes import RandomSubspaceNB


class Rival(ClassifierMixin, BaseEstimator, ABC):
    """A multi-label classifier that gives each label a score in [0, 1]."""

    classes_: np.ndarray[Any, Any]
    multilabel_: bool

    @abstractmethod
    def _learn(self, X: MatrixLike, Y: BoolArray) -> dict[str, Any]:
        """Return what is learnt, by name of the attribute."""

    @abstractmethod
    def _scores(self, X: MatrixLike) -> FloatArray:
        """Return the labels' scores."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1. A 1-D array of classes is learnt as indicators of which
            each row has one.

        Returns
        -------
        self
        """
        X = check_rows(X)
        target = check_target(self, X, y, min_labels=1)
        learnt = self._learn(X, target.Y)
        # Nothing of an earlier fit is touched before all went well.
        remember_features(self, X)
        self.classes_, self.multilabel_ = target.classes, target.multilabel
        for name, value in learnt.items():
            setattr(self, name, value)
        return self

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label's score exceeds 1/2, 0 elsewhere. After a fit on 1-D classes: shape
            (n_samples,), the class with the largest score.
        """
        scores = self.predict_proba(X)
        if self.multilabel_:
            return accept(scores, 0.5)
        return np.asarray(self.classes_[np.argmax(scores, axis=1)])

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the labels' scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Scores in [0, 1]. After a fit on 1-D classes they are scaled to sum to 1 in each
            row.
        """
        check_is_fitted(self)
        scores = self._scores(check_features(self, X))
        if self.multilabel_:
            return scores
        total = scores.sum(axis=1, keepdims=True)
        uniform = np.full_like(scores, 1 / scores.shape[1])
        return np.divide(scores, total, out=uniform, where=total > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class WrappingRival(Rival):
    """A rival made of clones of a base classifier."""

    estimator: Any
    random_state: Any

    def _base_classifier(self) -> Any:
        return RandomSubspaceNB() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base_classifier()).input_tags
        return tags


def smoothed_share(Y: BoolArray) -> FloatArray:
    """Return the Laplace-smoothed share of rows that carry each label.

    Examples
    --------
    >>> smoothed_share(np.array([[True, False], [True, False]])).tolist()
    [0.75, 0.25]
    """
    return (np.count_nonzero(Y, axis=0) + 1) / (len(Y) + 2)
