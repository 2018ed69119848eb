"""Base classifiers: their checks, seeds and predictions; one classifier per label.

A label with one class only has its smoothed share. Preprocessing that does not use the target is
fitted once for all labels, and logistic models that share it are predicted by one product.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from pairmend._utils.arrays import as_numpy, is_valid, like_rows
from pairmend._utils.progress import report, run_calls
from pairmend._utils.sklearn_private import count_rows, validate_parameter_constraints
from pairmend._utils.training import relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike

ROUNDING = 1e-9
"""Largest distance of a probability from [0, 1] that counts as rounding."""


def check_params(estimator: BaseEstimator, params: dict[str, Any]) -> None:
    """Check values of some of an estimator's parameters against its constraints."""
    validate_parameter_constraints(
        estimator._parameter_constraints, params, caller_name=type(estimator).__name__
    )


def is_auto(value: Any) -> bool:
    """Return whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def check_base_classifier(estimator: Any) -> None:
    """Raise an error for a base classifier without probabilities."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"The base classifier is the class {name}; pass an instance, {name}().")
    if not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise ValueError(
            f"The base classifier {name} has no predict_proba, which is needed for supports. "
            f"Wrap it: estimator=sklearn.calibration.CalibratedClassifierCV({name}(...))."
        )


def new_seed(rng: np.random.RandomState) -> int:
    """Draw a seed."""
    return int(rng.randint(np.iinfo(np.int32).max))


def seed_estimator(estimator: Any, seed: int) -> Any:
    """Clone an estimator with every ``random_state`` of None set to one seed.

    All pairs share the seed, so that it depends neither on the order of the labels nor on the
    process. An object that is not a scikit-learn estimator is copied.
    """
    estimator = clone(estimator, safe=False)
    if not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params(deep=True)
    unset = {
        name: seed
        for name, value in params.items()
        if (name == "random_state" or name.endswith("__random_state"))
        and value is None
        # An object that None stands for is seeded by its owner.
        and params.get(name.rpartition("__")[0], estimator) is not None
    }
    estimator.set_params(**unset)  # of a FrozenEstimator returns None
    return estimator


def class_probabilities(model: Any, X: MatrixLike) -> FloatArray:
    """Return ``predict_proba`` of a base classifier; values outside of [0, 1] are an error."""
    return check_probabilities(
        np.asarray(as_numpy(model.predict_proba(X)), dtype=np.float64), model
    )


def check_probabilities(found: FloatArray, model: Any) -> FloatArray:
    """Return probabilities of a base classifier; values outside of [0, 1] are an error."""
    valid = (found >= -ROUNDING) & (found <= 1 + ROUNDING)
    if found.ndim != 2 or not valid.all():
        raise ValueError(
            f"predict_proba of the base classifier {type(model).__name__} must give a column of "
            f"probabilities in [0, 1] for each class; got an array of shape {found.shape} with "
            f"{np.count_nonzero(np.isnan(found))} values NaN and "
            f"{np.count_nonzero(~valid & ~np.isnan(found))} outside of [0, 1]. Check the scale of "
            "the features, and constant features."
        )
    return np.clip(found, 0, 1)


def predicted_labels(model: Any, X: Any, n_labels: int) -> np.ndarray[Any, Any]:
    """Return the label indicators that a classifier predicts; other output is an error."""
    predicted = as_numpy(model.predict(X))
    Y = predicted.toarray() if sparse.issparse(predicted) else np.asarray(predicted)
    expected = (X.shape[0], n_labels)
    # Metrics would count -1 or 2 as a label without an error.
    if Y.shape != expected or Y.dtype.kind not in "biuf" or not np.isin(Y, (0, 1)).all():
        raise ValueError(
            f"{type(model).__name__} predicted an array of shape {Y.shape} and type {Y.dtype}, "
            f"expected 0 and 1 in shape {expected}"
        )
    return Y.astype(np.int64)


def scoring_method(model: Any) -> str:
    """Return the name of the method that scores labels, or raise an error if there is none."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return method
    raise ValueError(
        f"{type(model).__name__} has no predict_proba and no decision_function, from which "
        "scores are taken. Choose a classifier that has one of them."
    )


def predicted_scores(model: Any, X: Any, n_labels: int) -> FloatArray:
    """Return the scores of a classifier by predict_proba or else decision_function, (n, L)."""
    return label_scores(model, X, scoring_method(model), n_labels)


def label_scores(estimator: Any, X: MatrixLike, method: str, n_labels: int) -> FloatArray:
    """Return the scores of labels by one method, (n, L).

    If the method returns a list with an array for each label, as forests do, the column of class 1
    in ``classes_`` is used; 0 for a label whose ``classes_`` lacks 1.
    """
    found, n_rows = as_numpy(getattr(estimator, method)(X)), count_rows(X)
    if isinstance(found, list):
        classes = getattr(estimator, "classes_", [[0, 1]] * len(found))
        pairs = zip(found, classes, strict=True)
        scores = np.column_stack([(np.asarray(own) == 1) @ np.asarray(p).T for p, own in pairs])
    else:
        scores = found.toarray() if sparse.issparse(found) else np.asarray(found)
        if n_labels == 1:  # many classifiers treat one label as two classes
            scores = scores.reshape(n_rows, -1)[:, -1:]
    if scores.shape != (n_rows, n_labels):
        raise ValueError(
            f"{method} of {type(estimator).__name__} gave an array of shape {scores.shape}; "
            f"expected a score for each of {n_rows} rows and {n_labels} labels."
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"{method} of {type(estimator).__name__} gave NaN for {np.isnan(scores).sum()} of "
            f"{scores.size} rows and labels; expected numbers."
        )
    return scores


WITHOUT_TARGET = (
    "sklearn.compose.", "sklearn.decomposition.", "sklearn.feature_extraction.", "sklearn.impute.",
    "sklearn.kernel_approximation.", "sklearn.pipeline.", "sklearn.preprocessing.",
    "sklearn.random_projection.", "pairmend.",
)  # fmt: skip
"""Packages of transformers whose fit uses no target, except for those whose tags require one."""


class PerLabelClassifier(ClassifierMixin, BaseEstimator):
    """One clone of a classifier per label that varies; other labels have their smoothed share."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(
        self,
        X: MatrixLike,
        Y: BoolArray | IntArray,
        *,
        start: "PerLabelClassifier | None" = None,
        tolerance: float | None = None,
        overwrite: bool = False,
        **fit_params: Any,
    ) -> Self:
        """Fit the clones on 0/1 indicators; rows of weight 0 must be left out.

        With `overwrite`, X may be changed in place, which saves a copy of the rows. One model of
        all labels starts from that of `start`, which was fitted on these rows and others.
        """
        weights, varying = fit_params.get("sample_weight", np.ones(len(Y))), varying_labels(Y)
        options: dict[str, Any] = {"overwrite": overwrite}
        if start is not None and len(varying) and self.fits_all_labels:
            labels = np.searchsorted(start.varying_, varying)
            options["start"] = start.models_[0]._optimum(labels)
            options |= {} if tolerance is None else {"tolerance": tolerance}
        models = fit_per_label(self.estimator, X, Y[:, varying], fit_params, **options)
        return self.set_models(models, varying, smoothed_share(Y, weights))

    @property
    def fits_all_labels(self) -> bool:
        """Whether the classifier has one model of all labels."""
        return _fits_all_labels(self.estimator)

    def set_models(self, models: list[Any], varying: IntArray, share: FloatArray) -> Self:
        """Set the fitted classifiers of the labels that vary, and the shares of all labels."""
        self.models_, self.varying_, self.share_ = models, varying, share
        self.classes_ = np.arange(len(share))
        return self

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_rows, n_labels)."""
        return predict_per_label(self.models_, self.varying_, self.share_, X)


def _fits_all_labels(classifier: Any) -> bool:
    """Return whether one model is fitted for all labels; a subclass may override its fit."""
    return "_fit_labels" in vars(type(classifier))


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
    **options: Any,
) -> list[Any]:
    """Fit a clone of a classifier for each column of Y, or one clone for all of them.

    One is fitted if the class has ``_fit_labels``, unless a subclass may override its ``fit``. The
    first steps of a pipeline that do not depend on the target are fitted once, and shared by the
    models. `options` are those of ``_fit_labels``. Progress is reported for `owner`.
    """
    if not Y.shape[1]:
        return []
    if _fits_all_labels(estimator) and set(fit_params) <= {"sample_weight"}:
        fitted = clone(estimator)._fit_labels(X, Y == 1, **fit_params, **options)
        report(owner, f"trained {Y.shape[1]} labels at once")
        return [fitted]
    n_shared = _count_shared(estimator, fit_params) if type(estimator) is Pipeline else 0
    own = estimator
    if n_shared:
        first, own = clone(estimator[:n_shared]), estimator[n_shared:]
        X = first.fit_transform(X)
    params = {name: like_rows(value, X) for name, value in fit_params.items()}
    targets = (like_rows(y.astype(np.int64), X) for y in Y.T)
    calls = (delayed(_fit_clone)(own, X, y, params) for y in targets)
    fitted = run_calls(owner, calls, Y.shape[1], "label", "trained", n_jobs=n_jobs)
    if not n_shared:
        return fitted
    models = [clone(estimator) for _ in fitted]
    for model, own in zip(models, fitted, strict=True):
        model.steps = [*first.steps, *own.steps]
    return models


def _fit_clone(estimator: Any, X: MatrixLike, y: IntArray, fit_params: dict[str, Any]) -> Any:
    return clone(estimator).fit(X, y, **fit_params)


def _count_shared(pipeline: Pipeline, fit_params: dict[str, Any]) -> int:
    """Return how many first steps can be shared: no target, and fit parameters of the last only."""
    *steps, (last, _) = pipeline.steps
    if any(name.partition("__")[0] != last for name in fit_params):
        return 0
    return [*(_is_without_target(step) for _, step in steps), False].index(False)


def _is_without_target(transformer: Any) -> bool:
    """Return whether a transformer and all of its parts are known to use no target.

    Random ones give equal results each time by their seed, which all base classifiers are given.
    """
    if transformer is None or isinstance(transformer, str):  # a step that is left out
        return True
    if not hasattr(transformer, "get_params"):
        return False
    parts = [transformer, *transformer.get_params(deep=True).values()]
    return all(
        f"{type(part).__module__}.".startswith(WITHOUT_TARGET)
        and not get_tags(part).target_tags.required
        for part in parts
        if hasattr(part, "fit")
    )


def predict_per_label(
    models: Sequence[Any],
    varying: IntArray,
    share: FloatArray,
    X: MatrixLike,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the probabilities of labels, (n_rows, n_labels).

    Columns of labels that do not vary have their smoothed share in each row.
    """
    proba, varying = np.tile(as_numpy(share), (count_rows(X), 1)), as_numpy(varying)
    if models and _fits_all_labels(models[0]):
        proba[:, varying] = models[0]._label_proba(X)
    elif (linear := logistic_parts(models)) is not None:
        proba[:, varying] = _predict_stacked(models[0], linear, X)
    else:
        calls = (delayed(_proba_of_one)(model, X) for model in models)
        columns = Parallel(n_jobs=n_jobs, prefer="threads")(calls)
        for label, column in zip(varying, columns, strict=True):
            proba[:, label] = column
    return proba


def _proba_of_one(model: Any, X: MatrixLike) -> FloatArray:
    """Return the probability that the label is true, by its model."""
    return class_probabilities(model, X)[:, as_numpy(model.classes_).tolist().index(1)]


Linear = tuple[list[Any], FloatArray, FloatArray]
"""Fitted transformers, coefficients (n_labels, n_features) and intercepts (n_labels,)."""


def logistic_parts(models: Sequence[Any]) -> Linear | None:
    """Return the parts of logistic regressions with the same transformers, else None."""
    if models and _fits_all_labels(models[0]):
        fitted = models[0].classifier_
        return [models[0].scaler_], as_numpy(fitted.coef_), as_numpy(fitted.intercept_)
    parts = [_fitted_parts(model) for model in models]
    if not parts or not all(_is_stackable(*own, parts[0][0]) for own in parts):
        return None
    coef = np.concatenate([classifier.coef_ for _, classifier in parts])
    return parts[0][0], coef, np.concatenate([classifier.intercept_ for _, classifier in parts])


def _fitted_parts(model: Any) -> tuple[list[Any], Any]:
    """Return the fitted transformers of a model that are in use, and its classifier."""
    if type(model) is Pipeline:
        *transformers, classifier = (step for _, step in model.steps)
        used = [each for each in transformers if not (each is None or isinstance(each, str))]
        return used, classifier
    return [], model


def _is_stackable(transformers: list[Any], classifier: Any, others: list[Any]) -> bool:
    """Return whether a classifier is a binary logistic regression after the same transformers."""
    return (
        len(transformers) == len(others)
        and all(map(is_, transformers, others))
        and type(classifier) is LogisticRegression
        and getattr(classifier, "multi_class", None) != "multinomial"  # of scikit-learn 1.7
        and type(classifier.coef_) is np.ndarray
        and classifier.classes_.tolist() == [0, 1]
    )


def _predict_stacked(model: Any, linear: Linear, X: MatrixLike) -> FloatArray:
    """Return the probabilities of logistic regressions, by one product; `model` is the first.

    Rows are checked as the first one checks them.
    """
    transformers, coef, intercept = linear
    first = _fitted_parts(model)[1]
    coef = coef.T.copy()  # the order that products with sparse rows need; they would copy any other

    for transformer in transformers:
        X = transformer.transform(X)
    if not is_valid(first, X):
        X = validate_data(first, X, accept_sparse="csr", reset=False)
    scores = X @ coef
    scores += intercept
    return check_probabilities(expit(scores).astype(np.float64, copy=False), first)


def smoothed_share(Y: BoolArray | IntArray, weights: FloatArray) -> FloatArray:
    """Return the Laplace-smoothed share of rows, by their weights, that have each label."""
    weights = relative_weights(weights)
    row, label = np.nonzero(Y)  # of which there are few, where there are many labels
    mass = np.bincount(label, weights=weights[row], minlength=Y.shape[1])
    share: FloatArray = (mass + 1) / (weights.sum() + 2)
    return share


def varying_labels(Y: BoolArray | IntArray) -> IntArray:
    """Return the numbers of the labels that some rows have and some do not."""
    return np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
