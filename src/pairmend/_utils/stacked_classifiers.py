"""Logistic models of many labels with the same preprocessing, predicted by one product."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.utils.validation import validate_data

from pairmend._utils.chunking import CACHED_CELLS, batches
from pairmend._utils.products import multiply
from pairmend._utils.shared_preprocessing import fitted_parts
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend._utils.validation import check_probabilities, is_valid

MIN_ROWS = 256
"""Smallest number of rows of a chunk: each is checked and transformed on its own."""


@dataclass(frozen=True)
class StackedClassifiers:
    """Logistic models of several labels that have the same transformers."""

    transformers: list[Any]
    classifier: Any
    """The classifier of the first label. The rows are checked as it checks them."""
    coef: FloatArray
    """Coefficients, (n_features, n_models)."""
    intercept: FloatArray

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of class 1, (n_rows, n_models)."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.size <= CACHED_CELLS:
            return self._predict_chunk(X)
        proba = np.empty((len(X), len(self.intercept)))
        for rows in batches(len(X), max(MIN_ROWS, CACHED_CELLS // X.shape[1])):
            proba[rows] = self._predict_chunk(X[rows])
        return proba

    def _predict_chunk(self, X: MatrixLike) -> FloatArray:
        for transformer in self.transformers:
            X = transformer.transform(X)
        if not is_valid(self.classifier, X):
            X = validate_data(self.classifier, X, accept_sparse="csr", reset=False)
        scores = X @ self.coef if sparse.issparse(X) else multiply(X, self.coef)
        scores += self.intercept
        return check_probabilities(expit(scores).astype(np.float64, copy=False), self.classifier)


def stack_classifiers(models: Sequence[Any]) -> StackedClassifiers | None:
    """Stack fitted models; None unless they are logistic and share their transformers.

    This is fast compared with a prediction, and repeated for each: a copy of the coefficients that
    is stored would not follow changes of the models.
    """
    if not models:
        return None
    transformers, first = fitted_parts(models[0])
    classifiers = []
    for model in models:
        own_transformers, classifier = fitted_parts(model)
        same = len(own_transformers) == len(transformers) and all(
            own is other for own, other in zip(own_transformers, transformers, strict=True)
        )
        if not same or not _is_binary_logistic(classifier):
            return None
        classifiers.append(classifier)
    forms = {(each.coef_.shape, each.coef_.dtype, each.intercept_.dtype) for each in classifiers}
    if len(forms) > 1 or not _have_same_features(classifiers):
        return None
    # In the order that products with sparse rows need; they would copy any other.
    coef = np.empty((first.coef_.shape[1], len(classifiers)), dtype=first.coef_.dtype)
    np.concatenate([each.coef_.T for each in classifiers], axis=1, out=coef)
    intercept = np.concatenate([each.intercept_ for each in classifiers])
    return StackedClassifiers(transformers, first, coef, intercept)


def _is_binary_logistic(classifier: Any) -> bool:
    """Return whether a fitted classifier of 0 and 1 applies the logistic function to a score."""
    if type(classifier) is SGDClassifier:
        is_logistic = classifier.loss == "log_loss"
    else:
        # scikit-learn 1.7 has the parameter multi_class.
        is_logistic = (
            type(classifier) is LogisticRegression
            and getattr(classifier, "multi_class", None) != "multinomial"
        )
    return (
        is_logistic
        and classifier.classes_.tolist() == [0, 1]
        and type(classifier.coef_) is np.ndarray
        and classifier.coef_.shape[0] == 1
        and np.shape(classifier.intercept_) == (1,)
    )


def _have_same_features(classifiers: list[Any]) -> bool:
    """Return whether all classifiers were fitted with the same names of features, or none."""
    names = [getattr(each, "feature_names_in_", None) for each in classifiers]
    return all(
        own is names[0] or (own is not None and names[0] is not None and (own == names[0]).all())
        for own in names
    )
