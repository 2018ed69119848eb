"""One binary classifier per label; a label with one class only has its smoothed share."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.parallel import run_calls
from pairmend._utils.progress import report
from pairmend._utils.shared_preprocessing import prepare_fit
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.stacked_classifiers import stack_classifiers
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import class_probabilities
from pairmend._utils.weights import relative_weights


class PerLabelClassifier(ClassifierMixin, BaseEstimator):
    """One clone of a classifier per label that varies; other labels have their smoothed share."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: MatrixLike, Y: BoolArray | IntArray, **fit_params: Any) -> Self:
        """Fit the clones on 0/1 indicators; rows of weight 0 must be left out."""
        return self._fit(X, Y, fit_params, overwrite=False)

    def fit_overwriting(self, X: MatrixLike, Y: BoolArray | IntArray, **fit_params: Any) -> Self:
        """Fit the clones; X may be changed in place, which saves a copy of the rows."""
        return self._fit(X, Y, fit_params, overwrite=True)

    def _fit(
        self, X: MatrixLike, Y: BoolArray | IntArray, fit_params: dict[str, Any], *, overwrite: bool
    ) -> Self:
        weights = fit_params.get("sample_weight", np.ones(len(Y)))
        varying = varying_labels(Y)
        models = fit_per_label(self.estimator, X, Y[:, varying], fit_params, overwrite=overwrite)
        return self.set_models(models, varying, smoothed_share(Y, weights))

    def set_models(self, models: list[Any], varying: IntArray, share: FloatArray) -> Self:
        """Set the fitted classifiers of the labels that vary, and the shares of all labels."""
        self.models_, self.varying_, self.share_ = models, varying, share
        self.classes_ = np.arange(len(share))
        return self

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_rows, n_labels)."""
        return predict_per_label(self.models_, self.varying_, self.share_, X)


def for_all_labels(base: Any, n_labels: int) -> Any:
    """Return a classifier of all labels: the base itself if it can, else one clone per label.

    Most classifiers that take indicators read a single label as a binary problem.
    """
    tags = get_tags(base).classifier_tags
    if tags is not None and tags.multi_label and n_labels > 1:
        return base
    return PerLabelClassifier(base)


def fit_per_label(
    estimator: Any,
    X: MatrixLike,
    Y: BoolArray | IntArray,
    fit_params: dict[str, Any],
    n_jobs: int | None = None,
    owner: Any = None,
    *,
    overwrite: bool = False,
) -> list[Any]:
    """Fit a clone of a classifier for each column of Y.

    Preprocessing that does not depend on the target is fitted once, and shared by the models. With
    `overwrite`, X may be changed in place. Progress is reported for `owner`.
    """
    if not Y.shape[1]:
        return []
    prepared = prepare_fit(estimator, X, fit_params, overwrite=overwrite)
    if prepared.fit_labels is not None:
        fitted = prepared.fit_labels(np.asarray(Y) == 1)
        report(owner, f"trained {len(fitted)} labels at once")
        return [prepared.complete(classifier) for classifier in fitted]
    calls = (
        delayed(_fit_clone)(
            prepared.classifier, prepared.rows, y.astype(np.int64), prepared.fit_params
        )
        for y in Y.T
    )
    fitted = run_calls(owner, calls, Y.shape[1], "label", "trained", n_jobs=n_jobs)
    return [prepared.complete(classifier) for classifier in fitted]


def predict_per_label(
    models: Sequence[Any],
    varying: IntArray,
    share: FloatArray,
    X: MatrixLike,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the models' probabilities of the labels that vary, and the shares of the others."""
    stacked = stack_classifiers(models)
    if stacked is not None and len(varying) == len(share):
        return stacked.predict_proba(X)
    proba = np.tile(share, (count_rows(X), 1))
    if stacked is not None:
        proba[:, varying] = stacked.predict_proba(X)
        return proba
    if effective_n_jobs(n_jobs) == 1:
        columns = [_proba_of_one(model, X) for model in models]
    else:
        columns = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_proba_of_one)(model, X) for model in models
        )
    for label, column in zip(varying, columns, strict=True):
        proba[:, label] = column
    return proba


def _fit_clone(estimator: Any, X: MatrixLike, y: IntArray, fit_params: dict[str, Any]) -> Any:
    return clone(estimator).fit(X, y, **fit_params)


def _proba_of_one(model: Any, X: MatrixLike) -> FloatArray:
    """Return the probabilities of class 1, in whichever column the classifier has it."""
    return class_probabilities(model, X)[:, list(model.classes_).index(1)]


def smoothed_share(Y: BoolArray | IntArray, weights: FloatArray) -> FloatArray:
    """Return the Laplace-smoothed share of rows, by their weights, that have each label."""
    weights = relative_weights(weights)
    share: FloatArray = (weights @ Y + 1) / (weights.sum() + 2)
    return share


def varying_labels(Y: BoolArray | IntArray) -> IntArray:
    """Return the numbers of the labels that some rows have and some do not."""
    return np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
