"""Base classifiers that suit most data."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._frames import is_frame
from pairmend._typing import MatrixLike
from pairmend._validation import remember_features

__all__ = ["DenseScaler", "logistic_regression"]


class DenseScaler(TransformerMixin, BaseEstimator):
    """Make comparable numbers of features, and leave sparse rows as they are.

    Numbers are standardized, and missing ones become the mean. Columns of a frame that hold no
    numbers become a 0/1 column for each value, missing being one; a new value is none of them.
    Sparse rows mostly count words or tags: division by the standard deviation would blow up the
    rare ones.

    Attributes
    ----------
    scaler_ : StandardScaler or None
        What standardizes; None after a fit on sparse rows.
    encoder_ : OneHotEncoder or None
        What makes numbers of other columns; None if there are none.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
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

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means, standard deviations and values of dense rows.

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
        """
        self.scaler_ = self.encoder_ = None
        if sparse.issparse(X):
            self._check(X, reset=True)
            return self
        numbers, others = _split(X)
        if others is not None:
            self.encoder_ = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(others)
        if numbers.ndim != 2 or numbers.shape[1]:  # what is no table is refused by the scaler
            self.scaler_ = StandardScaler().fit(numbers, y, sample_weight)
        remember_features(self, X if hasattr(X, "shape") else np.asarray(X))
        return self

    def transform(self, X: MatrixLike) -> MatrixLike:
        """Make comparable numbers of rows if those seen in fit were dense.

        Parameters
        ----------
        X : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        if self.scaler_ is None and self.encoder_ is None:
            return self._check(X, reset=False)
        numbers, others = _split(X.toarray() if sparse.issparse(X) else X)
        parts = []
        if self.scaler_ is not None:
            # After the shift, the mean is 0.
            parts.append(np.nan_to_num(self.scaler_.transform(numbers), nan=0.0))
        if self.encoder_ is not None:
            parts.append(self.encoder_.transform(others))
        return np.hstack(parts) if len(parts) > 1 else parts[0]

    def _check(self, X: MatrixLike, *, reset: bool) -> MatrixLike:
        return validate_data(
            self, X, accept_sparse="csr", reset=reset, dtype="numeric",
            ensure_all_finite="allow-nan",
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _split(X: Any) -> tuple[Any, Any]:
    """Return the columns that hold numbers, and those of a frame that do not."""
    if not is_frame(X):
        return X if hasattr(X, "shape") else np.asarray(X), None
    numeric = np.array([getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes])
    return X.loc[:, numeric], None if numeric.all() else X.loc[:, ~numeric]


def logistic_regression() -> Pipeline:
    """Return a logistic regression, of standardized features where they are dense.

    Examples
    --------
    >>> logistic_regression().fit([[0.0], [0.2], [0.9]], [0, 0, 1]).predict([[0.8]]).tolist()
    [1]
    """
    scaler, classifier = DenseScaler(), LogisticRegression(max_iter=1000)
    if get_config()["enable_metadata_routing"]:
        scaler.set_fit_request(sample_weight=True)
        classifier.set_fit_request(sample_weight=True)
    return make_pipeline(scaler, classifier)


def weigh_steps(pipeline: Pipeline, params: dict[str, Any]) -> dict[str, Any]:
    """Hand sample weights to each step of a pipeline, as its own fit would not.

    Examples
    --------
    >>> sorted(weigh_steps(logistic_regression(), {"sample_weight": [1.0, 2.0]}))
    ['densescaler__sample_weight', 'logisticregression__sample_weight']
    """
    if "sample_weight" not in params or get_config()["enable_metadata_routing"]:
        return params
    others = {name: value for name, value in params.items() if name != "sample_weight"}
    weights = {f"{name}__sample_weight": params["sample_weight"] for name, _ in pipeline.steps}
    return {**others, **weights}
