"""RandomSubspaceNB: parameters, random subspaces, fit and predict."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, metadata_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._utils import arrays, training
from pairmend._utils.classifiers import check_params
from pairmend._utils.computing import one_blas_thread
from pairmend._utils.sklearn_private import (
    Interval,
    StrOptions,
    column_numbers,
    fit_context,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames import FrameEncoder
from pairmend.naive_bayes.features import Design, DistinctValues, FeatureStatistics
from pairmend.naive_bayes.likelihood import ScoredRows, Scorer, Terms
from pairmend.naive_bayes.sums import Sums


class RandomSubspaceNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes classifiers in random subspaces, their probabilities averaged.

    Each of the classifiers uses a random subset of the features (Ho, 1998). A numeric feature is
    Gaussian in each class, with a standard deviation of at least one sixth of the mean gap
    between neighbouring distinct values. Categorical features and the classes have
    Laplace-smoothed frequencies. A feature whose value is missing in a row is ignored for that
    row. It suits data with few rows and many features, and is the base classifier of the study.

    Parameters
    ----------
    n_subspaces : int, default=20
        Number of subspaces.
    subspace : float or int, default=0.2
        Size of a subspace: a share of the features, rounded and at least one, or their
        number.
    categorical : "auto", None or array-like, default="auto"
        Which features are categorical. "auto": the columns of a frame that a
        :class:`~pairmend.frames.FrameEncoder` reads as categories, and every feature with at
        most two distinct values. An array-like: these features, given as feature numbers, column
        names (for a frame) or one bool per feature. None: no feature.
    random_state : int, RandomState or None, default=None
        Controls the random choice of the subspaces.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    feature_statistics_ : FeatureStatistics
        Kinds, values, floors and subspaces of the features.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log of the smoothed class frequencies.
    mean_, scale_ : ndarray of shape (n_classes, n_features)
        Mean and standard deviation of the numeric features in each class; NaN for categorical
        ones.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if fit saw a frame with string names.

    Notes
    -----
    Smoothing adds one row to each frequency. With sample weights, the weight of one row is the
    smallest weight such that rows with weights up to it hold at least 2 % of the total weight.
    Multiplying all weights by a constant thus changes nothing. Rows with less than a millionth of
    that weight are ignored, as are rows of weight 0.

    References
    ----------
    Ho, T. K. (1998). The random subspace method for constructing decision forests. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 20(8), 832-844.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RandomSubspaceNB(subspace=0.5, random_state=0).fit(X, y)
    >>> clf.predict(X[[0, 75, 149]]).tolist()
    [0, 1, 2]
    """

    _parameter_constraints = {  # noqa: RUF012
        "n_subspaces": [Interval(Integral, 1, None, closed="left")],
        "subspace": [
            Interval(Real, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "categorical": [StrOptions({"auto"}), "array-like", None],
        "random_state": ["random_state"],
    }
    # Pair learners pass it to the classifiers of their pairs; it is never routed by metadata.
    __metadata_request__fit = {"feature_statistics": metadata_routing.UNUSED}  # noqa: RUF012

    def __init__(
        self,
        n_subspaces: int = 20,
        subspace: float | int = 0.2,
        categorical: str | ArrayLike | None = "auto",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_subspaces = n_subspaces
        self.subspace = subspace
        self.categorical = categorical
        self.random_state = random_state

    def feature_statistics(
        self, X: MatrixLike, sample_weight: ArrayLike | None = None
    ) -> FeatureStatistics:
        """Compute the statistics of the features that do not depend on the classes.

        An ensemble of many classifiers on parts of the same rows calls this once, on all rows,
        and passes the result to the `fit` of each.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. Rows of weight 0 are ignored. The weight that counts as one row in smoothing
            is derived from them.

        Returns
        -------
        FeatureStatistics
            Kinds, values, smallest standard deviations and subspaces of the features.

        Examples
        --------
        >>> X = [[0.5, 1.0], [1.5, 0.0], [2.5, 1.0]]
        >>> RandomSubspaceNB().feature_statistics(X).categorical.tolist()
        [False, True]
        """
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        statistics = self.read_training_rows(X, weights, None)[3]
        return statistics if weights is not None else replace(statistics, unit=None)

    def statistics_of_values(
        self, found: DistinctValues, declared: BoolArray | None, encoder: FrameEncoder | None
    ) -> FeatureStatistics:
        """Compute the same statistics from the features' distinct values.

        Parameters
        ----------
        found : DistinctValues
            The values.
        declared : ndarray of bool or None
            As :meth:`declare` returns it.
        encoder : FrameEncoder or None
            As :meth:`declare` returns it.

        Returns
        -------
        FeatureStatistics
            As :meth:`feature_statistics` returns them.

        Examples
        --------
        >>> import numpy as np
        >>> from pairmend.naive_bayes.features import DistinctValues
        >>> found = DistinctValues.of(np.array([[0.5], [1.5], [2.5]]))
        >>> RandomSubspaceNB().statistics_of_values(found, None, None).floor.round(3).tolist()
        [0.167]
        """
        categorical = declared
        if categorical is None:
            categorical = np.zeros(len(found.count), dtype=bool)
            categorical[self._chosen(np.empty((0, len(categorical))))] = True
        if isinstance(self.categorical, str):
            categorical = categorical | (found.count <= 2)
        gap = (found.high - found.low) / np.maximum(found.count - 1, 1)
        # The floor of a constant feature has no effect on predictions.
        floor = np.where(found.count > 1, np.maximum(gap / 6, np.finfo(float).tiny), 1.0)
        values, n_values = found.listed(categorical), np.where(categorical, found.count, 0)
        if encoder is not None and (encoder.n_categories_ > 0).any():
            # An encoder's categories are values even where they do not occur.
            lists = np.split(values, np.cumsum(n_values)[:-1])
            for f in np.flatnonzero(encoder.n_categories_ > 0):
                # The code after the last is that of grouped rare values, if there are any.
                has_others = found.high[f] == encoder.n_categories_[f] and found.count[f] > 0
                lists[f] = np.arange(encoder.n_categories_[f] + has_others, dtype=float)
            values, n_values = np.concatenate(lists), np.array([len(values) for values in lists])
        offsets, subspaces = np.append(0, np.cumsum(n_values)), self._draw_subspaces(len(gap))
        return FeatureStatistics(categorical, values, offsets, floor, subspaces, encoder)

    def read_training_rows(
        self, X: MatrixLike, weights: FloatArray | None, statistics: FeatureStatistics | None
    ) -> tuple[Any, BoolArray, FloatArray | None, FeatureStatistics]:
        """Read rows to train on.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.
        weights : ndarray of shape (n_samples,) or None
            Checked sample weights.
        statistics : FeatureStatistics or None
            Those of a larger sample; computed from X if None.

        Returns
        -------
        numbers : ndarray or CSR of shape (n_present, n_features)
            The rows of positive weight.
        present : ndarray of bool, shape (n_samples,)
            Which rows these are.
        weights : ndarray of shape (n_present,) or None
            Their weights in units of the weight that counts as one row.
        statistics : FeatureStatistics
            Statistics of the features, with that unit.

        Examples
        --------
        >>> import numpy as np
        >>> X, weights = [[0.0], [1.0], [2.0]], np.array([2.0, 0.0, 2.0])
        >>> numbers, _, weights, _ = RandomSubspaceNB().read_training_rows(X, weights, None)
        >>> numbers.tolist(), weights.tolist()
        ([[0.0], [2.0]], [1.0, 1.0])
        """
        if statistics is None:
            check_params(self, self.get_params(deep=False))
            unit, (declared, encoder) = None, self.declare(X)
        else:
            unit, encoder = statistics.unit, statistics.encoder
        numbers = arrays.by_density(read_numbers(self, X, encoder))
        if unit is None:
            unit = 1.0 if weights is None else training.unit_weight(weights)
        rows = positive_rows(numbers, weights, unit)
        if statistics is None:
            found = DistinctValues.of(rows[0])
            statistics = self.statistics_of_values(found, declared, encoder)
        if numbers.shape[1] != len(statistics.categorical):
            raise ValueError(
                f"feature_statistics has {len(statistics.categorical)} features, but X has "
                f"{numbers.shape[1]}."
            )
        return *rows, replace(statistics, unit=unit)

    @property
    def takes_encoded_frames(self) -> bool:
        """Whether frames are read by a FrameEncoder with default options."""
        return isinstance(self.categorical, str)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        feature_statistics: FeatureStatistics | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows. NaN is a missing value.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 2 among rows of weight 1 counts as two rows.
        feature_statistics : FeatureStatistics, default=None
            Statistics of the features, from :meth:`feature_statistics`. Computed from X if None.

        Returns
        -------
        self
            The fitted classifier.

        Examples
        --------
        >>> clf = RandomSubspaceNB(1, 1.0).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        >>> clf.mean_.tolist()
        [[0.5], [5.5]]
        """
        arrays.refuse_arrays(
            X, "RandomSubspaceNB.fit", "PairwiseClassifier takes arrays of any library."
        )
        training.check_row_order(X, y, "y")
        y = validate_data(self, y=y)
        check_classification_targets(y)
        arrays.check_magnitude(X)
        check_consistent_length(X, y)
        weights = training.check_sample_weight(sample_weight, X, ensure_non_negative=True)
        X = np.asarray(X) if isinstance(X, list | tuple) else X
        if getattr(X, "ndim", 2) == 2:  # otherwise check_array raises an error
            arrays.set_feature_attributes(self, X)
        read = self.read_training_rows(X, weights, feature_statistics)
        numbers, present, in_units, statistics = read
        arrays.check_magnitude(numbers)
        # A class that only occurs in rows of weight 0 is no class.
        classes, codes = np.unique(np.asarray(y)[present], return_inverse=True)
        design = Design.from_rows(statistics, numbers)
        members = sparse.csr_array(codes == np.arange(len(classes))[:, np.newaxis], dtype=float)
        sums = Sums.over(members, in_units, design.expand(numbers)).at(slice(None))
        return self._set_sums(classes, sums, design)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the class probabilities, averaged over the subspaces.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.

        Examples
        --------
        >>> clf = RandomSubspaceNB(1, 1.0).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        >>> clf.predict_proba([[3.0]]).tolist()
        [[0.5, 0.5]]
        """
        check_is_fitted(self)
        X = np.asarray(X) if isinstance(X, list | tuple) else X
        if getattr(X, "ndim", 2) == 2:
            arrays.check_columns(self, X)
        numbers = arrays.by_density(read_numbers(self, X, self.feature_statistics_.encoder))
        rows = ScoredRows.of(self._design.expand(numbers), self._design)
        probabilities = np.empty((rows.n_rows, len(self.classes_)))
        with one_blas_thread():
            for tile in rows.tiles(len(self.classes_), rows.n_rows):
                joint = rows.scores(self._scorer, tile)
                probabilities[tile] = softmax(joint, axis=1).mean(axis=0).T
        return probabilities

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.

        Examples
        --------
        >>> clf = RandomSubspaceNB(1, 1.0).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        >>> clf.predict([[2.0], [4.0]]).tolist()
        [0, 1]
        """
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def declare(self, X: MatrixLike) -> tuple[BoolArray | None, FrameEncoder | None]:
        """Return which columns of a frame are categorical, and an encoder of the frame.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        declared : ndarray of bool, shape (n_encoded,), or None
            For each column of the encoder's output; None if X is no frame.
        encoder : FrameEncoder or None
            Fitted encoder; None if X is no frame.

        Examples
        --------
        >>> import pandas as pd
        >>> declared, _ = RandomSubspaceNB().declare(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}))
        >>> declared.tolist()
        [True, False]
        """
        if isinstance(X, arrays.EncodedFrame):
            return X.encoder.n_categories_ > 0, X.encoder
        if not arrays.is_frame(X):
            return None, None
        names = arrays.frame_columns(X)
        chosen = [names[column] for column in self._chosen(X)]
        encoder = FrameEncoder(kinds=dict.fromkeys(chosen, "category")).fit(X)
        return encoder.n_categories_ > 0, encoder

    def _chosen(self, X: MatrixLike) -> list[int]:
        """Return the columns that the parameter `categorical` lists."""
        if self.categorical is None or isinstance(self.categorical, str):
            return []
        try:
            return list(column_numbers(X, self.categorical))
        except ValueError as error:
            error.add_note(f"categorical={self.categorical!r} does not select columns of X")
            raise

    def _draw_subspaces(self, n_features: int) -> IntArray:
        if isinstance(self.subspace, Integral):
            size = int(self.subspace)
            if size > n_features:
                raise ValueError(f"subspace={size} features, but X has {n_features} features.")
        else:
            size = max(1, int(np.floor(self.subspace * n_features + 0.5)))
        rng = check_random_state(self.random_state)
        # The result of rng.choice without replacement, without its checks.
        drawn = [rng.permutation(n_features)[:size] for _ in range(self.n_subspaces)]
        return np.sort(drawn, axis=1)

    def _set_sums(self, classes: Any, sums: Sums, design: Design) -> Self:
        """Fit from sums over the rows of classes."""
        terms = Terms.of(sums, design)
        self.classes_, self.feature_statistics_ = np.asarray(classes), design.feature_statistics
        self.class_log_prior_ = np.log((sums.mass + 1) / (sums.mass.sum() + len(sums.mass)))
        self.mean_, self.scale_ = terms.gaussians(design)
        if terms.usable is not None:  # a numeric feature without values in a class is ignored
            terms = terms.where(np.tile(terms.usable.all(axis=0), (len(classes), 1)), design)
        self._design = design
        self._scorer = Scorer.of(terms, self.class_log_prior_, design)
        return self


def read_numbers(estimator: RandomSubspaceNB, X: MatrixLike, encoder: FrameEncoder | None) -> Any:
    """Return rows as a float array or CSR matrix; errors contain the estimator's name."""
    if encoder is not None:
        X = encoder.encode(X).values
    if arrays.is_plain(X):
        return X
    with np.errstate(over="ignore", invalid="ignore"):  # check_array sums all values
        numbers = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            estimator=estimator,
            input_name="X",
        )
    if sparse.issparse(numbers) and not numbers.has_canonical_format:
        numbers = numbers.copy()
        numbers.sum_duplicates()
    return numbers


def positive_rows(
    numbers: Any, weights: FloatArray | None, unit: float | None
) -> tuple[Any, BoolArray, FloatArray | None]:
    """Return the rows of positive weight, which rows these are, and weights divided by a unit."""
    unit = unit or 1.0
    present = np.ones(numbers.shape[0], dtype=bool)
    if weights is None:
        return numbers, present, None if unit == 1 else np.full(len(present), 1 / unit)
    weights = training.without_negligible(weights, unit) / unit
    present = weights > 0
    if present.all() or not present.any():
        return numbers, np.ones_like(present), weights
    return numbers[present], present, weights[present]
