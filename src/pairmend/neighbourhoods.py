"""Neighbourhoods: how much each validation row counts around a point.

A neighbourhood is a small estimator given to a corrected classifier, which clones it and
fits it on its validation rows. Anything with the same two methods, ``fit(X, y)`` and
``weights(X)``, can stand in its place; make it a scikit-learn estimator to tune its parameters.
If its ``fit`` has a parameter ``sample_weight``, it gets the weights of the validation rows.
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

from pairmend._utils.cells import densify
from pairmend._utils.fit_params import check_sample_weight
from pairmend._utils.frames import EncodedFrame, is_frame
from pairmend._utils.sklearn_private import (
    CachedParameterNames,
    HasMethods,
    Interval,
    StrOptions,
    count_rows,
    fit_context,
)
from pairmend._utils.typing import FloatArray, Matrix, MatrixLike, TargetLike
from pairmend._utils.validation import LARGEST, is_moderate, is_plain
from pairmend._utils.weights import all_equal
from pairmend.frames import FrameEncoder
from pairmend.kernels.neighbourhood import (
    adaptive_weights,
    gaussian_weights,
)

_ADVICE = (
    "Distances between rows need numbers. Give the neighbourhood a scikit-learn transformer "
    "that makes them, neighbourhood={name}(transform=...)."
)


class _DistanceNeighbourhood(CachedParameterNames, BaseEstimator):
    """What neighbourhoods by distance share: rows become points in a scaled space."""

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
        """Note the validation rows.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Validation rows; NaN, where the transformer leaves any, stands at the mean.
        y : array-like, default=None
            Their labels, handed to the transformer.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights, by which means and standard deviations of features are weighted. The
            transformer is fitted without them.

        Returns
        -------
        self
        """
        self._check_rows(count_rows(X))
        self.transform_ = None if self.transform is None else clone(self.transform).fit(X, y)
        rows = X if self.transform_ is None else self.transform_.transform(X)
        self._encoder = _frame_encoder(rows)
        numbers, categories = self._split(rows)
        self._sparse = sparse.issparse(numbers)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.mean_, self.scale_ = _mean_and_divisor(numbers, self.scale, weights)
        self.points_ = self._scaled(numbers, categories)
        return self

    def _check_rows(self, n_rows: int) -> None:
        """Refuse a number of validation rows that the parameters do not suit."""

    def _place(self, X: MatrixLike) -> Matrix:
        """Return the points where rows lie."""
        rows = X if self.transform_ is None else self.transform_.transform(X)
        numbers, categories = self._split(rows)
        if numbers.shape[1] != len(self.mean_):
            raise ValueError(
                f"X has {numbers.shape[1]} features, but {type(self).__name__} was fitted with "
                f"{len(self.mean_)}."
            )
        if self._sparse != sparse.issparse(numbers):
            numbers = sparse.csr_array(numbers) if self._sparse else numbers.toarray()
        with np.errstate(over="ignore"):
            points = self._scaled(numbers, categories)
        values = points.data if self._sparse else points
        if not is_moderate(values):
            # Products with validation points would overflow; so far away only the direction counts.
            np.clip(values, -LARGEST["float64"], LARGEST["float64"], out=values)
        return points

    def _scaled(self, numbers: Any, categories: FloatArray) -> Matrix:
        """Return the points with these numbers and these coordinates of categories."""
        counts = self.scale_ > np.finfo(self.scale_.dtype).tiny
        factor = np.where(counts, 1 / np.where(counts, self.scale_, 1), 0)
        if sparse.issparse(numbers):
            filled = numbers.copy()
            missing = np.isnan(filled.data)
            filled.data[missing] = self.mean_[filled.indices[missing]]
            return (filled @ sparse.diags_array(factor)).tocsr()
        # The shift cancels in distances; taking it out keeps digits where values are large.
        centred = np.subtract(numbers, self.mean_, dtype=numbers.dtype)
        centred *= factor
        missing = np.isnan(centred)
        if missing.any():
            centred[missing] = 0
        return np.hstack([centred, categories]) if categories.shape[1] else centred

    def _split(self, rows: MatrixLike) -> tuple[Any, FloatArray]:
        """Return the numeric features, and coordinates that tell categories apart."""
        advice = _ADVICE.format(name=type(self).__name__)
        if self._encoder is None:
            numbers = densify(_check_numbers(rows, advice))
            return numbers, np.empty((numbers.shape[0], 0))
        encoded = self._encoder.encode(rows)
        return encoded.numbers, encoded.coordinates()


class GaussianNeighbourhood(_DistanceNeighbourhood):
    """Weights that fall with the distance like a Gaussian, exp(-beta * distance^2).

    The paper's neighbourhood: every validation row counts, the nearer the more. The distance
    is Euclidean over features scaled to comparable ranges. Frames are read by a
    :class:`~pairmend.frames.FrameEncoder`: categories count as equal or not, texts by the words
    they share; a missing number is at its feature's mean.

    Parameters
    ----------
    beta : float, default=1.0
        How fast the weights fall. The larger, the more local is the correction; it is well
        worth tuning.
    scale : {"range", "standard"} or None, default="range"
        Divide each feature by its range over the validation rows, by its standard deviation
        over them, or not at all. Scaled, a feature that is constant there does not count.
    transform : transformer, default=None
        Makes numbers of rows: any scikit-learn transformer, fitted with the classifier on
        the validation rows. For texts or images, or to read frames in another way.

    Attributes
    ----------
    points_ : ndarray or CSR of shape (n_samples, n_coordinates)
        Where the validation rows lie.
    mean_, scale_ : ndarray
        Mean and divisor of each numeric feature.
    transform_ : transformer or None
        The fitted transformer.

    Examples
    --------
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
        """Weigh the validation rows around each row of X.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows in question.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
            Relative to the nearest validation row, which weighs 1.
        """
        check_is_fitted(self)
        return gaussian_weights(self._place(X), self.points_, float(self.beta))


class AdaptiveNeighbourhood(_DistanceNeighbourhood):
    """A Gaussian neighbourhood as wide as the distance of the k-th neighbour.

    Beta is set for each point so that its k-th nearest validation row weighs 0.3: wide where
    rows are sparse, narrow where they crowd. Choose it where the density of rows varies, or
    where no single beta suits.

    Parameters
    ----------
    k : int, default=10
        Number of the neighbour whose distance sets the width; at most the number of
        validation rows. Rows are counted whatever their sample weights.
    scale : {"range", "standard"} or None, default="range"
        Divide each feature by its range over the validation rows, by its standard deviation
        over them, or not at all. Scaled, a feature that is constant there does not count.
    transform : transformer, default=None
        Makes numbers of rows: any scikit-learn transformer, fitted with the classifier on
        the validation rows. For texts or images, or to read frames in another way.

    Attributes
    ----------
    points_ : ndarray or CSR of shape (n_samples, n_coordinates)
        Where the validation rows lie.
    mean_, scale_ : ndarray
        Mean and divisor of each numeric feature.
    transform_ : transformer or None
        The fitted transformer.

    Examples
    --------
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
                f"AdaptiveNeighbourhood(k={self.k}) needs at least as many validation rows, "
                f"got {n_rows}. Choose a smaller k."
            )

    def weights(self, X: MatrixLike) -> FloatArray:
        """Weigh the validation rows around each row of X.

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows in question.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
        """
        check_is_fitted(self)
        return adaptive_weights(self._place(X), self.points_, self.k)


class GlobalNeighbourhood(BaseEstimator):
    """Every validation row counts the same around every point.

    The correction is then the same everywhere: one confusion matrix a pair. Choose it where
    validation rows are too few for local ones, or where there is no sensible distance.

    Attributes
    ----------
    n_points_ : int
        Number of validation rows.

    Examples
    --------
    >>> GlobalNeighbourhood().fit([[0.0], [1.0]]).weights([[9.0]]).tolist()
    [[1.0, 1.0]]
    """

    def fit(
        self, X: MatrixLike, y: TargetLike = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Note the number of validation rows.

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
        """
        self.n_points_ = count_rows(X)
        return self

    def weights(self, X: MatrixLike) -> FloatArray:
        """Weigh the validation rows around each row of X.

        Parameters
        ----------
        X : array-like of n_samples rows
            Rows in question.

        Returns
        -------
        ndarray of shape (n_samples, n_validation_rows)
            All ones.
        """
        check_is_fitted(self)
        return np.ones((self.n_points_, count_rows(X))).T


def _frame_encoder(rows: MatrixLike) -> FrameEncoder | None:
    """Return what reads the columns of a frame; None if rows are an array."""
    if isinstance(rows, EncodedFrame):
        encoder: FrameEncoder = rows.encoder
        return encoder
    return FrameEncoder().fit(rows) if is_frame(rows) else None


def _check_numbers(rows: MatrixLike, advice: str) -> Any:
    if is_plain(rows):
        return rows
    try:
        return check_array(
            rows,
            accept_sparse="csr",
            dtype=np.float64,  # single precision would lose far neighbours
            ensure_all_finite="allow-nan",
            input_name="X",
        )
    except ValueError as error:
        if not _is_numeric(rows):
            raise ValueError(f"X does not hold rows of numbers. {advice}") from error
        raise


def _is_numeric(rows: MatrixLike) -> bool:
    return getattr(getattr(rows, "dtype", None), "kind", "O") in "iufbc"


def _mean_and_divisor(
    numbers: Any, scale: str | None, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return each feature's mean over its known values, and what to divide it by.

    Weights do not change a range: it is that of all rows whose weight is above 0. A divisor of 0
    marks a feature that does not count, because it is constant.
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
        known: Any = True  # much faster than an array that says so
        count: Any = len(numbers)
        if np.isnan(numbers).any():
            known = ~np.isnan(numbers)
            count = np.maximum(known.sum(axis=0), 1)
        if weights is not None:
            mass = np.repeat(weights[:, np.newaxis], numbers.shape[1], axis=1)
            count = np.sum(mass, axis=0, where=known)
            count = np.where(count > 0, count, 1)
        mean = np.sum(numbers if weights is None else mass * numbers, axis=0, where=known) / count
        low = np.min(numbers, axis=0, where=known, initial=np.inf)
        high = np.max(numbers, axis=0, where=known, initial=-np.inf)
        variance = 0
        if scale == "standard":
            squares = (numbers - mean) ** 2
            variance = (
                np.sum(squares if weights is None else mass * squares, axis=0, where=known) / count
            )
    spread = np.where(high > low, high - low, 0)  # also 0 where no value is known
    if scale is None:
        divisor = np.ones_like(spread)
    elif scale == "range":
        divisor = spread
    else:
        divisor = np.where(spread > 0, np.sqrt(variance), 0)
    return np.nan_to_num(mean), divisor
