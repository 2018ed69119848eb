"""ScaledLogisticRegression, a default base classifier of MendedClassifier."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._logistic_solver import fit_logistic
from pairmend._utils.arrays import (
    EncodedFrame,
    is_frame,
    is_plain,
    is_valid,
    set_feature_attributes,
)
from pairmend._utils.classifiers import check_params, fit_clones
from pairmend._utils.computing import CACHED_CELLS, batches
from pairmend._utils.progress import report
from pairmend._utils.training import check_row_order, check_sample_weight, relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend.frames import FrameEncoder

__all__ = ["ScaledLogisticRegression"]


class DenseScaler(TransformerMixin, BaseEstimator):
    """Standardize dense features, and return sparse rows unchanged.

    Numbers are standardized, and NaN becomes the mean; a feature without any value becomes 0.
    Frames are encoded by a :class:`~pairmend.frames.FrameEncoder`: categories are one-hot encoded,
    with missing as a category, and unknown values as zeros; the components of texts and dates are
    unchanged. Sparse rows mostly hold counts of words or tags, of which division by the standard
    deviation would overweight the rare ones.

    Attributes
    ----------
    scaler_ : StandardScaler or None
        Standardizes numbers; None after a fit on sparse rows.
    frame_encoder_ : FrameEncoder or None
        Encodes frames; None after a fit on an array.
    encoder_ : OneHotEncoder or None
        One-hot encodes categories; None if there are none.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if fit saw a frame with string names.

    Examples
    --------
    >>> import pandas as pd
    >>> from scipy.sparse import csr_array
    >>> DenseScaler().fit_transform([[0.0, 1.0], [2.0, 3.0]]).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> DenseScaler().fit_transform(csr_array([[0.0, 1.0], [2.0, 3.0]])).toarray().tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    >>> photos = pd.DataFrame({"blue": [0.0, 2.0, None], "place": ["coast", "town", "coast"]})
    >>> DenseScaler().fit_transform(photos).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """

    takes_encoded_frames = True
    scaler_: Any
    encoder_: Any
    frame_encoder_: FrameEncoder | None

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the scaler and the encoders on dense rows.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self
            Fitted scaler.
        """
        self.scaler_ = self.encoder_ = self.frame_encoder_ = None
        if sparse.issparse(X):
            self._check(X, reset=True)
            return self
        if isinstance(X, EncodedFrame):
            self.frame_encoder_ = X.encoder
        elif is_frame(X):
            self.frame_encoder_ = FrameEncoder().fit(X)
        if self.frame_encoder_ is None:
            numbers = self._check(X, reset=True)
        else:
            rows = self.frame_encoder_.encode(X)
            set_feature_attributes(self, X)
            numbers = rows.numbers
            if rows.codes.shape[1]:
                encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
                self.encoder_ = encoder.fit(rows.codes)
            if not rows.values.shape[1]:
                raise ValueError(
                    "X has no usable column. See the warnings about its columns for the reasons."
                )
        if numbers.shape[1]:
            if sample_weight is not None:
                sample_weight = check_sample_weight(sample_weight, numbers)
            self.scaler_ = StandardScaler().fit(
                _without_empty_columns(numbers, sample_weight), y, sample_weight
            )
        return self

    def transform(self, X: MatrixLike) -> MatrixLike:
        """Scale rows, if fit saw dense rows.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_columns)
            Scaled rows; unchanged after a fit on sparse rows.
        """
        check_is_fitted(self)
        return self._encode(X, self._scaled)

    def fill(self, X: MatrixLike) -> MatrixLike:
        """Encode rows as `transform` does, without scaling; NaN becomes the mean.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_columns)
            Encoded rows; unchanged after a fit on sparse rows.
        """
        check_is_fitted(self)
        return self._encode(X, self._filled)

    def _encode(self, X: MatrixLike, change: Callable[[Any], FloatArray]) -> MatrixLike:
        """Return rows with changed numbers, and with encoded categories."""
        if self.frame_encoder_ is None:
            numbers = X if is_valid(self, X) else self._check(X, reset=False)
            return numbers if self.scaler_ is None else change(numbers)
        rows = self.frame_encoder_.encode(X)
        parts = [rows.components]
        if self.encoder_ is not None:
            parts.insert(0, self.encoder_.transform(rows.codes))
        if self.scaler_ is not None:
            parts.insert(0, change(rows.numbers))
        return np.hstack(parts)

    def _filled(self, numbers: Any) -> FloatArray:
        """Return numbers with NaN replaced by the mean."""
        dense = numbers.toarray() if sparse.issparse(numbers) else np.asarray(numbers)
        missing = np.isnan(dense)
        if dense.dtype.kind in "mM":  # an array of dates or durations
            dense = dense.astype(np.float64)
        return np.where(missing, self.scaler_.mean_, dense) if missing.any() else dense

    def _scaled(self, numbers: Any, out: FloatArray | None = None) -> FloatArray:
        """Return standardized numbers, with NaN replaced by 0, the mean after scaling."""
        if type(numbers) is not np.ndarray or numbers.dtype != np.float64:
            dense = numbers.toarray() if sparse.issparse(numbers) else numbers
            scaled = np.asarray(self.scaler_.transform(dense))
            return np.where(np.isnan(scaled), 0.0, scaled)
        # As scaler_.transform does, without a further check; chunks stay in the cache.
        scaled = np.empty(numbers.shape) if out is None else out
        for rows in batches(len(numbers), max(1, CACHED_CELLS // numbers.shape[1])):
            part = np.subtract(numbers[rows], self.scaler_.mean_, out=scaled[rows])
            part /= self.scaler_.scale_
            part[np.isnan(part)] = 0.0
        return scaled

    def _check(self, X: MatrixLike, *, reset: bool) -> MatrixLike:
        return validate_data(
            self, X, accept_sparse="csr", reset=reset, dtype="numeric",
            ensure_all_finite="allow-nan",
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _without_empty_columns(numbers: FloatArray, sample_weight: Any) -> FloatArray:
    """Return numbers with 0 in columns that are NaN in all rows of positive weight."""
    if is_plain(numbers):  # no NaN
        return numbers
    valid = ~np.isnan(numbers)
    if sample_weight is not None:
        valid &= np.asarray(sample_weight)[:, np.newaxis] > 0
    empty = ~valid.any(axis=0)
    return np.where(empty, 0.0, numbers) if empty.any() else numbers


class ScaledLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression of standardized features.

    Numbers are standardized, and NaN becomes the mean. Frames are encoded by a
    :class:`~pairmend.frames.FrameEncoder`, and their categories one-hot. Sparse rows are not
    scaled: they mostly hold counts of words, of which the rare ones would be overweighted. Sample
    weights, relative to the weight of one row, are passed to the scaler and to the regression.

    Classifiers of this library that train one clone per label, such as
    :class:`~pairmend.baselines.BinaryRelevance` and :class:`~pairmend.MendedClassifier`, fit all
    labels at once by Newton's method, and their probabilities are exact up to rounding. ``fit``
    itself, and fits with `class_weight`, are left to
    :class:`sklearn.linear_model.LogisticRegression`, whose tolerance may leave errors of some
    percent in probabilities.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty. With sample weights, it is that for weights in
        which one row weighs 1: the smallest weight such that rows with weights up to it hold at
        least 2 % of the total weight. All weights times a constant change nothing.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in :class:`sklearn.linear_model.LogisticRegression`.
    max_iter : int, default=1000
        Maximum number of iterations of the solver.

    Attributes
    ----------
    scaler_ : DenseScaler
        The fitted scaler.
    classifier_ : LogisticRegression
        The fitted logistic regression of the scaled features.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_iter_ : ndarray of int
        Number of iterations of the solver.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if fit saw a frame with string names.

    Examples
    --------
    >>> from pairmend.base_classifiers import ScaledLogisticRegression
    >>> clf = ScaledLogisticRegression(C=10.0).fit([[0.0], [0.2], [0.9]], [0, 0, 1])
    >>> clf.predict([[0.8]]).tolist()
    [1]
    """

    takes_encoded_frames = True
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_weight": True}
    """Sample weights are requested by default, if scikit-learn's metadata routing is enabled."""

    def __init__(self, C: float = 1.0, *, class_weight: Any = None, max_iter: int = 1000):
        self.C = C
        self.class_weight = class_weight
        self.max_iter = max_iter

    def fit(self, X: MatrixLike, y: Any, sample_weight: Any = None) -> Self:
        """Fit the scaler, then the logistic regression.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self
            Fitted classifier.
        """
        check_row_order(X, y, "y")
        scaler, rows, weights = _fit_scaler(X, sample_weight)
        classifier = LogisticRegression(**self.get_params(deep=False)).fit(rows, y, weights)
        return self._set_fitted(X, scaler, classifier)

    def _fit_labels(
        self,
        X: MatrixLike,
        Y: BoolArray,
        sample_weight: Any = None,
        *,
        overwrite: bool,
        n_jobs: int | None,
        owner: Any,
    ) -> list[Self]:
        """Return a fitted clone for each label, with one scaler; `overwrite` scales X in place."""
        scaler, rows, weights = _fit_scaler(X, sample_weight, overwrite=overwrite)
        classifier = LogisticRegression(**self.get_params(deep=False))
        if self.class_weight is None:
            fitted = _fit_all(classifier, rows, Y, weights)
            report(owner, f"trained {len(fitted)} labels at once")
        else:
            params = {} if weights is None else {"sample_weight": weights}
            fitted = fit_clones(classifier, rows, Y, params, n_jobs, owner)
        return [clone(self)._set_fitted(X, scaler, each) for each in fitted]

    def _fitted_parts(self) -> tuple[list[Any], Any]:
        """Return the fitted transformers and the fitted classifier."""
        return [self.scaler_], self.classifier_

    def _set_fitted(
        self, X: MatrixLike, scaler: DenseScaler, classifier: LogisticRegression
    ) -> Self:
        """Set the fitted attributes."""
        set_feature_attributes(self, X if hasattr(X, "shape") else np.asarray(X))
        self.scaler_, self.classifier_ = scaler, classifier
        self.classes_, self.n_iter_ = classifier.classes_, classifier.n_iter_
        return self

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the log-odds of class 1, or the scores of all classes if there are more than two.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        scaled = self._scaled(X)
        return np.asarray(self.classifier_.decision_function(scaled))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of classes.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        scaled = self._scaled(X)
        return np.asarray(self.classifier_.predict_proba(scaled))

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        scaled = self._scaled(X)
        return np.asarray(self.classifier_.predict(scaled))

    def _scaled(self, X: MatrixLike) -> MatrixLike:
        check_is_fitted(self)
        return self.scaler_.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _fit_all(
    classifier: LogisticRegression,
    rows: MatrixLike,
    Y: BoolArray,
    sample_weight: FloatArray | None,
) -> list[LogisticRegression]:
    """Return a fitted logistic regression for each label; dense rows may be changed."""
    check_params(classifier, classifier.get_params(deep=False))
    X = check_array(
        rows, accept_sparse="csr", dtype=np.float64, estimator=classifier, input_name="X"
    )
    weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    optimum = fit_logistic(X, Y, weights, classifier.C, classifier.max_iter, overwrite=True)
    optimum.warn_unless_converged()
    fitted = []
    for coef, intercept, n_iter in zip(
        optimum.coef.T, optimum.intercept, optimum.n_iter, strict=True
    ):
        own = clone(classifier)
        own.classes_, own.n_features_in_ = np.array([0, 1]), X.shape[1]
        own.coef_, own.intercept_ = coef[np.newaxis].copy(), np.array([intercept])
        own.n_iter_ = np.array([n_iter], dtype=np.int32)
        fitted.append(own)
    return fitted


def _fit_scaler(
    X: MatrixLike, sample_weight: Any, *, overwrite: bool = False
) -> tuple[DenseScaler, MatrixLike, FloatArray | None]:
    """Return a fitted scaler, the scaled rows, and relative weights.

    With `overwrite`, an array is scaled in place, which saves a copy of the rows.
    """
    if sample_weight is not None:
        checked = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        sample_weight = relative_weights(checked)
    scaler = DenseScaler().fit(X, sample_weight=sample_weight)
    is_plain_array = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
    if overwrite and is_plain_array and scaler.scaler_ is not None:
        return scaler, scaler._scaled(X, out=X), sample_weight
    return scaler, scaler.transform(X), sample_weight
