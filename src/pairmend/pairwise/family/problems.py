"""Training and prediction of the classifiers of many small problems."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from pairmend._utils.constant_classifier import ConstantClassifier
from pairmend._utils.fit_params import take_params
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import class_probabilities, take_rows
from pairmend._utils.weights import unit_weight


@dataclass(frozen=True)
class SmallProblem:
    """Rows with classes 0 to n_classes - 1; the name is used in error messages."""

    name: str
    rows: IntArray
    y: IntArray
    n_classes: int = 2


def train_problems(
    estimator: Any,
    X: MatrixLike,
    problems: Iterable[SmallProblem],
    fit_params: dict[str, Any],
    *,
    n_jobs: int | None,
) -> list[Any]:
    """Train a clone of a classifier on each problem; all weights are positive."""
    feature_statistics = None
    if has_fit_parameter(estimator, "feature_statistics"):
        feature_statistics = estimator.feature_statistics(
            X, sample_weight=fit_params.get("sample_weight")
        )
    weights = fit_params.get("sample_weight")
    unit = 1.0 if weights is None else unit_weight(weights)
    return list(
        Parallel(n_jobs=n_jobs)(
            delayed(_train)(estimator, X, problem, fit_params, feature_statistics, unit)
            for problem in problems
        )
    )


def _train(
    estimator: Any,
    X: MatrixLike,
    problem: SmallProblem,
    fit_params: dict[str, Any],
    feature_statistics: Any,
    unit: float,
) -> Any:
    params = take_params(X, fit_params, problem.rows)
    weights = params.get("sample_weight")
    counts = np.bincount(problem.y, weights=weights, minlength=problem.n_classes)
    if np.count_nonzero(counts) < 2:
        return ConstantClassifier.from_counts(counts / unit)
    if feature_statistics is not None:
        params["feature_statistics"] = feature_statistics
    try:
        return clone(estimator).fit(take_rows(X, problem.rows), problem.y, **params)
    except Exception as error:
        n_rows = np.bincount(problem.y, minlength=problem.n_classes).tolist()
        error.add_note(f"while training {problem.name} on {n_rows} rows of its classes")
        raise


def predict_models(
    models: Sequence[Any], X: MatrixLike, *, n_classes: int = 2, n_jobs: int | None
) -> FloatArray:
    """Return class probabilities of shape (n_rows, n_models, n_classes)."""
    probabilities = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_predict)(model, X, n_classes) for model in models
    )
    if not probabilities:
        return np.zeros((count_rows(X), 0, n_classes))
    return np.stack(probabilities, axis=1)


def _predict(model: Any, X: MatrixLike, n_classes: int) -> FloatArray:
    probabilities = np.zeros((count_rows(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.int64)] = class_probabilities(model, X)
    return probabilities
