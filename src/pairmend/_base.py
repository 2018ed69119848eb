"""Base classes of all multi-label classifiers: fit, predict, checks, fitted attributes."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._utils import arrays
from pairmend._utils.classifiers import check_params, is_auto
from pairmend._utils.sklearn_private import convert_arrays
from pairmend._utils.training import Target, check_target, indicators_of, route_fit_params, tags_of
from pairmend._utils.typing import FloatArray, MatrixLike, TargetLike
from pairmend.frames.columns import column_kinds
from pairmend.kernels.pairs import accept, sum_to_one


class MultiLabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier of label indicators, or of 1-D classes, that gives each label a score.

    None as a parameter may stand for an object with parameters. ``get_params`` lists those of that
    object, and ``set_params`` of one of them sets the object first. The parameter stays None until
    then, so that ``clone`` and ``repr`` are those of any scikit-learn estimator. Where the
    parameter is "auto", ``set_params`` of a nested parameter sets the object first, too.
    """

    classes_: np.ndarray[Any, Any]
    multilabel_: bool

    prediction_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that take effect at prediction: changing them needs no new fit."""

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Functions that create the object that None stands for, by the name of the parameter."""

    _label_parameters: ClassVar[tuple[str, ...]] = ("threshold",)
    """Parameters, some of which it may not have, that have no effect on 1-D classes."""

    _array_attribute: ClassVar[str | None] = None
    """A fitted array of the library and device of fit, if these need not be numpy's."""

    _numpy_attributes: ClassVar[tuple[str, ...]] = ("classes_",)
    """Fitted attributes with arrays of numpy after a fit on any device."""

    _row_numbers: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes with numbers of training rows that model files do not hold."""

    _update_state: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that partial_fit needs, which model files hold on request only."""

    @abstractmethod
    def _scores(self, X: MatrixLike) -> FloatArray:
        """Return the scores of the labels for checked rows."""

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label's score exceeds the threshold, 0 elsewhere. After a fit on 1-D
            classes: shape (n_samples,), the class with the largest score.
        """
        self._check_namespace(X, "predict")
        return self._decide(self.predict_proba(X))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the scores of the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Scores in [0, 1]. After a fit on 1-D classes they are scaled to sum to 1 in each
            row.
        """
        rows = self._check_predict(X)
        encoder = getattr(self, "frame_encoder_", None)
        scores = self._scores(rows if encoder is None else encoder.encode(rows))
        return scores if self.multilabel_ else sum_to_one(scores)

    def _labels_and_proba(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], FloatArray]:
        """Return ``predict(X)`` and ``predict_proba(X)``, in one pass if labels follow from it."""
        proba = self.predict_proba(X)
        follow = type(self).predict is MultiLabelClassifier.predict
        return self._decide(proba) if follow else self.predict(X), proba

    def score(self, X: MatrixLike, y: TargetLike, sample_weight: Any = None) -> float:
        """Return the share of rows whose labels are all predicted correctly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            True labels, in any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        float
        """
        if (tags := tags_of(y)) is not None:
            check_is_fitted(self)
            y = indicators_of(tags, self.classes_)[0]
        return float(super().score(X, y, sample_weight))

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing: parameters of fit are passed to the base classifier's fit.

        Returns
        -------
        MetadataRouter or MetadataRequest
            The latter for classifiers without a base classifier.
        """
        base = self._base_classifier()
        if base is None:
            return super().get_metadata_routing()
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of nested objects, also of those that None stands for.

        Returns
        -------
        dict
            Parameter names mapped to their values.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, default in self._default_parts.items():
            if deep and params[name] is None:
                nested = default().get_params(deep=True)
                params.update({f"{name}__{key}": value for key, value in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters. ``<name>__<parameter>`` is one of a nested object; where the object is
            None or "auto", the one that None stands for is set first.

        Returns
        -------
        self
        """
        for name, default in self._default_parts.items():
            value, prefix = params.get(name, getattr(self, name)), f"{name}__"
            own = {key: params[key] for key in params if key.startswith(prefix)}
            if own and (value is None or is_auto(value)):  # an error changes nothing
                part = default().set_params(**{key[len(prefix) :]: own[key] for key in own})
                params = {key: params[key] for key in params.keys() - own} | {name: part}
        changed: Self = super().set_params(**params)
        return changed

    def _part(self, name: str) -> Any:
        """Return the value of a parameter, or the object that None stands for."""
        value = getattr(self, name)
        return self._default_parts[name]() if value is None else value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        if (base := self._base_classifier()) is not None:
            tags.input_tags = get_tags(base).input_tags
        return tags

    def _base_classifier(self) -> Any:
        """Return the unfitted base classifier, or None if the classifier has none."""
        return self._part("estimator") if hasattr(self, "estimator") else None

    @property
    def _threshold(self) -> float:
        """The value that the score of a predicted label exceeds."""
        return 0.5

    def _decide(self, scores: FloatArray) -> np.ndarray[Any, Any]:
        """Return the predictions for scores."""
        namespace = arrays.foreign_namespace(scores)
        if not self.multilabel_:
            best = arrays.as_numpy(scores).argmax(axis=1)
            return arrays.like_rows(arrays.as_numpy(self.classes_)[best], scores)
        if namespace is None:
            return accept(scores, self._threshold)
        return namespace.xp.astype(scores > self._threshold, namespace.xp.int64)

    def _check_namespace(self, X: MatrixLike, method: str) -> None:
        """Raise an error if X is not of the array library and device of fit."""
        if self._array_attribute is not None:
            arrays.check_same_namespace(X, self, attribute=self._array_attribute, method=method)

    def __sklearn_array_api_convert__(self, convert: arrays.Convert) -> Self:
        """Return a copy whose fitted arrays are moved, for scikit-learn's `move_estimator_to`."""
        to_numpy = isinstance(convert(np.zeros(1)), np.ndarray)
        if not (to_numpy or self._is_movable):
            raise ValueError(
                f"This {type(self).__name__} was fitted on arrays of numpy, and its model cannot "
                "be moved to another array library. Fit it on arrays of that library."
            )

        def of_any(array: Any) -> Any:  # torch converts no numbers of numpy
            return convert(np.asarray(array) if isinstance(array, np.generic) else array)

        params = self.get_params(deep=False)
        moved: Self = clone(self)
        for name, value in vars(self).items():
            if name not in params:
                is_kept = name in self._numpy_attributes
                setattr(moved, name, value if is_kept else convert_arrays(value, of_any))
        return moved

    @property
    def _is_movable(self) -> bool:
        """Whether the fitted model can be computed with other array libraries than numpy."""
        return False

    def _check_fit_input(
        self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]
    ) -> tuple[MatrixLike, Target, dict[str, Any], FloatArray]:
        """Return checked rows, target, parameters of the base classifier, and weights of rows."""
        arrays.refuse_arrays(X, f"{type(self).__name__}.fit")
        X = arrays.check_training_rows(X)
        target = check_target(self, X, y, min_labels=1)
        base = self._base_classifier()
        if base is None:
            return X, target, {}, np.ones(len(target.Y))
        return X, target, *route_fit_params(self, base, X, fit_params)

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        """Return checked rows; refuse them before fit and with invalid parameters."""
        check_is_fitted(self)
        self._check_prediction_parameters()
        return arrays.check_features(self, X)

    def _check_prediction_parameters(self) -> None:
        """Check the parameters that act at prediction, which may have been set after fit."""
        names = self.prediction_parameters
        check_params(self, {name: getattr(self, name) for name in names})

    def _warn_of_label_parameters(self) -> None:
        """Warn of parameters other than by default that have no effect on 1-D classes."""
        known = signature(type(self)).parameters
        for name in self._label_parameters:
            if name in known and not same_parameters(getattr(self, name), known[name].default):
                warnings.warn(
                    f"{name}={getattr(self, name)!r} has no effect on 1-D classes: of these, the "
                    "one with the largest score is predicted. Pass label indicators, or leave out "
                    f"{name}.",
                    stacklevel=5,
                )

    def _set_fitted(self, X: MatrixLike, target: Target, **attributes: Any) -> Self:
        """Set the fitted attributes, all at the end of fit: a failed fit changes nothing."""
        if not target.multilabel:
            self._warn_of_label_parameters()
        arrays.set_feature_attributes(self, X)
        self._column_kinds = column_kinds(X)
        self.classes_, self.multilabel_ = target.classes, target.multilabel
        for name, value in attributes.items():
            setattr(self, name, value)
        return self


def same_parameters(first: Any, second: Any) -> bool:
    """Compare two values of a parameter; estimators by all their parameters, lists by members.

    Values that cannot be compared count as different.
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if hasattr(first, "get_params"):
        first, second = first.get_params(deep=False), second.get_params(deep=False)
    if isinstance(first, dict):
        pairs = ((first[name], second.get(name)) for name in first)
        return first.keys() == second.keys() and all(same_parameters(*pair) for pair in pairs)
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same_parameters, first, second))
    return bool(np.array_equal(first, second))
