"""One binary classifier per label; a label with one class only has its smoothed share.

Preprocessing that does not use the target is fitted once for all labels, and logistic models that
share it are predicted by one product.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from pairmend._utils.computing import CACHED_CELLS, batches, one_blas_thread
from pairmend._utils.progress import report, run_calls
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import check_probabilities, class_probabilities, is_valid
from pairmend._utils.weights import relative_weights

WITHOUT_TARGET = {
    "sklearn.compose": {"ColumnTransformer"},
    "sklearn.decomposition": {"PCA", "TruncatedSVD"},
    "sklearn.feature_extraction": {
        "CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer",
        "TfidfTransformer", "TfidfVectorizer",
    },
    "sklearn.feature_selection": {"VarianceThreshold"},
    "sklearn.impute": {"MissingIndicator", "SimpleImputer"},
    "sklearn.pipeline": {"FeatureUnion", "Pipeline"},
    "sklearn.preprocessing": {
        "Binarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder",
        "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer", "QuantileTransformer",
        "RobustScaler", "SplineTransformer", "StandardScaler",
    },
    "pairmend.base_classifiers": {"DenseScaler"},
}  # fmt: skip
"""Transformers, by package, whose fit does not use the target and gives equal results each time.

Random ones do so with a seed, which all base classifiers are given. Those with parts are here, too:
each part must also be listed.
"""
MIN_ROWS = 256
"""Smallest number of rows of a chunk: each is checked and transformed on its own."""


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


@dataclass(frozen=True)
class PreparedFit:
    """Preprocessed rows, and the classifier that is to be fitted on them for each label."""

    rows: MatrixLike
    classifier: Any
    fit_params: dict[str, Any]
    complete: Callable[[Any], Any]
    """Returns the model of a label, given its fitted classifier."""
    fit_labels: Callable[[BoolArray], list[Any]] | None = None
    """Fits the classifiers of all labels at once; None means one clone at a time."""


def prepare_fit(
    estimator: Any, X: MatrixLike, fit_params: dict[str, Any], *, overwrite: bool = False
) -> PreparedFit:
    """Fit the preprocessing of a classifier that does not depend on the target.

    With `overwrite`, X may be changed in place. A class may define
    ``_prepare_fit(X, sample_weight, overwrite)`` and ``_fitted_parts()``. They are not used
    for its subclasses, which may override ``fit``. The first steps of a pipeline are fitted if they
    are in :data:`WITHOUT_TARGET`.
    """
    if "_prepare_fit" in vars(type(estimator)) and set(fit_params) <= {"sample_weight"}:
        prepared: PreparedFit = estimator._prepare_fit(X, **fit_params, overwrite=overwrite)
        return prepared
    if type(estimator) is Pipeline and (n_shared := _count_shared(estimator, fit_params)):
        return _prepare_pipeline(estimator, n_shared, X, fit_params)
    return PreparedFit(X, estimator, fit_params, lambda fitted: fitted)


def fitted_parts(model: Any) -> tuple[list[Any], Any]:
    """Return the fitted transformers of a model, and the classifier of the transformed rows."""
    if "_fitted_parts" in vars(type(model)):
        parts: tuple[list[Any], Any] = model._fitted_parts()
        return parts
    if type(model) is Pipeline:
        steps = [step for _, step in model.steps]
        return [step for step in steps[:-1] if not _is_passthrough(step)], steps[-1]
    return [], model


def _prepare_pipeline(
    pipeline: Pipeline, n_shared: int, X: MatrixLike, fit_params: dict[str, Any]
) -> PreparedFit:
    first = clone(Pipeline(pipeline.steps[:n_shared]))
    rows = first.fit_transform(X)

    def complete(fitted: Any) -> Pipeline:
        model = clone(pipeline)
        model.steps = [*first.steps, *fitted.steps]
        return model

    return PreparedFit(rows, Pipeline(pipeline.steps[n_shared:]), fit_params, complete)


def _count_shared(pipeline: Pipeline, fit_params: dict[str, Any]) -> int:
    """Return the number of first steps that do not use the target and have no fit parameters."""
    with_params = {name.partition("__")[0] for name in fit_params}
    names = [name for name, _ in pipeline.steps]
    if not with_params <= set(names):  # routed by scikit-learn, or an error
        return 0
    n_shared = 0
    for name, step in pipeline.steps[:-1]:
        if name in with_params or not _is_without_target(step):
            break
        n_shared += 1
    return n_shared


def _is_without_target(transformer: Any) -> bool:
    """Return whether a transformer and all of its parts are in :data:`WITHOUT_TARGET`."""
    if _is_passthrough(transformer):
        return True
    if not hasattr(transformer, "get_params"):
        return False
    parts = [transformer, *transformer.get_params(deep=True).values()]
    return all(_is_listed(part) for part in parts if hasattr(part, "fit"))


def _is_listed(estimator: Any) -> bool:
    kind = type(estimator)
    package = ".".join(kind.__module__.split(".")[:2])
    return kind.__name__ in WITHOUT_TARGET.get(package, ())


def _is_passthrough(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


@dataclass(frozen=True)
class StackedClassifiers:
    """Logistic models of several labels that have the same transformers."""

    transformers: list[Any]
    classifier: Any
    """The classifier of the first label. The rows are checked as it checks them."""
    coef: FloatArray
    """Coefficients, (n_features, n_models)."""
    intercept: FloatArray

    @one_blas_thread()
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
        scores = X @ self.coef
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
