"""What the rivals share: targets, and the way from scores to predictions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.fit_params import route_fit_params, take_params
from pairmend._utils.frames import is_frame
from pairmend._utils.parameters import DefaultParts
from pairmend._utils.sklearn_private import check_prediction_parameters, fit_context
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_features,
    check_training_rows,
    remember_features,
    take_rows,
)
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.kernels.ranking import sum_to_one
from pairmend.kernels.threshold import accept
from pairmend.naive_bayes.estimator import RandomSubspaceNB


class Rival(ClassifierMixin, BaseEstimator, ABC):
    """A multi-label classifier that gives each label a score in [0, 1]."""

    classes_: np.ndarray[Any, Any]
    multilabel_: bool

    prediction_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that take effect at prediction: changing them needs no new fit."""

    @abstractmethod
    def _scores(self, X: MatrixLike) -> FloatArray:
        """Return the labels' scores."""

    def _remember(self, X: MatrixLike, target: Target, learnt: dict[str, Any]) -> Self:
        """Keep what was learnt; nothing of an earlier fit is touched before all went well."""
        remember_features(self, X)
        self.classes_, self.multilabel_ = target.classes, target.multilabel
        for name, value in learnt.items():
            setattr(self, name, value)
        return self

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label's score exceeds 1/2, 0 elsewhere. After a fit on 1-D classes: shape
            (n_samples,), the class with the largest score.
        """
        scores = self.predict_proba(X)
        if self.multilabel_:
            return accept(scores, 0.5)
        return np.asarray(self.classes_[np.argmax(scores, axis=1)])

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the labels' scores.

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
        check_is_fitted(self)
        check_prediction_parameters(self)
        rows = check_features(self, X)
        encoder = getattr(self, "frame_encoder_", None)
        scores = self._scores(rows if encoder is None else encoder.encode(rows))
        return scores if self.multilabel_ else sum_to_one(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Wrapping(DefaultParts, Rival):
    """A classifier made of clones of a base classifier."""

    estimator: Any
    random_state: Any
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}

    def get_metadata_routing(self) -> MetadataRouter:
        """Say where extra parameters of fit go: to the base classifier's fit.

        Returns
        -------
        MetadataRouter
        """
        return MetadataRouter(owner=self).add(
            estimator=self._base_classifier(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _base_classifier(self) -> Any:
        return self._part("estimator")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base_classifier()).input_tags
        return tags


class WrappingRival(Wrapping):
    """A rival that learns from all rows at once."""

    encodes_frames = True
    """Whether frames may be encoded before the base classifiers see them."""

    @abstractmethod
    def _learn(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what is learnt, by name of the attribute; no weight is 0."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1. A 1-D array of classes is learnt as indicators of which
            each row has one.
        **fit_params : dict
            Parameters of the base classifier's ``fit``, such as ``sample_weight``; rows of
            weight 0, or of less than a millionth of what counts as one row, are left out. With
            metadata routing enabled, those the base classifier requests.

        Returns
        -------
        self
        """
        X = check_training_rows(X)
        target = check_target(self, X, y, min_labels=1)
        base = self._base_classifier()
        params, weights = route_fit_params(self, base, X, fit_params)
        rows, Y, present = X, target.Y, np.flatnonzero(weights > 0)
        if len(present) < len(weights):
            params = take_params(X, params, present)
            rows, Y, weights = take_rows(X, present), Y[present], weights[present]
        encoder = None
        if self.encodes_frames and is_frame(X) and takes_encoded_frames(base):
            encoder = FrameEncoder().fit(rows)  # once, not for each classifier of a label
            rows = encoder.encode(rows)
        learnt = self._learn(rows, Y, weights, params)
        return self._remember(X, target, {**learnt, "frame_encoder_": encoder})
