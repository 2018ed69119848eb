"""The base classifier of a fit: a given one, or several that are stacked.

Both have two methods. `out_of_fold` returns predictions of the validation rows by models that were
not trained on them; `fit_on_all` returns the base classifier for new rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pairmend._utils.fit_params import take_params
from pairmend._utils.per_label import PerLabelClassifier
from pairmend._utils.predictions import label_scores
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.targets import Target
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.mended.calibration import Calibration
from pairmend.mended.stacking import stack
from pairmend.model_selection.out_of_fold import cross_fit, first_predictions

Splits = list[tuple[IntArray, IntArray]]


@dataclass(frozen=True)
class BaseRows:
    """What base classifiers are trained on.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, in the form that base classifiers take.
    target : Target
        Labels.
    params : dict
        Parameters of `fit`.
    weights : ndarray of shape (n_samples,)
        Weights of rows; those of weight 0 are not used.
    splits : list of tuple of ndarray
        Training and test rows of each split.
    n_jobs : int or None
        Number of processes that fit on splits, and of threads that grow a forest.
    owner : object
        The classifier for which progress is reported.
    """

    X: MatrixLike
    target: Target
    params: dict[str, Any]
    weights: FloatArray
    splits: Splits
    n_jobs: int | None
    owner: Any

    def out_of_fold(self, model: Any) -> tuple[IntArray, FloatArray, IntArray]:
        """Fit a model on each split; return the test rows, their probabilities, and the splits."""
        parts = cross_fit(
            model, self.X, self.target, self.params, self.splits, method="predict_proba",
            purpose="the probabilities of labels", n_jobs=self.n_jobs, owner=self.owner,
        )  # fmt: skip
        tests = [test for _, test in self.splits]
        rows, proba, folds = first_predictions(tests, parts, len(self.target.classes))
        return rows, np.clip(proba, 0, 1, out=proba), folds

    def present(self) -> tuple[MatrixLike, IntArray, dict[str, Any]]:
        """Return the rows of positive weight, their numbers, and their parameters of `fit`."""
        present = np.flatnonzero(self.weights > 0)
        if len(present) == count_rows(self.X):
            return self.X, present, self.params
        return take_rows(self.X, present), present, take_params(self.X, self.params, present)

    def fit_on_all(self, model: Any) -> Any:
        """Fit a model on all rows."""
        X, present, params = self.present()
        per_label = isinstance(model, PerLabelClassifier)
        kind = type(model.estimator if per_label else model).__name__
        report(self.owner, f"fitting {kind} on {len(present)} rows")
        target = self.target
        return model.fit(X, target.Y[present] if per_label else target.as_given(present), **params)


class Base(Protocol):
    """A base classifier that is to be fitted."""

    @property
    def weights(self) -> Mapping[str, float]:
        """Weights of the classifiers that it consists of, after `out_of_fold`."""

    @property
    def search(self) -> Mapping[str, Sequence[Any]]:
        """All classifiers that were compared: "classifier" and "loss"."""

    def out_of_fold(self, rows: BaseRows) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the validation rows, their out-of-fold probabilities, and their splits."""

    def fit_on_all(self, rows: BaseRows) -> Any:
        """Return the classifier fitted on all rows."""


@dataclass(frozen=True)
class GivenBase:
    """A base classifier without alternatives.

    Attributes
    ----------
    model : classifier
        Classifier of all labels.
    name : str
        Its name in `weights`.
    """

    model: Any
    name: str

    @property
    def weights(self) -> dict[str, float]:
        """The weight of the classifier, 1."""
        return {self.name: 1.0}

    @property
    def search(self) -> dict[str, list[Any]]:
        """Nothing was compared."""
        return {"classifier": [], "loss": []}

    def out_of_fold(self, rows: BaseRows) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the validation rows, their out-of-fold probabilities, and their splits."""
        return rows.out_of_fold(self.model)

    def fit_on_all(self, rows: BaseRows) -> Any:
        """Return the classifier fitted on all rows."""
        return rows.fit_on_all(self.model)


def base_attributes(base: Base) -> dict[str, Any]:
    """Return the attributes of a fitted `MendedClassifier` that show what was chosen."""
    search = base.search
    return {
        "base_weights_": dict(base.weights),
        "base_search_": {
            "classifier": np.array(search["classifier"], dtype=np.str_),
            "loss": np.array(search["loss"], dtype=np.float64),
        },
    }


class StackedBase(ClassifierMixin, BaseEstimator):
    """Weighted sum of the probabilities, some calibrated, of fitted classifiers of all labels."""

    def __init__(
        self,
        estimators: Mapping[str, Any],
        weights: Mapping[str, float],
        calibrations: Mapping[str, Calibration],
    ):
        self.estimators = estimators
        self.weights = weights
        self.calibrations = calibrations

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_rows, n_labels)."""
        return stack(self.proba_by_classifier(X), self.weights)

    def proba_by_classifier(self, X: MatrixLike) -> dict[str, FloatArray]:
        """Return the probabilities of labels by each classifier, calibrated where needed."""
        proba = {
            name: label_scores(model, X, "predict_proba", len(model.classes_))
            for name, model in self.estimators.items()
        }
        return proba | {name: change(proba[name]) for name, change in self.calibrations.items()}


def base_parts(model: Any, X: MatrixLike) -> dict[str, FloatArray]:
    """Return the probabilities by each classifier of a `StackedBase`; none for any other model."""
    return model.proba_by_classifier(X) if isinstance(model, StackedBase) else {}
