"""predict and predict_proba of any multi-label classifier as arrays (n_rows, n_labels)."""

from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.namespaces import as_numpy
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, MatrixLike


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
