"""Explanations of a saved model's predictions, with the names of labels and the feature values."""

from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import is_frame
from pairmend.datasets import MultiLabelData
from pairmend.explanation import Explanations, add_features
from pairmend.persistence.rows import has_names, read_columns


def explain_prepared(
    model: Any,
    X: Any,
    rows: Any,
    X_training: Any = None,
    training: Any = None,
    *,
    n_neighbors: int,
    n_problems: int | None,
) -> Explanations:
    """Explain rows, given as the estimator needs them and as they were read."""
    classifier, typed = model.estimator, (X, X_training)
    if hasattr(classifier, "steps"):
        transform = classifier[:-1].transform if len(classifier.steps) > 1 else lambda given: given
        X, classifier = transform(X), classifier[-1]
        X_training = None if X_training is None else transform(X_training)
    if not hasattr(classifier, "explain"):
        raise ValueError(
            f"the model is a {type(classifier).__name__}, which has no explanations; fit a "
            "MendedClassifier or a CorrectedPairwiseClassifier"
        )
    if model.label_names:
        classifier = copy(classifier)  # the model keeps its classes
        classifier.classes_ = np.array(model.label_names, dtype=object)
    explained = classifier.explain(
        X, training=X_training, n_neighbors=n_neighbors, n_problems=n_problems
    )
    if (table := _feature_columns(model, rows)) is None:
        return explained
    known = None if training is None else _feature_columns(model, training)
    return Explanations(
        add_features(explained, table, known, names=model.feature_names, typed=typed)
    )


def _feature_columns(model: Any, rows: Any) -> Any:
    """Return the features of the model in rows, as they were read; None for arrays."""
    names = list(model.feature_names)
    if not has_names(rows):
        return None
    if is_frame(rows):
        return rows[names]
    if isinstance(rows, MultiLabelData) and sparse.issparse(rows.X):
        places = [rows.feature_names.index(name) for name in names]  # there may be further columns
        return rows.X.tocsr()[:, places]
    return {name: _as_array(cells) for name, cells in read_columns(rows, names).items()}


def _as_array(cells: Any) -> np.ndarray[Any, Any]:
    """Return cells as an array: of objects if they are a list."""
    if isinstance(cells, np.ndarray):
        return cells
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
