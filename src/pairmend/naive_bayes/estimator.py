"""RandomSubspaceNB: parameters, random subspaces, fit and predict."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    metadata_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._utils.arrays import (
    EncodedFrame,
    by_density,
    check_columns,
    check_magnitude,
    frame_columns,
    is_frame,
    is_plain,
    refuse_arrays,
    set_feature_attributes,
)
from pairmend._utils.classifiers import check_params
from pairmend._utils.computing import one_blas_thread
from pairmend._utils.sklearn_private import Interval, StrOptions, fit_context
from pairmend._utils.training import (
    check_row_order,
    check_sample_weight,
    unit_weight,
    without_negligible,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames import FrameEncoder
from pairmend.frames.columns import column_kinds
from pairmend.naive_bayes.design_matrix import Design
from pairmend.naive_bayes.feature_statistics import (
    DistinctValues,
    FeatureStatistics,
    compute_feature_statistics,
)
from pairmend.naive_bayes.scoring import ScoredRows, Scorer, Terms
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
    value_log_prob_ : ndarray of shape (n_classes, n_values)
        Log of the smoothed frequencies of the categorical features' values, in the order of
        ``feature_statistics_.values``.
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
        return self.read_with_statistics(X, sample_weight)[1]

    def read_with_statistics(
        self, X: MatrixLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Any, FeatureStatistics]:
        """Return rows as numbers, and the statistics of their features.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in :meth:`feature_statistics`.

        Returns
        -------
        numbers : ndarray or CSR of shape (n_samples, n_features)
            All rows: CSR if few cells are not 0, else dense.
        feature_statistics : FeatureStatistics
            As :meth:`feature_statistics` returns them.

        Examples
        --------
        >>> numbers, _ = RandomSubspaceNB().read_with_statistics([[0, 1], [1, 0]])
        >>> numbers.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        check_params(self, self.get_params(deep=False))
        declared, encoder = self.declare(X)
        numbers = by_density(read_numbers(self, X, encoder))
        if sample_weight is None:
            return numbers, self.statistics_of_values(DistinctValues.of(numbers), declared, encoder)
        weights = np.asarray(sample_weight, dtype=np.float64)
        unit = unit_weight(weights)
        present = without_negligible(weights, unit) > 0
        found = self.statistics_of_values(DistinctValues.of(numbers[present]), declared, encoder)
        return numbers, replace(found, unit=unit)

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
        >>> from pairmend.naive_bayes.feature_statistics import DistinctValues
        >>> found = DistinctValues.of(np.array([[0.5], [1.5], [2.5]]))
        >>> RandomSubspaceNB().statistics_of_values(found, None, None).floor.round(3).tolist()
        [0.167]
        """
        n_features = len(found.count)
        return compute_feature_statistics(
            found,
            declared=self._declared_by_number(n_features) if declared is None else declared,
            count_two_valued=isinstance(self.categorical, str),
            subspaces=self._draw_subspaces(n_features),
            encoder=encoder,
        )

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
        refuse_arrays(X, "RandomSubspaceNB.fit", "PairwiseClassifier takes arrays of any library.")
        check_row_order(X, y, "y")
        y = validate_data(self, y=y)
        check_classification_targets(y)
        check_magnitude(X)
        check_consistent_length(X, y)
        weights = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if feature_statistics is None:
            feature_statistics = self.feature_statistics(X, weights)
        unit = unit_weight(weights) if feature_statistics.unit is None else feature_statistics.unit
        weights = without_negligible(weights, unit) / unit
        numbers = self._read(X, feature_statistics.encoder, reset=True)
        check_magnitude(numbers)
        if numbers.shape[1] != len(feature_statistics.categorical):
            raise ValueError(
                f"feature_statistics has {len(feature_statistics.categorical)} features, but X has "
                f"{numbers.shape[1]}."
            )
        present = weights > 0
        if (
            present.any() and not present.all()
        ):  # a class that only occurs in rows of weight 0 is no class
            numbers, y, weights = numbers[present], np.asarray(y)[present], weights[present]
        classes, codes = np.unique(y, return_inverse=True)
        design = Design.from_rows(feature_statistics, numbers)
        members = sparse.csr_array(codes == np.arange(len(classes))[:, np.newaxis], dtype=float)
        sums = Sums.over(members, weights, design.expand(numbers)).at(slice(None))
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
        numbers = self._read(X, self.feature_statistics_.encoder, reset=False)
        rows = ScoredRows.of(self._design.expand(numbers), self._design)
        probabilities = np.empty((rows.n_rows, len(self.classes_)))
        with one_blas_thread():
            for tile in rows.tiles(len(self.classes_)):
                joint = rows.at(tile).scores(self._scorer)
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
        probabilities = self.predict_proba(X)
        winners: np.ndarray[Any, Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return winners

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: MatrixLike, encoder: FrameEncoder | None, *, reset: bool) -> Any:
        """Return X as a float array or CSR matrix, its features checked."""
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        if getattr(X, "ndim", 2) == 2:  # otherwise check_array raises an error
            if reset:
                set_feature_attributes(self, X)
            else:
                check_columns(self, X)
        return by_density(read_numbers(self, X, encoder))

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
        if isinstance(X, EncodedFrame):
            return X.encoder.n_categories_ > 0, X.encoder
        if not is_frame(X):
            return None, None
        if isinstance(self.categorical, str):
            encoder = FrameEncoder().fit(X)
            return encoder.n_categories_ > 0, encoder
        names, named = frame_columns(X), _names(self.categorical)
        if unknown := set(named) - set(names):
            raise ValueError(
                f"categorical names columns that X lacks: {sorted(unknown)}. X has the columns "
                f"{list(names)}."
            )
        if named:
            declared = np.array([name in named for name in names], dtype=bool)
        else:
            declared = self._declared_by_number(len(names))
        chosen = [name for name, is_chosen in zip(names, declared, strict=True) if is_chosen]
        encoder = FrameEncoder(kinds=dict.fromkeys(chosen, "category")).fit(X)
        found = zip(names, column_kinds(X) or (), encoder.columns_, strict=True)
        left = [
            name for name, dtype, column in found
            if column.kind == "category" and dtype != "category" and name not in chosen
        ]  # fmt: skip
        if left:
            raise ValueError(
                f"Column {left[0]!r} holds strings and is not listed in `categorical`. Add it to "
                "RandomSubspaceNB's parameter `categorical`, leave the parameter at 'auto', or "
                "encode the column as numbers."
            )
        return declared[encoder.source_], encoder

    def _declared_by_number(self, n_features: int) -> BoolArray:
        """Return which features are categorical by the parameter alone."""
        declared = np.zeros(n_features, dtype=bool)
        if self.categorical is None or isinstance(self.categorical, str):
            return declared
        chosen = np.asarray(self.categorical)
        if named := _names(self.categorical):
            raise ValueError(
                f"categorical lists column names, {named}, but X is no DataFrame. Pass X as a "
                "DataFrame, or feature numbers."
            )
        if chosen.dtype == bool and chosen.shape != (n_features,):
            raise ValueError(
                f"categorical has {chosen.size} bools, but X has {n_features} features."
            )
        if chosen.size and (
            chosen.dtype.kind not in "bi"
            or (chosen.dtype.kind == "i" and not ((chosen >= 0) & (chosen < n_features)).all())
        ):
            raise ValueError(
                f"categorical must hold feature numbers from 0 to {n_features - 1}, names of "
                f"columns, or a bool for each feature; got {self.categorical!r}."
            )
        declared[chosen if chosen.size else []] = True
        return declared

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
        self.value_log_prob_ = terms.value_log_prob(design)
        if terms.usable is not None:  # a numeric feature without values in a class is ignored
            terms = terms.where(np.tile(terms.usable.all(axis=0), (len(classes), 1)), design)
        self._design = design
        self._scorer = Scorer.of(terms, self.class_log_prior_, design)
        return self


def read_numbers(estimator: RandomSubspaceNB, X: MatrixLike, encoder: FrameEncoder | None) -> Any:
    """Return rows as a float array or CSR matrix; errors contain the estimator's name."""
    if encoder is not None:
        X = encoder.encode(X).values
    if is_plain(X):
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


def _names(categorical: Any) -> list[Any]:
    """Return the column names in the parameter `categorical`."""
    if categorical is None or isinstance(categorical, str):
        return []
    return [name for name in np.asarray(categorical).tolist() if isinstance(name, str)]
