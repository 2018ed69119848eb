"""Base classifiers that suit most data."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._typing import MatrixLike
from pairmend._validation import remember_features

__all__ = ["DenseScaler", "logistic_regression"]


class DenseScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize dense rows, and leave sparse ones as they are.

    Sparse rows mostly count words or tags. Division by the standard deviation would blow up the
    rare ones.

    Attributes
    ----------
    scaler_ : StandardScaler or None
        What standardizes; None after a fit on sparse rows.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> DenseScaler().fit_transform([[0.0, 1.0], [2.0, 3.0]]).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> DenseScaler().fit_transform(csr_array([[0.0, 1.0], [2.0, 3.0]])).toarray().tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means and standard deviations of dense rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self
        """
        self.scaler_ = None
        if sparse.issparse(X):
            self._check(X, reset=True)
        else:
            self.scaler_ = StandardScaler().fit(X, y, sample_weight)
            remember_features(self, X if hasattr(X, "shape") else np.asarray(X))
        return self

    def transform(self, X: MatrixLike) -> MatrixLike:
        """Standardize rows if those seen in fit were dense.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if self.scaler_ is None:
            return self._check(X, reset=False)
        return self.scaler_.transform(X.toarray() if sparse.issparse(X) else X)

    def _check(self, X: MatrixLike, *, reset: bool) -> MatrixLike:
        return validate_data(
            self, X, accept_sparse="csr", reset=reset, dtype="numeric",
            ensure_all_finite="allow-nan",
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


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
