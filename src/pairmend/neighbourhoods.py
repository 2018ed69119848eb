"""Neighbourhood classes: weights of validation rows around a row.

A neighbourhood is an estimator that a corrected classifier clones and fits on its validation set.
Any object with the methods ``fit(X, y)`` and ``weights(X)`` can be used instead; as a scikit-learn
estimator its parameters can be tuned. If its ``fit`` has a parameter ``sample_weight``, it gets the
weights of the validation rows.
"""

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted

from pairmend._utils import arrays
from pairmend._utils.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    count_rows,
    fit_context,
)
from pairmend._utils.training import all_equal, check_sample_weight
from pairmend._utils.typing import FloatArray, Matrix, MatrixLike, TargetLike
from pairmend.frames import FrameEncoder
from pairmend.kernels.local_sums import adaptive_weights, gaussian_weights


class _DistanceNeighbourhood(BaseEstimator, ABC):
    """Base class of neighbourhoods by distance, which map rows to points in a scaled space."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [StrOptions({"range", "standard"}), None],
        "transform": [HasMethods(["fit", "transform"]), None],
    }
    scale: str | None
    transform: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: MatrixLike, y: TargetLike = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the scaling, and store the validation rows as points.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Validation rows. NaN is replaced by the mean of its feature, after the transformer.
        y : array-like, default=None
            Their labels, passed to the transformer.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights, for the means and standard deviations of features. The transformer is
            fitted without them.

        Returns
        -------
        self
            Fitted neighbourhood.
        """
        self._check_rows(count_rows(X))
        self.transform_ = None if self.transform is None else clone(self.transform).fit(X, y)
        rows = X if self.transform_ is None else self.transform_.transform(X)
        self._encoder = getattr(rows, "encoder", None)  # of an EncodedFrame
        if arrays.is_frame(rows):
            self._encoder = FrameEncoder().fit(rows)
        numbers, categories = self._split(rows)
        if self._encoder is None and _functions(numbers) is np:
            # A transformer decides on the form of its output.
            numbers = (
                arrays.by_density(numbers) if self.transform is None else arrays.densify(numbers)
            )
        self._sparse = sparse.issparse(numbers)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.mean_, self.scale_ = _mean_and_divisor(numbers, self.scale, weights)
        self.points_ = self._scaled(numbers, categories)
        return self

    def _check_rows(self, n_rows: int) -> None:
        """Raise an error if there are too few validation rows for the parameters."""

    def weights(self, X: MatrixLike) -> Matrix:
        """Return the weights of the validation rows around each row of X.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
            Weights of at most 1.
        """
        points = self.to_points(X)
        return self._weights(points, _functions(points))

    @abstractmethod
    def _weights(self, points: Matrix, xp: Any) -> FloatArray:
        """Return the weights of the validation rows around points."""

    def to_points(self, X: MatrixLike) -> Matrix:
        """Return rows as points in the scaled space.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or CSR of shape (n_samples, n_coordinates)
            Points, comparable with ``points_``.
        """
        check_is_fitted(self)
        rows = X if self.transform_ is None else self.transform_.transform(X)
        numbers, categories = self._split(rows)
        if numbers.shape[1] != self.mean_.shape[0]:
            raise ValueError(
                f"X has {numbers.shape[1]} features, but {type(self).__name__} was fitted with "
                f"{self.mean_.shape[0]}."
            )
        if self._sparse != sparse.issparse(numbers):
            numbers = arrays.to_csr(numbers) if self._sparse else numbers.toarray()
        with np.errstate(over="ignore"):
            points = self._scaled(numbers, categories)
        # Products with validation points would overflow; at this distance only the direction
        # matters.
        values = points.data if self._sparse else points
        limit = arrays.LARGEST["float32" if "float32" in str(values.dtype) else "float64"]
        if (xp := _functions(values)) is not np:
            return xp.clip(values, min=-limit, max=limit)
        np.clip(values, -limit, limit, out=values)
        return points

    def _scaled(self, numbers: Any, categories: FloatArray | None) -> Matrix:
        """Return points from numeric features and the coordinates of categories."""
        xp, factor = _functions(numbers), self._factor()
        if sparse.issparse(numbers):
            filled = numbers.copy()
            missing = np.isnan(filled.data)
            filled.data[missing] = self.mean_[filled.indices[missing]]
            return (filled @ sparse.diags_array(factor)).tocsr()
        # Distances do not depend on the mean; without it, large values keep more digits.
        centred = numbers - self.mean_
        centred *= factor
        missing = xp.isnan(centred)
        if bool(xp.any(missing)):
            centred = xp.where(missing, 0.0, centred)
        return centred if categories is None else np.hstack([centred, categories])

    def _factor(self) -> FloatArray:
        """Return the number by which each feature is multiplied, 0 for one that is ignored."""
        xp = _functions(self.scale_)
        is_used = self.scale_ > float(xp.finfo(self.scale_.dtype).smallest_normal)
        return xp.where(is_used, 1 / xp.where(is_used, self.scale_, 1.0), 0.0)

    def _affine_map(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the mean and the factor by which finite dense rows become points.

        A point is the row less the mean, times the factor. None if rows are encoded in another way:
        by a transformer, from a frame, or as sparse rows.
        """
        if self.transform_ is not None or self._encoder is not None or self._sparse:
            return None
        return self.mean_, self._factor()

    def _split(self, rows: MatrixLike) -> tuple[Any, FloatArray | None]:
        """Return the numeric features, and coordinates of the categories of a frame."""
        if self._encoder is not None:
            encoded = self._encoder.encode(rows)
            return encoded.numbers, encoded.coordinates()
        if (namespace := arrays.foreign_namespace(rows)) is not None:
            return arrays.check_device_rows(rows, namespace), None
        if arrays.is_plain(rows):
            return rows, None
        try:
            # In single precision the weights of far neighbours would be 0.
            options = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "input_name": "X"}
            return check_array(rows, accept_sparse="csr", **options), None
        except ValueError as error:
            error.add_note(
                "Distances between rows need numbers. If X is not numeric, pass a transformer that "
                f"returns numbers, neighbourhood={type(self).__name__}(transform=...)."
            )
            raise


class GaussianNeighbourhood(_DistanceNeighbourhood):
    """Gaussian weights, exp(-beta * distance^2).

    The neighbourhood of the paper. Weights are relative to that of the nearest validation row,
    which is 1. The distance is Euclidean over scaled features. Frames are
    encoded by a :class:`~pairmend.frames.FrameEncoder`: categories are equal or not, texts are
    compared by the words they share, and a missing number is replaced by the mean of its feature.

    Parameters
    ----------
    beta : float, default=1.0
        Inverse squared bandwidth. With a larger beta the correction is more local. It should be
        tuned.
    scale : {"range", "standard"} or None, default="range"
        Divide each feature by its range over the validation rows, by its standard deviation
        over them, or not at all. If scaled, features that are constant there are ignored.
    transform : transformer, default=None
        Scikit-learn transformer that turns rows into numbers, fitted on the validation rows. For
        texts or images, or to encode frames in another way.

    Attributes
    ----------
    points_ : ndarray or CSR of shape (n_samples, n_coordinates)
        The validation rows as points.
    mean_, scale_ : ndarray
        Mean and divisor of each numeric feature.
    transform_ : transformer or None
        The fitted transformer.

    Examples
    --------
    >>> from pairmend import GaussianNeighbourhood
    >>> X = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]
    >>> GaussianNeighbourhood(beta=4.0).fit(X).weights([[0.0, 7.0]]).round(3).tolist()
    [[1.0, 0.368, 0.018]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "beta": [Interval(Real, 0, None, closed="neither")],
        **_DistanceNeighbourhood._parameter_constraints,
    }

    def __init__(self, beta: float = 1.0, *, scale: str | None = "range", transform: Any = None):
        self.beta = beta
        self.scale = scale
        self.transform = transform

    def _weights(self, points: Matrix, xp: Any) -> FloatArray:
        return gaussian_weights(points, self.points_, float(self.beta), xp)


class AdaptiveNeighbourhood(_DistanceNeighbourhood):
    """Gaussian weights with a bandwidth set by the distance of the k-th neighbour.

    Beta is set for each point so that its k-th nearest validation row has the weight 0.3: the
    bandwidth is large where rows are sparse and small where they are dense. It suits data whose
    density varies.

    Parameters
    ----------
    k : int, default=10
        The neighbour whose distance sets the bandwidth; at most the number of validation rows.
        Sample weights do not change which neighbour it is.
    scale : {"range", "standard"} or None, default="range"
        Divide each feature by its range over the validation rows, by its standard deviation
        over them, or not at all. If scaled, features that are constant there are ignored.
    transform : transformer, default=None
        Scikit-learn transformer that turns rows into numbers, fitted on the validation rows. For
        texts or images, or to encode frames in another way.

    Attributes
    ----------
    points_ : ndarray or CSR of shape (n_samples, n_coordinates)
        The validation rows as points.
    mean_, scale_ : ndarray
        Mean and divisor of each numeric feature.
    transform_ : transformer or None
        The fitted transformer.

    Examples
    --------
    >>> from pairmend import AdaptiveNeighbourhood
    >>> X = [[0.0], [1.0], [2.0]]
    >>> AdaptiveNeighbourhood(k=2).fit(X).weights([[0.0]]).round(4).tolist()
    [[1.0, 0.3, 0.0081]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        **_DistanceNeighbourhood._parameter_constraints,
    }

    def __init__(self, k: int = 10, *, scale: str | None = "range", transform: Any = None):
        self.k = k
        self.scale = scale
        self.transform = transform

    def _check_rows(self, n_rows: int) -> None:
        if self.k > n_rows:
            raise ValueError(
                f"AdaptiveNeighbourhood(k={self.k}) needs at least {self.k} validation rows, "
                f"got {n_rows}. Choose a smaller k."
            )

    def _weights(self, points: Matrix, xp: Any) -> FloatArray:
        return adaptive_weights(points, self.points_, self.k, xp)


class GlobalNeighbourhood(BaseEstimator):
    """The same weight for all validation rows around every point.

    The correction then uses one global confusion matrix per pair. It suits data with too few
    validation rows for local confusion matrices, or without a meaningful distance.

    Attributes
    ----------
    n_points_ : int
        Number of validation rows.

    Examples
    --------
    >>> from pairmend import GlobalNeighbourhood
    >>> GlobalNeighbourhood().fit([[0.0], [1.0]]).weights([[9.0]]).tolist()
    [[1.0, 1.0]]
    """

    def fit(
        self, X: MatrixLike, y: TargetLike = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Store the number of validation rows.

        Parameters
        ----------
        X : array-like of n_samples rows
            Validation rows.
        y : array-like, default=None
            Not used.
        sample_weight : array-like, default=None
            Not used.

        Returns
        -------
        self
            Fitted neighbourhood.
        """
        self.n_points_ = count_rows(X)
        return self

    def weights(self, X: MatrixLike) -> FloatArray:
        """Return the weights of the validation rows around each row of X.

        Parameters
        ----------
        X : array-like of n_samples rows
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
            All ones.
        """
        check_is_fitted(self)
        return arrays.like_rows(np.ones((self.n_points_, count_rows(X))).T, X)


def checked_weights(neighbourhood: Any, X: MatrixLike, n_rows: int, xp: Any = np) -> FloatArray:
    """Return a neighbourhood's weights of shape (rows of X, n_rows) after checking them."""
    weights = neighbourhood.weights(X)
    weights = weights.toarray() if sparse.issparse(weights) else xp.asarray(weights)
    shape = (count_rows(X), n_rows)
    if weights.shape != shape or not (xp.min(weights) >= 0 and xp.max(weights) < np.inf):
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights of shape {tuple(weights.shape)}; "
            f"expected {shape}, all of them finite and not negative. Are there features with "
            "values too large to be squared?"
        )
    return weights.astype(np.float64, copy=False) if xp is np else weights


def _functions(points: Matrix) -> Any:
    """Return the functions of the array API for points; numpy itself for those on the CPU."""
    namespace = arrays.foreign_namespace(points)
    return np if namespace is None else namespace.xp


def _mean_and_divisor(
    numbers: Any, scale: str | None, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return each feature's mean over its values that are not NaN, and its divisor.

    The range is that of all rows of positive weight. The divisor of a constant feature is 0.
    """
    if weights is not None and not (weights > 0).all():
        present = np.flatnonzero(weights > 0)
        numbers, weights = arrays.take_rows(numbers, present), weights[present]
    if weights is not None and all_equal(weights):
        weights = None
    xp, variance = _functions(numbers), None
    if sparse.issparse(numbers):
        mean, variance = mean_variance_axis(numbers, axis=0, weights=weights)
        mean = np.nan_to_num(mean)
        low, high = min_max_axis(numbers, axis=0, ignore_nan=True)
    else:
        if (namespace := arrays.foreign_namespace(numbers)) is not None:
            numbers = xp.astype(numbers, namespace.float64)
            weights = None if weights is None else namespace.asarray(weights)
        missing = xp.isnan(numbers)
        low, high = (xp.where(missing, end, numbers) for end in (np.inf, -np.inf))
        low, high = xp.min(low, axis=0), xp.max(high, axis=0)
        mass = xp.where(
            missing, 0.0, xp.ones_like(numbers) if weights is None else weights[:, None]
        )
        numbers = xp.where(missing, 0.0, numbers)
        total = xp.sum(mass, axis=0)
        total = xp.where(total > 0, total, 1.0)
        mean = xp.sum(numbers * mass, axis=0) / total
        if scale == "standard":
            variance = xp.sum((numbers - mean) ** 2 * mass, axis=0) / total
    spread = xp.where(high > low, high - low, 0.0)  # also 0 where all values are NaN
    if scale is None:
        return mean, xp.ones_like(spread)
    return mean, spread if scale == "range" else xp.where(spread > 0, xp.sqrt(variance), 0.0)
