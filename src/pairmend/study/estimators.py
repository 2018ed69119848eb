"""Estimators of studies: parameters chosen by cross-validation, labels with one class left out."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

from pairmend._utils.classifiers import (
    label_scores,
    predicted_labels,
    predicted_scores,
    varying_labels,
)
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.study.criteria import CRITERIA, Criterion, own_names


def tuned(
    classifier: Any,
    grid: Mapping[str, Sequence[Any]],
    criterion: str | Criterion = "hamming",
    *,
    folds: int = 5,
) -> Any:
    """Return a classifier that chooses its parameters by cross-validation when it is fitted.

    In a study this is nested cross-validation: each training part is split again, all
    combinations of the grid are fitted on these folds, and the best by the metric is fitted on
    the training part. The test part is not used.

    Parameters
    ----------
    classifier : classifier
        An unfitted multi-label classifier.
    grid : mapping of str to sequence
        Values to compare by name of parameter, such as ``{"estimator__C": [0.1, 1, 10]}``.
    criterion : str or Criterion, default="hamming"
        Name in `CRITERIA`, or a metric.
    folds : int, default=5
        Number of stratified folds within a training part.

    Returns
    -------
    GridSearchCV

    Examples
    --------
    >>> from pairmend.baselines import BinaryRelevance
    >>> from pairmend.study import tuned
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> grid = {"estimator__C": [0.001, 1.0]}
    >>> tuned(BinaryRelevance(LogisticRegression()), grid, "micro_f1").fit(X, Y).best_params_
    {'estimator__C': 1.0}
    """
    if isinstance(criterion, str):
        (name,) = own_names(CRITERIA, [criterion], "metric")
        criterion = CRITERIA[name]
    for params in ParameterGrid(dict(grid)):  # raises now what a fit would raise
        clone(classifier).set_params(**params)
    return GridSearchCV(
        classifier,
        dict(grid),
        scoring=partial(_score, criterion),
        cv=MultilabelStratifiedKFold(folds, random_state=0),
        error_score="raise",  # a combination that fails must not be left out silently
    )


def _score(criterion: Criterion, classifier: Any, X: Any, Y: IntArray) -> float:
    """Return the value of a metric for a fitted classifier, negated if less is better."""
    predict = predicted_scores if criterion.needs == "scores" else predicted_labels
    value = criterion(Y, predict(classifier, X, Y.shape[1]))
    return value if criterion.greater_is_better else -value


class VaryingLabelsClassifier(ClassifierMixin, BaseEstimator):
    """Fit a multi-label classifier on the labels with both classes; predict the others' class.

    CatBoost, for example, raises an error if a label has one class in the training rows, which
    happens to rare labels in cross-validation. Sparse arrays become sparse matrices, the only
    sparse input of CatBoost.

    Parameters
    ----------
    estimator : classifier
        An unfitted multi-label classifier with probabilities.

    Attributes
    ----------
    estimator_ : classifier or None
        The fitted classifier; None if no label has both classes.

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
        self.estimator_: Any = None
        if len(varying):
            self.estimator_ = clone(self.estimator).fit(_as_matrix(X), Y[:, varying])
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
        return (self.predict_proba(X) > 0.5).astype(self.constant_.dtype)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Predict probabilities of labels, 0 or 1 for labels with one class.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        proba = np.tile(self.constant_.astype(float), (count_rows(X), 1))
        if n_varying := len(self.varying_):
            proba[:, self.varying_] = label_scores(
                self.estimator_, _as_matrix(X), "predict_proba", n_varying
            )
        return proba


def _as_matrix(X: MatrixLike) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X
