"""Neighbourhood classes: weights of validation rows around a row.

A neighbourhood is an estimator that a corrected classifier clones and fits on its validation set.
Any object with the methods ``fit(X, y)`` and ``weights(X)`` can be used instead; as a scikit-learn
estimator its parameters can be tuned. If its ``fit`` has a parameter ``sample_weight``, it gets the
weights of the validation rows.
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.arrays import (
    LARGEST,
    Array,
    EncodedFrame,
    Namespace,
    by_density,
    check_device_rows,
    densify,
    foreign_namespace,
    is_frame,
    is_moderate,
    is_plain,
    to_csr,
)
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
from pairmend.kernels.neighbourhood import (
    adaptive_weights,
    gaussian_weights,
)

_ADVICE = (
    "Distances between rows need numbers. Pass a scikit-learn transformer that returns numbers, "
    "neighbourhood={name}(transform=...)."
)


class _DistanceNeighbourhood(BaseEstimator):
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
        if (namespace := foreign_namespace(rows)) is not None:
            rows, weights = check_device_rows(rows, namespace), None
            if sample_weight is not None:
                weights = check_sample_weight(sample_weight, rows, ensure_non_negative=True)
            self._encoder, self._sparse = None, False
            self.mean_, self.scale_ = _mean_and_divisor_on_device(
                rows, self.scale, weights, namespace
            )
            self.points_ = self._scaled_on_device(rows, namespace)
            return self
        self._encoder = _frame_encoder(rows)
        numbers, categories = self._split(rows)
        if self._encoder is None:
            # A transformer decides on the form of its output.
            numbers = by_density(numbers) if self.transform is None else densify(numbers)
        self._sparse = sparse.issparse(numbers)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.mean_, self.scale_ = _mean_and_divisor(numbers, self.scale, weights)
        self.points_ = self._scaled(numbers, categories)
        return self

    def _check_rows(self, n_rows: int) -> None:
        """Raise an error if there are too few validation rows for the parameters."""

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
        if (namespace := foreign_namespace(rows)) is not None:
            rows = check_device_rows(rows, namespace)
            self._check_width(rows.shape[1])
            return self._scaled_on_device(rows, namespace)
        numbers, categories = self._split(rows)
        self._check_width(numbers.shape[1])
        if self._sparse != sparse.issparse(numbers):
            numbers = to_csr(numbers) if self._sparse else numbers.toarray()
        with np.errstate(over="ignore"):
            points = self._scaled(numbers, categories)
        values = points.data if self._sparse else points
        if not is_moderate(values):
            # Products with validation points would overflow; at this distance only the direction
            # matters.
            np.clip(values, -LARGEST["float64"], LARGEST["float64"], out=values)
        return points

    def _check_width(self, n_features: int) -> None:
        if n_features != self.mean_.shape[0]:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} was fitted with "
                f"{self.mean_.shape[0]}."
            )

    def _scaled(self, numbers: Any, categories: FloatArray) -> Matrix:
        """Return points from numeric features and the coordinates of categories."""
        factor = self._factor()
        if sparse.issparse(numbers):
            filled = numbers.copy()
            missing = np.isnan(filled.data)
            filled.data[missing] = self.mean_[filled.indices[missing]]
            return (filled @ sparse.diags_array(factor)).tocsr()
        # Distances do not depend on the mean; without it, large values keep more digits.
        centred = np.subtract(numbers, self.mean_, dtype=numbers.dtype)
        centred *= factor
        missing = np.isnan(centred)
        if missing.any():
            centred[missing] = 0
        return np.hstack([centred, categories]) if categories.shape[1] else centred

    def _scaled_on_device(self, rows: Array, namespace: Namespace) -> Array:
        """Return dense rows without missing values as points in double precision."""
        xp, dtype = namespace.xp, self.mean_.dtype
        points = (xp.astype(rows, dtype) - self.mean_) * self._factor(xp)
        limit = LARGEST["float64" if dtype == xp.float64 else "float32"]
        return xp.clip(points, min=-limit, max=limit)

    def _factor(self, xp: Any = np) -> FloatArray:
        """Return the number by which each feature is multiplied, 0 for one that is ignored."""
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

    def _split(self, rows: MatrixLike) -> tuple[Any, FloatArray]:
        """Return the numeric features, and coordinates of the categories."""
        advice = _ADVICE.format(name=type(self).__name__)
        if self._encoder is None:
            numbers = _check_numbers(rows, advice)
            return numbers, np.empty((numbers.shape[0], 0))
        encoded = self._encoder.encode(rows)
        return encoded.numbers, encoded.coordinates()


class GaussianNeighbourhood(_DistanceNeighbourhood):
    """Gaussian weights, exp(-beta * distance^2).

    The neighbourhood of the paper. The distance is Euclidean over scaled features. Frames are
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

    def __init__(
        self,
        beta: float = 1.0,
        *,
        scale: str | None = "range",
        transform: Any = None,
    ):
        self.beta = beta
        self.scale = scale
        self.transform = transform

    def weights(self, X: MatrixLike) -> Matrix:
        """Return the weights of the validation rows around each row of X.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
            Weights relative to that of the nearest validation row, which is 1.
        """
        check_is_fitted(self)
        points = self.to_points(X)
        return gaussian_weights(points, self.points_, float(self.beta), _functions(points))


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

    def weights(self, X: MatrixLike) -> FloatArray:
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
        check_is_fitted(self)
        points = self.to_points(X)
        return adaptive_weights(points, self.points_, self.k, _functions(points))


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
        shape = (self.n_points_, count_rows(X))
        if (namespace := foreign_namespace(X)) is not None:
            xp = namespace.xp
            return xp.ones(shape, dtype=namespace.float64, device=namespace.device).T
        return np.ones(shape).T


def checked_weights(neighbourhood: Any, X: MatrixLike, n_rows: int, xp: Any = np) -> FloatArray:
    """Return a neighbourhood's weights of shape (rows of X, n_rows) after checking them."""
    weights = neighbourhood.weights(X)
    weights = weights.toarray() if sparse.issparse(weights) else xp.asarray(weights)
    shape = (count_rows(X), n_rows)
    if weights.shape != shape:
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights of shape {tuple(weights.shape)}; "
            f"expected {shape}, a weight for each row and validation row."
        )
    if xp is np:
        weights = weights.astype(np.float64, copy=False)
    if not (xp.min(weights) >= 0 and xp.max(weights) < np.inf):
        raise ValueError(
            f"{type(neighbourhood).__name__} gave weights that are negative or not "
            "finite. Are there features with values too large to be squared?"
        )
    return weights


def _functions(points: Matrix) -> Any:
    """Return the functions of the array API for points; numpy itself for those on the CPU."""
    namespace = foreign_namespace(points)
    return np if namespace is None else namespace.xp


def _mean_and_divisor_on_device(
    rows: Array, scale: str | None, weights: FloatArray | None, namespace: Namespace
) -> tuple[Array, Array]:
    """Return what :func:`_mean_and_divisor` returns, for rows without missing values."""
    xp = namespace.xp
    mass = np.ones(rows.shape[0]) if weights is None else weights
    rows = xp.take(rows, namespace.asarray(np.flatnonzero(mass > 0)), axis=0)
    rows, mass = xp.astype(rows, namespace.float64), mass[mass > 0]
    masses, total = namespace.asarray(mass)[:, None], float(mass.sum())
    mean = xp.sum(rows * masses, axis=0) / total
    spread = xp.max(rows, axis=0) - xp.min(rows, axis=0)
    if scale is None:
        return mean, xp.ones_like(spread)
    if scale == "range":
        return mean, spread
    deviation = xp.sqrt(xp.sum((rows - mean) ** 2 * masses, axis=0) / total)
    return mean, xp.where(spread > 0, deviation, 0.0)


def _frame_encoder(rows: MatrixLike) -> FrameEncoder | None:
    """Return the encoder of a frame; None if rows are an array."""
    if isinstance(rows, EncodedFrame):
        encoder: FrameEncoder = rows.encoder
        return encoder
    return FrameEncoder().fit(rows) if is_frame(rows) else None


def _check_numbers(rows: MatrixLike, advice: str) -> Any:
    """Return rows as a numeric matrix, or raise an error with the advice."""
    if is_plain(rows):
        return rows
    try:
        return check_array(
            rows,
            accept_sparse="csr",
            dtype=np.float64,  # in single precision the weights of far neighbours would be 0
            ensure_all_finite="allow-nan",
            input_name="X",
        )
    except ValueError as error:
        if not _is_numeric(rows):
            raise ValueError(f"X is not numeric. {advice}") from error
        raise


def _is_numeric(rows: MatrixLike) -> bool:
    return getattr(getattr(rows, "dtype", None), "kind", "O") in "iufbc"


def _mean_and_divisor(
    numbers: Any, scale: str | None, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return each feature's mean over its values that are not NaN, and its divisor.

    The range is that of all rows of positive weight. The divisor of a constant feature is 0.
    """
    if weights is not None:
        present = weights > 0
        if not present.all():
            numbers, weights = numbers[present], weights[present]
        if all_equal(weights):
            weights = None
    if sparse.issparse(numbers):
        mean, variance = mean_variance_axis(numbers, axis=0, weights=weights)
        low, high = min_max_axis(numbers, axis=0, ignore_nan=True)
    else:
        valid: Any = True  # much faster than an array of True
        count: Any = len(numbers)
        if np.isnan(numbers).any():
            valid = ~np.isnan(numbers)
            count = np.maximum(valid.sum(axis=0), 1)
        if weights is not None:
            mass = np.repeat(weights[:, np.newaxis], numbers.shape[1], axis=1)
            count = np.sum(mass, axis=0, where=valid)
            count = np.where(count > 0, count, 1)
        mean = np.sum(numbers if weights is None else mass * numbers, axis=0, where=valid) / count
        low = np.min(numbers, axis=0, where=valid, initial=np.inf)
        high = np.max(numbers, axis=0, where=valid, initial=-np.inf)
        variance = 0
        if scale == "standard":
            squares = (numbers - mean) ** 2
            variance = (
                np.sum(squares if weights is None else mass * squares, axis=0, where=valid) / count
            )
    spread = np.where(high > low, high - low, 0)  # also 0 where all values are NaN
    if scale is None:
        divisor = np.ones_like(spread)
    elif scale == "range":
        divisor = spread
    else:
        divisor = np.where(spread > 0, np.sqrt(variance), 0)
    return np.nan_to_num(mean), divisor
