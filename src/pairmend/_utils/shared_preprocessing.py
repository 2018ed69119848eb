"""prepare_fit: preprocessing without the target, fitted once for all labels; fitted_parts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pairmend._utils.typing import BoolArray, MatrixLike

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
