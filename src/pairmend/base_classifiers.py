"""ScaledLogisticRegression, a default base classifier of MendedClassifier."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._logistic_solver import TOLERANCE, LogisticOptimum, LogisticRows
from pairmend._utils import arrays
from pairmend._utils.classifiers import check_params, check_probabilities
from pairmend._utils.training import check_row_order, check_sample_weight, relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames import FrameEncoder

__all__ = ["ScaledLogisticRegression"]

TRIAL_TOLERANCE = 1e-2
"""Tolerance of the solver in fits that are compared only: probabilities are exact to 0.001."""


class ReadsAnyRows(BaseEstimator):
    """Base class of estimators of arrays, sparse matrices and frames, with missing values."""

    takes_encoded_frames = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


class LabelsClassifier(ClassifierMixin, ReadsAnyRows):
    """Base class of classifiers of all labels that keep their model on the host."""

    def __sklearn_array_api_convert__(self, convert: arrays.Convert) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class DenseScaler(TransformerMixin, ReadsAnyRows):
    """Standardize dense features, and return sparse rows unchanged.

    Numbers are standardized, and NaN becomes the mean; a feature without any value becomes 0.
    Frames are encoded by a :class:`~pairmend.frames.FrameEncoder`: categories are one-hot encoded,
    with missing as a category, and unknown values as zeros; the components of texts and dates are
    unchanged. Sparse rows mostly hold counts of words or tags, of which division by the standard
    deviation would overweight the rare ones.

    Parameters
    ----------
    standardize : bool, default=True
        Whether numbers are standardized; if not, NaN is replaced by the mean only.
    words : bool, default=False
        Whether texts are encoded by their words in place of components; rows with texts are
        sparse then.

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

    scaler_: Any
    encoder_: Any
    frame_encoder_: FrameEncoder | None

    def __init__(self, standardize: bool = True, words: bool = False):
        self.standardize = standardize
        self.words = words

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
        if isinstance(X, arrays.EncodedFrame):
            self.frame_encoder_ = X.encoder
        elif arrays.is_frame(X) or arrays.is_texts(X):
            self.frame_encoder_ = FrameEncoder().fit(X)
        if self.frame_encoder_ is None:
            numbers = self._check(X, reset=True)
        else:
            rows = self.frame_encoder_.encode(X)
            arrays.set_feature_attributes(self, X)
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
                sample_weight = arrays.like_rows(
                    check_sample_weight(sample_weight, numbers), numbers
                )
            with np.errstate(invalid="ignore"):  # of a feature without values, or a constant one
                self.scaler_ = StandardScaler().fit(numbers, y, sample_weight)
            if arrays.foreign_namespace(numbers) is None:
                fill_statistics(self.scaler_)
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
        change = self._scaled if self.standardize else self._filled
        if self.frame_encoder_ is None:
            numbers = X if arrays.is_valid(self, X) else self._check(X, reset=False)
            return numbers if self.scaler_ is None else change(numbers)
        rows = self.frame_encoder_.encode(X)
        with_words = self.words and rows.words is not None
        parts = [rows.not_in_words if with_words else rows.components]
        if self.encoder_ is not None:
            parts.insert(0, self.encoder_.transform(rows.codes))
        if self.scaler_ is not None:
            parts.insert(0, change(rows.numbers))
        dense = np.hstack(parts)
        return sparse.hstack([dense, rows.words], format="csr") if with_words else dense

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Return the names of the transformed columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; not used after a fit on a frame.

        Returns
        -------
        ndarray of str
            Names of numbers, "column = category", "column: word". All columns that a date or a
            text without words becomes have its name.
        """
        check_is_fitted(self)
        if (encoder := self.frame_encoder_) is None:
            if input_features is None:
                input_features = [f"x{place}" for place in range(self.n_features_in_)]
            return np.asarray(input_features, dtype=object)
        columns = [str(column.name) for column in encoder.columns_]
        kinds, owners = encoder.n_categories_, [columns[place] for place in encoder.source_]
        names = [name for name, kind in zip(owners, kinds, strict=True) if kind == 0]
        if self.encoder_ is not None:
            places = encoder.source_[kinds > 0]
            for place, codes in zip(places, self.encoder_.categories_, strict=True):
                keys = [*encoder.values_of(place), "other values"]
                names += [
                    f"{columns[place]} {'missing' if np.isnan(code) else f'= {keys[int(code)]}'}"
                    for code in codes
                ]
        texts = [place for place in range(len(columns)) if encoder.columns_[place].kind == "text"]
        words = {p: [f"{columns[p]}: {word}" for word in encoder.values_of(p)] for p in texts}
        projected = [place for place in texts if (kinds[encoder.source_ == place] == -2).any()]
        for place, kind in zip(encoder.source_, kinds, strict=True):
            if kind == -1:  # of a text, a word for each component
                names.append(words[place].pop(0) if place in words else columns[place])
            elif kind == -2 and not self.words:
                names.append(columns[place])
        if self.words:
            names += [name for place in projected for name in words[place]]
        return np.array(names, dtype=object)

    def _filled(self, numbers: Any) -> FloatArray:
        """Return numbers with NaN replaced by the mean."""
        if arrays.foreign_namespace(numbers) is not None:  # arrays of other libraries have none
            return numbers
        dense = numbers.toarray() if sparse.issparse(numbers) else np.asarray(numbers)
        missing = np.isnan(dense)
        if dense.dtype.kind in "mM":  # an array of dates or durations
            dense = dense.astype(np.float64)
        return np.where(missing, self.scaler_.mean_, dense) if missing.any() else dense

    def _scaled(self, numbers: Any, out: FloatArray | None = None) -> FloatArray:
        """Return standardized numbers, with NaN replaced by 0, the mean after scaling."""
        if arrays.foreign_namespace(numbers) is not None:
            return self.scaler_.transform(numbers)
        if type(numbers) is not np.ndarray or numbers.dtype != np.float64:
            dense = numbers.toarray() if sparse.issparse(numbers) else numbers
            scaled = np.asarray(self.scaler_.transform(dense))
            return np.where(np.isnan(scaled), 0.0, scaled)
        # As scaler_.transform does, without a further check.
        found: FloatArray = np.subtract(numbers, self.scaler_.mean_, out=out)
        found /= self.scaler_.scale_
        found[np.isnan(found)] = 0.0
        return found

    def _check(self, X: MatrixLike, *, reset: bool) -> MatrixLike:
        return validate_data(
            self, X, accept_sparse="csr", reset=reset, dtype="numeric",
            ensure_all_finite="allow-nan",
        )  # fmt: skip


def fill_statistics(scaler: StandardScaler, before: StandardScaler | None = None) -> None:
    """Give columns without any value the statistics of another scaler, or 0 and the scale 1."""
    for name, default in (("mean_", 0.0), ("var_", 0.0), ("scale_", 1.0)):
        now, last = getattr(scaler, name), getattr(before, name, default)
        setattr(scaler, name, np.where(np.isnan(now), last, now))


class ScaledLogisticRegression(ClassifierMixin, ReadsAnyRows):
    """Logistic regression of standardized features.

    Numbers are standardized, and NaN becomes the mean. Frames are encoded by a
    :class:`~pairmend.frames.FrameEncoder`, and their categories one-hot. Sparse rows are not
    scaled: they mostly hold counts of words, of which the rare ones would be overweighted. Sample
    weights, relative to the weight of one row, are passed to the scaler and to the regression.

    Classifiers of this library that train one clone per label, such as
    :class:`~pairmend.baselines.BinaryRelevance` and :class:`~pairmend.MendedClassifier`, fit all
    labels at once by Newton's method, and their probabilities are exact up to rounding. ``fit``
    itself is left to :class:`sklearn.linear_model.LogisticRegression`, whose tolerance may leave
    errors of some percent in probabilities.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty. With sample weights, it is that for weights in
        which one row weighs 1: the smallest weight such that rows with weights up to it hold at
        least 2 % of the total weight. All weights times a constant change nothing.
    standardize : bool, default=True
        Whether numbers of dense rows are standardized.
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

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_weight": True}
    """Sample weights are requested by default, if scikit-learn's metadata routing is enabled."""

    def __init__(self, C: float = 1.0, *, standardize: bool = True, max_iter: int = 1000):
        self.C = C
        self.standardize = standardize
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
        rows, weights = self._fit_scaler(X, sample_weight)
        self.classifier_ = self._unfitted().fit(rows, y, weights)
        self.classes_, self.n_iter_ = self.classifier_.classes_, self.classifier_.n_iter_
        return self

    def _fit_labels(
        self,
        X: MatrixLike,
        Y: BoolArray,
        sample_weight: Any = None,
        *,
        overwrite: bool = False,
        start: LogisticOptimum | None = None,
        tolerance: float = TOLERANCE,
    ) -> Self:
        """Fit all labels, each of which has both classes; `overwrite` scales X in place.

        X may be an array of any library. The scores of ``classifier_`` are those of the labels.
        `start` and `tolerance` are those of the solver.
        """
        rows = self._logistic_rows(X, Y, sample_weight, overwrite=overwrite)
        if start is not None and len(start.coef) != rows.n_features:
            start = None  # a category is missing
        optimum = rows.fit(self.C, self.max_iter, start=start, tolerance=tolerance)
        optimum.warn_unless_converged()
        return self._set_optimum(optimum, X)

    def _trial(
        self, X: MatrixLike, Y: BoolArray, X_new: MatrixLike, sample_weight: Any = None
    ) -> Callable[[float], FloatArray]:
        """Return a function of C that returns probabilities of new rows, nearly those of a fit.

        Each fit starts from the optimum of the last one.
        """
        rows, new_rows = self._logistic_rows(X, Y, sample_weight), self.scaler_.transform(X_new)
        optimum: LogisticOptimum | None = None

        def proba(C: float) -> FloatArray:
            nonlocal optimum
            optimum = rows.fit(C, self.max_iter, start=optimum, tolerance=TRIAL_TOLERANCE)
            coef, intercept = (
                arrays.like_rows(part, new_rows) for part in (optimum.coef, optimum.intercept)
            )
            return np.asarray(expit(arrays.as_numpy(new_rows @ coef + intercept)))

        return proba

    def _logistic_rows(
        self, X: MatrixLike, Y: BoolArray, sample_weight: Any, *, overwrite: bool = False
    ) -> LogisticRows:
        """Fit the scaler; return scaled rows, as the solver takes them."""
        rows, weights = self._fit_scaler(X, sample_weight, overwrite=overwrite)
        fitted = self._unfitted()
        check_params(fitted, fitted.get_params(deep=False))
        namespace = arrays.foreign_namespace(rows)
        checked = check_array(
            rows, accept_sparse="csr", dtype=namespace.float64 if namespace else np.float64,
            estimator=fitted, input_name="X",
        )  # fmt: skip
        weights = np.ones(len(Y)) if weights is None else weights
        return LogisticRows(checked, Y, weights, overwrite=overwrite or checked is not X)

    def _set_optimum(self, optimum: LogisticOptimum, X: MatrixLike) -> Self:
        """Set the fitted attributes; coefficients are arrays of the library of X."""
        fitted = self._unfitted()
        # Products with sparse rows need its transpose in the order of the optimum.
        fitted.coef_ = arrays.like_rows(optimum.coef, X).T
        fitted.intercept_ = arrays.like_rows(optimum.intercept, X)
        fitted.n_features_in_, fitted.n_iter_ = len(optimum.coef), optimum.n_iter
        self.classifier_, self.n_iter_ = fitted, fitted.n_iter_
        self.classes_ = fitted.classes_ = np.arange(optimum.coef.shape[1])
        return self

    def _optimum(self, labels: IntArray) -> LogisticOptimum:
        """Return the coefficients and intercepts of some labels, from which a fit may start."""
        fitted = self.classifier_
        coef, intercept = (
            arrays.as_numpy(fitted.coef_).T[:, labels],
            arrays.as_numpy(fitted.intercept_)[labels],
        )
        return LogisticOptimum(coef, intercept, fitted.n_iter_[labels], labels >= 0)

    def _label_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of the labels of `_fit_labels`, as an array of numpy."""
        rows, fitted = self.scaler_.transform(X), self.classifier_
        if arrays.is_valid(fitted, rows):
            scores = rows @ fitted.coef_.T
            scores += fitted.intercept_
        else:
            scores = arrays.as_numpy(fitted.decision_function(rows)).reshape(
                -1, fitted.coef_.shape[0]
            )
        return check_probabilities(expit(scores).astype(np.float64, copy=False), fitted)

    def _unfitted(self) -> LogisticRegression:
        return LogisticRegression(C=self.C, max_iter=self.max_iter)

    def _fit_scaler(
        self, X: MatrixLike, sample_weight: Any, *, overwrite: bool = False
    ) -> tuple[MatrixLike, FloatArray | None]:
        """Fit the scaler; return scaled rows, and relative weights.

        With `overwrite`, an array is scaled in place, which saves a copy of the rows.
        """
        if sample_weight is not None:
            checked = check_sample_weight(sample_weight, X, ensure_non_negative=True)
            sample_weight = relative_weights(checked)
        self.scaler_ = DenseScaler(self.standardize, words=True).fit(X, sample_weight=sample_weight)
        arrays.set_feature_attributes(self, X if hasattr(X, "shape") else np.asarray(X))
        is_plain_array = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
        if overwrite and is_plain_array and self.standardize:
            return self.scaler_._scaled(X, out=X), sample_weight
        return self.scaler_.transform(X), sample_weight

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
        return np.asarray(self._call("decision_function", X))

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
        return np.asarray(self._call("predict_proba", X))

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
        return np.asarray(self._call("predict", X))

    def _call(self, method: str, X: MatrixLike) -> Any:
        """Return what a method of the classifier returns for scaled rows."""
        check_is_fitted(self)
        return getattr(self.classifier_, method)(self.scaler_.transform(X))
