"""VaryingLabelsClassifier: multi-label classifiers that cannot learn a label with one class."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from pairmend._utils.per_label import varying_labels
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import IntArray, MatrixLike


class VaryingLabelsClassifier(ClassifierMixin, BaseEstimator):
    """Fit a multi-label classifier on the labels with both classes; predict the others' class.

    CatBoost, for example, raises an error if a label has one class in the training rows, which
    happens to rare labels in cross-validation. Sparse arrays become sparse matrices, the only
    sparse input of CatBoost.

    Parameters
    ----------
    estimator : classifier
        An unfitted multi-label classifier.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier; absent if no label has both classes.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, Y = np.arange(6)[:, None], np.array([[0, 0, 1]] * 3 + [[1, 0, 1]] * 3)
    >>> model = VaryingLabelsClassifier(RandomForestClassifier(random_state=0)).fit(X, Y)
    >>> model.predict([[0], [5]])
    array([[0, 0, 1],
           [1, 0, 1]])
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: MatrixLike, y: IntArray) -> Self:
        """Fit a clone of the classifier.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples, n_labels)
            Label indicators.

        Returns
        -------
        self
        """
        Y = np.asarray(y)
        varying = varying_labels(Y)
        fitted = clone(self.estimator).fit(_as_matrix(X), Y[:, varying]) if len(varying) else None
        self.__dict__.pop("estimator_", None)
        if fitted is not None:
            self.estimator_ = fitted
        self.varying_, self.constant_ = varying, Y[0]
        return self

    def predict(self, X: MatrixLike) -> IntArray:
        """Predict label indicators.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        predicted = np.tile(self.constant_, (count_rows(X), 1))
        if len(self.varying_):
            found = np.asarray(self.estimator_.predict(_as_matrix(X)))
            predicted[:, self.varying_] = found.reshape(len(predicted), -1)
        return predicted


def _as_matrix(X: MatrixLike) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X
