"""Base class of the classifiers with local correction that have no pairs."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils.chunking import row_chunks
from pairmend._utils.fit_params import fit_with_weights, route_fit_params
from pairmend._utils.namespaces import refuse_arrays
from pairmend._utils.sklearn_private import HasMethods, Interval, count_rows, fit_context
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_features,
    check_training_rows,
    new_seed,
    seed_estimator,
    take_rows,
)
from pairmend._utils.weights import all_equal
from pairmend.model_selection.splits import validation_split
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.neighbourhoods import GaussianNeighbourhood, checked_weights


class LocallyCorrected(MultiLabelClassifier):
    """A base classifier whose supports for labels are corrected around each point."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "validation": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 2, None, closed="left"),
        ],
        "neighbourhood": [HasMethods(["fit", "weights"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "estimator": RandomSubspaceNB,
        "neighbourhood": GaussianNeighbourhood,
    }

    model_: Any
    neighbourhood_: Any
    train_indices_: IntArray
    validation_indices_: IntArray
    _row_numbers: ClassVar[tuple[str, ...]] = ("train_indices_", "validation_indices_")

    def __init__(
        self,
        estimator: Any = None,
        *,
        validation: float | int = 0.6,
        neighbourhood: Any = None,
        reference: str = "beta",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.validation = validation
        self.neighbourhood = neighbourhood
        self.reference = reference
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _train(
        self,
        base: Any,
        X: MatrixLike,
        target: Target,
        fit_params: dict[str, Any],
        parts: list[IntArray],
    ) -> list[Any]:
        """Return a model for each part of the rows."""

    @abstractmethod
    def _supports_of(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        """Return a model's supports for labels, of shape (n, L), in [0, 1]."""

    @abstractmethod
    def _validation_attributes(self, Y: BoolArray, supports: FloatArray) -> dict[str, Any]:
        """Return the fitted attributes that hold the validation set."""

    @abstractmethod
    def _confusion(self, weights: FloatArray) -> FloatArray:
        """Return local confusion matrices."""

    @abstractmethod
    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        """Return corrected supports."""

    def _read_target(self, X: MatrixLike, y: TargetLike) -> Target:
        return check_target(self, X, y, min_labels=1)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train the base classifier and estimate its errors on the validation set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier and the neighbourhood take.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels) or (n_samples,)
            Label indicators, 0 or 1, where the classifier takes them, or a 1-D array of classes.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to the rows trained on. With metadata routing enabled,
            those the base classifier requests. Sample weights also weigh the validation rows.

        Returns
        -------
        self
        """
        refuse_arrays(X, f"{type(self).__name__}.fit")
        X = check_training_rows(X)
        target = self._read_target(X, y)
        base = self._base_classifier()
        check_base_classifier(base)
        params, row_weights = route_fit_params(self, base, X, fit_params)
        rng = check_random_state(self.random_state)
        seed = new_seed(rng)
        present = np.flatnonzero(row_weights > 0)
        train, validation, folds = validation_split(present, self.validation, rng)

        # Distances are fitted first, so that an error occurs before the costly training.
        X_validation = take_rows(X, validation)
        neighbourhood = seed_estimator(self._part("neighbourhood"), seed)
        weights = row_weights[validation]
        given = X_validation, target.as_given(validation)
        fit_with_weights(neighbourhood, given, None if all_equal(weights) else weights)

        parts = [train, *(validation[rest] for rest, _ in folds)]
        models = self._train(seed_estimator(base, seed), X, target, params, parts)
        supports = np.empty((len(validation), len(target.classes)))
        # Parts of the validation set, each predicted by a model that was not trained on it.
        folds_predicted = [fold for _, fold in folds] or [np.arange(len(validation))]
        for model, rows in zip(models[1:] or models, folds_predicted, strict=True):
            supports[rows] = self._supports_of(
                model, take_rows(X_validation, rows), supports.shape[1]
            )
        return self._set_fitted(
            X,
            target,
            model_=models[0],
            neighbourhood_=neighbourhood,
            train_indices_=train,
            validation_indices_=validation,
            _row_weights=weights,
            _reference=self.reference,
            **self._validation_attributes(target.Y[validation], supports),
        )

    def confusion(self, X: MatrixLike) -> FloatArray:
        """Return local fuzzy confusion matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, ..., n_decisions, n_decisions)
            ``[..., truth, decision]``: the share of the neighbourhood of the row that each
            cell holds.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        parts = []
        for rows in self._chunks(X):
            found = self._confusion(self._weights(take_rows(X, rows)))
            size = found.sum(axis=(-2, -1), keepdims=True)
            parts.append(found / np.where(size > 0, size, 1))
        return np.concatenate(parts)

    def _scores(self, X: MatrixLike) -> FloatArray:
        parts = []
        for rows in self._chunks(X):
            here = take_rows(X, rows)
            supports = self._supports_of(self.model_, here, len(self.classes_))
            parts.append(self._correct(supports, self._confusion(self._weights(here))))
        return np.clip(np.concatenate(parts), 0, 1)

    def _chunks(self, X: MatrixLike) -> Any:
        """Return chunks of rows for which weights and confusion matrices fit into memory."""
        size = 4 * len(self._row_weights) + 4 * len(self.classes_) ** 2
        return row_chunks(count_rows(X), size)

    def _weights(self, X: MatrixLike) -> FloatArray:
        weights = checked_weights(self.neighbourhood_, X, len(self._row_weights))
        if (self._row_weights == 1).all():
            return weights
        return weights * self._row_weights
