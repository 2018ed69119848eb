"""Explanations of a saved model, with its label names and with feature values as they were read."""

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend._utils.columns import frame_library
from pairmend.datasets import MultiLabelData
from pairmend.explanation import Explanations, add_features
from pairmend.persistence.rows import read_columns

if TYPE_CHECKING:
    from pairmend.persistence.saved import SavedModel


def explain_prepared(
    model: "SavedModel",
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


def _feature_columns(model: "SavedModel", rows: Any) -> Any:
    """Return the features of the model in rows, as they were read; None for arrays."""
    names = list(model.feature_names)
    if frame_library(rows) is not None:
        return rows[names]
    if isinstance(rows, MultiLabelData) and hasattr(rows.X, "tocsr"):
        places = {name: place for place, name in enumerate(rows.feature_names)}
        return rows.X.tocsr()[:, [places[name] for name in names]]
    columns = read_columns(rows)
    return None if columns is None else {name: columns[name] for name in names}
