"""Checks of rows, of base classifiers and of what they predict; seeds."""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from pairmend._utils.arrays import as_numpy, foreign_namespace
from pairmend._utils.frames import EncodedFrame, frame_columns, is_frame
from pairmend._utils.sklearn_private import count_rows, safe_indexing
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike


def check_rows(X: MatrixLike) -> MatrixLike:
    """Make rows of X selectable, without a check of the cells.

    A sparse matrix becomes CSR in which each cell is stored once, in the order of the columns.
    The base classifier may be a pipeline for texts, frames or missing values.
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of different lengths, which a pipeline may accept
            array = np.asarray(X)
            X = array if array.dtype.kind in "biufc" else X  # texts stay as they are
    elif not hasattr(X, "__getitem__") or (
        not isinstance(X, np.ndarray) and hasattr(X, "__dlpack__") and foreign_namespace(X) is None
    ):  # also an array of another library that scikit-learn does not dispatch
        X = np.asarray(X)
    if count_rows(X) == 0:
        raise ValueError("X has 0 sample(s), while a minimum of 1 is required.")
    return X


LARGEST = {"float64": 1e100, "float32": 1e15}
"""Largest magnitude of a feature value by precision: products of larger values overflow."""
ROUNDING = 1e-9
"""Largest distance of a probability from [0, 1] that counts as rounding."""


def check_training_rows(X: MatrixLike) -> MatrixLike:
    """Check rows as :func:`check_rows` does, and that variances and distances do not overflow."""
    X = check_rows(X)
    check_magnitude(X)
    return X


def check_magnitude(X: MatrixLike, dtype: str = "float64") -> None:
    """Raise an error for finite values too large for a precision.

    Single precision is checked only where it is computed in: elsewhere it is converted. NaN and
    infinity are left to other checks.
    """
    # Some sparse formats have no `data`, and are converted later.
    limit, values = LARGEST[dtype], getattr(X, "data", None) if sparse.issparse(X) else X
    if (namespace := foreign_namespace(X)) is not None:
        if X.dtype != namespace.xp.float64 or 0 in X.shape:
            return
        largest = float(namespace.xp.max(namespace.xp.abs(X)))
    elif type(values) is not np.ndarray or values.dtype != dtype or is_moderate(values, limit):
        return
    else:
        largest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    if limit < largest < np.inf:
        raise ValueError(
            f"X holds a value of magnitude {largest:.3g}; expected at most {limit:g}, because "
            "products of larger values overflow. Scale the features, for example with "
            "sklearn.preprocessing.MaxAbsScaler, and replace codes of missing values by NaN."
        )


def is_moderate(values: FloatArray, limit: float = LARGEST["float64"]) -> bool:
    """Return whether all values are finite and at most a limit."""
    return values.size == 0 or bool(values.min() >= -limit and values.max() <= limit)


def class_probabilities(model: Any, X: MatrixLike) -> FloatArray:
    """Return ``predict_proba`` of a base classifier; values outside of [0, 1] are an error."""
    return check_probabilities(np.asarray(model.predict_proba(X), dtype=np.float64), model)


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


def check_features(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check X at prediction against the features seen in fit."""
    X = check_rows(X)
    if getattr(X, "ndim", 2) == 1 and hasattr(estimator, "n_features_in_"):
        raise ValueError(
            f"Expected a 2D array, got a 1D array of shape {X.shape}. Reshape your data: "
            "X.reshape(1, -1) if it is a single sample, X.reshape(-1, 1) if it is a single "
            "feature."
        )
    if isinstance(X, list | tuple):  # texts or tokens, not features
        return X
    check_magnitude(X)
    return check_columns(estimator, X)


def check_columns(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check number and names of the columns of X, which may have no rows, at prediction."""
    if isinstance(X, EncodedFrame) or _has_columns(estimator, X):  # an encoder checks its frames
        return X
    # scikit-learn compares names only if all are strings. If one of two frames has these, it warns.
    fitted: Any = getattr(estimator, "_other_names", None)
    found = frame_columns(X) if fitted and is_frame(X) else fitted
    if found and found != fitted and not all(isinstance(name, str) for name in found):
        raise ValueError(
            "The feature names should match those that were passed during fit, and must be in the "
            f"same order as they were in fit.\nNames seen in fit: {fitted[:5]}. Names of X: "
            f"{found[:5]}.\n"
        )
    return validate_data(estimator, X, reset=False, skip_check_array=True)


def is_valid(estimator: BaseEstimator, X: MatrixLike) -> bool:
    """Return whether X is a plain matrix with the columns seen in fit: no check can fail."""
    return _has_columns(estimator, X) and is_plain(X)


def _has_columns(estimator: BaseEstimator, X: MatrixLike) -> bool:
    """Return whether X is a matrix with as many columns as seen in fit, without names."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def set_feature_attributes(estimator: BaseEstimator, X: MatrixLike) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` from the rows of fit."""
    for name in ("n_features_in_", "feature_names_in_", "_other_names"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if isinstance(X, EncodedFrame):
        estimator.n_features_in_ = X.encoder.n_features_in_
        if hasattr(X.encoder, "feature_names_in_"):
            estimator.feature_names_in_ = X.encoder.feature_names_in_
    elif not isinstance(X, list | tuple):
        validate_data(estimator, X, skip_check_array=True)
        if is_frame(X) and not hasattr(estimator, "feature_names_in_"):
            estimator._other_names = frame_columns(X)


def is_plain(X: Any) -> bool:
    """Return whether X is a matrix of finite floats, which needs no further check."""
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0
    return plain and is_moderate(X)


def take_rows(X: MatrixLike, rows: IntArray | slice) -> MatrixLike:
    """Select rows of an array, a frame, a CSR matrix or a list."""
    if type(X) in (np.ndarray, EncodedFrame):
        if type(X) is EncodedFrame or isinstance(rows, slice) or rows.dtype.kind != "i":
            return X[rows]
        return np.take(X, rows, axis=0)  # faster than an index
    if (namespace := foreign_namespace(X)) is None:
        return safe_indexing(X, rows)
    if isinstance(rows, slice):
        return X[rows, ...]
    return namespace.xp.take(X, namespace.asarray(rows), axis=0)


def check_base_classifier(estimator: Any) -> None:
    """Raise an error for a base classifier without probabilities."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"The base classifier is the class {name}; pass an instance, {name}().")
    if not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise ValueError(
            f"The base classifier {name} has no predict_proba, which is needed for "
            "supports. Wrap it: "
            f"estimator=sklearn.calibration.CalibratedClassifierCV({name}(...))."
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
        and not _inside_none(name, params)
    }
    return estimator.set_params(**unset)


def _inside_none(name: str, params: dict[str, Any]) -> bool:
    """Return whether a nested parameter belongs to a default object, which its owner seeds."""
    parts = name.split("__")
    owners = ("__".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(owner in params and params[owner] is None for owner in owners)


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


def predicted_scores(model: Any, X: Any, n_labels: int) -> np.ndarray[Any, Any]:
    """Return the scores of a classifier by predict_proba or else decision_function, (n, L)."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return label_scores(model, X, method, n_labels)
    raise ValueError(
        f"{type(model).__name__} has neither predict_proba nor decision_function, which a "
        "metric of scores needs"
    )


def label_scores(estimator: Any, X: MatrixLike, method: str, n_labels: int) -> FloatArray:
    """Return the scores of labels by one method, (n, L).

    If the method returns a list with an array for each label, as forests do, the column of class 1
    in ``classes_`` is used; 0 for a label whose ``classes_`` lacks 1.
    """
    found, n_rows = as_numpy(getattr(estimator, method)(X)), count_rows(X)
    if isinstance(found, list):
        classes = getattr(estimator, "classes_", [[0, 1]] * len(found))
        columns = [_column_of_one(part, own) for part, own in zip(found, classes, strict=True)]
        scores = np.column_stack(columns)
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


def _column_of_one(probabilities: Any, classes: Any) -> FloatArray:
    """Return the probabilities of class 1; zeros for a label that never occurs."""
    probabilities = np.asarray(probabilities)
    where = np.flatnonzero(np.asarray(classes) == 1)
    return probabilities[:, where[0]] if len(where) else np.zeros(len(probabilities))
