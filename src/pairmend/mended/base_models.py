"""Base classifiers of all labels: kernel ridge regression, and weighted sums of several.

With the inverse G of the penalized kernel matrix and coefficients c = GY, the errors of the rows of
a test by the regression without them solve G[test, test] e = c[test].

An, S., Liu, W., Venkatesh, S. (2007). Fast cross-validation algorithms for least squares support
vector machine and kernel ridge regression. Pattern Recognition 40(8), 2154-2162.

Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods. Advances in Large Margin Classifiers, 61-74.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas, cholesky, eigh, lapack, solve
from scipy.optimize import nnls
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from pairmend._logistic_solver import LogisticRows
from pairmend._utils import arrays
from pairmend._utils.computing import batches, one_blas_thread, row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from pairmend.base_classifiers import DenseScaler, LabelsClassifier
from pairmend.kernels.local_sums import exponential, offsets_to, squared_norms
from pairmend.mended.rows import draw_rows, median_squared_distance

MAX_SAMPLES = 2500
"""Largest number of training rows, which bounds the time of a fit and of predictions."""
GAMMAS = (0.5, 1.0, 2.0, 4.0)
"""Grid of the inverse squared bandwidth times the median squared distance of rows."""
ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Grid of the ridge penalty."""
MAX_TRAINED = 700
"""Largest number of training rows in a trial of these parameters."""
LEAST_PENALTY = 1e-6
"""Smallest penalty of a row, however large its weight: the kernel matrix stays invertible."""
ROUNDING = 8
"""Rounding error of the squared distance of close rows, in last places of their squared norms."""
MARGIN = 0.005
"""Distance from 0 and 1 to which probabilities are scaled: forests have many that are 0."""
MAX_CELLS = 2**19
"""Largest number of probabilities on which a calibration is fitted."""
RIDGE = 1e-6
"""Size of the penalty of stacking weights, if predictions are equal, relative to them."""


class MultiLabelKernelRidge(LabelsClassifier):
    """Kernel ridge regression of label indicators.

    It minimizes the squared error of probabilities, for all labels with one factorization. It
    differs from :class:`sklearn.kernel_ridge.KernelRidge` in the out-of-fold predictions, which
    need no further factorization of that size, the number of training rows, which is bounded, and
    the kernel, a Gaussian plus 1 for the intercept.

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse squared bandwidth times the median squared distance of rows.
    alpha : float, default=1.0
        Ridge penalty.
    max_samples : int, default=2500
        Largest number of training rows.
    random_state : int, RandomState or None, default=None
        Draws training rows, if there are more.

    Attributes
    ----------
    rows_ : ndarray or CSR of shape (n_rows, n_columns)
        Encoded training rows.
    coef_ : ndarray of shape (n_rows, n_labels)
        Coefficients of their kernels.
    beta_ : float
        Inverse squared bandwidth.
    scaler_ : DenseScaler
        Encoder of rows.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.
    """

    def __init__(
        self,
        gamma: float = 1.0,
        alpha: float = 1.0,
        *,
        max_samples: int = MAX_SAMPLES,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.gamma = gamma
        self.alpha = alpha
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: Any, sample_weight: FloatArray | None = None) -> Self:
        """Fit on label indicators of shape (n_samples, n_labels)."""
        self.fit_out_of_fold(X, y, [], sample_weight)
        return self

    @one_blas_thread()
    def fit_out_of_fold(
        self,
        X: MatrixLike,
        y: Any,
        tests: Sequence[IntArray],
        sample_weight: FloatArray | None = None,
        *,
        queries: MatrixLike | None = None,
    ) -> FloatArray:
        """Fit on all rows, and return the probabilities of the rows of each test without it.

        These are the predictions of a fit on the other rows, with the scaling and the bandwidth of
        all rows, which do not depend on labels. Rows on which nothing is trained, and those of no
        test, have the probabilities of the fit on all rows. `queries` may be the same rows on a
        device, where most of the probabilities are then computed.
        """
        Y = y.toarray() if sparse.issparse(y) else np.asarray(y)
        weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, float)
        self.scaler_ = DenseScaler().fit(X, sample_weight=sample_weight)
        rows, own = self.fit_drawn(partial(arrays.take_rows, X), Y, weights, tests)
        arrays.set_feature_attributes(self, X)
        if not tests:
            return own
        proba = self.predict_proba(X if queries is None else queries)
        is_tested = ~np.isnan(own).any(axis=1)
        proba[rows[is_tested]] = own[is_tested]
        return proba

    def fit_drawn(
        self,
        take: Callable[[IntArray], MatrixLike],
        Y: BoolArray,
        weights: FloatArray,
        tests: Sequence[IntArray],
    ) -> tuple[IntArray, FloatArray]:
        """Fit on drawn rows, which `take` returns, with ``scaler_``.

        Returned are their numbers, and their probabilities by the fit without the test that each
        is in, NaN for those of no test.
        """
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(Y))
        weights = relative_weights(weights)
        rows, drawn = draw_rows(order, weights, self.max_samples, rng)
        rows = np.sort(rows)
        # The mean weight stays that of all rows, with which the penalty was chosen.
        weights = drawn[rows] * (weights.mean() / drawn[rows].mean())
        labels = Y[rows].astype(np.float64)
        self.rows_ = self._encode(take(rows))
        distance = median_squared_distance(self.rows_, rng, weights)
        self.beta_ = self.gamma / (distance or 1.0)  # if all rows are equal, so are their kernels
        penalties = np.maximum(self.alpha / weights, least_penalties(self.rows_, self.beta_))
        inverse = kernel(self.rows_, self.rows_, self.beta_)
        inverse[np.diag_indices_from(inverse)] += penalties
        # The lower half of the inverse.
        inverse = lapack.dpotri(
            cholesky(inverse, lower=True, overwrite_a=True), lower=True, overwrite_c=True
        )[0]
        self.coef_ = np.ascontiguousarray(blas.dsymm(1.0, inverse, labels, lower=True))
        self.classes_ = np.arange(Y.shape[1])
        found = np.full(labels.shape, np.nan)
        for test in tests:
            own = np.flatnonzero(np.isin(rows, test))
            if len(own):
                # Its rows are in ascending order, so that its lower half is that of the inverse.
                part = inverse[np.ix_(own, own)]
                errors = solve(part, self.coef_[own], lower=True, assume_a="pos")
                found[own] = np.clip(labels[own] - errors, 0, 1)
        return rows, found

    @one_blas_thread()
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_samples, n_labels), as an array of numpy.

        X may be an array of another library, on whose device they are computed.
        """
        n_rows, n_labels = count_rows(X), self.coef_.shape[1]
        proba = np.empty((n_rows, n_labels))
        row_size = 2 * len(self.coef_) + n_labels + self.rows_.shape[1]
        if (namespace := arrays.foreign_namespace(X)) is not None:
            trained = self.rows_.toarray() if sparse.issparse(self.rows_) else self.rows_
            trained, coef = map(namespace.asarray, (trained, self.coef_))
            for rows in batches(n_rows, max(1, int(namespace.max_bytes) // (8 * row_size))):
                points = self._encode_on_device(X[rows, ...], namespace)
                K = kernel(points, trained, self.beta_, namespace.xp)
                proba[rows] = namespace.numpy(K @ coef)
            return np.clip(proba, 0, 1, out=proba)
        for rows in row_chunks(n_rows, row_size):
            points = self._encode(arrays.take_rows(X, rows))
            proba[rows] = kernel(points, self.rows_, self.beta_) @ self.coef_
        return np.clip(proba, 0, 1, out=proba)

    def _encode_on_device(self, X: Any, namespace: arrays.Namespace) -> Any:
        """Return dense rows of another array library as `_encode` does."""
        scaler = self.scaler_.scaler_
        if scaler is not None:
            mean, scale = map(namespace.asarray, (scaler.mean_, scaler.scale_))
            return (X - mean) / scale
        norms = namespace.xp.sqrt(squared_norms(X, namespace.xp))[:, None]
        return X / namespace.xp.where(norms > 0, norms, 1.0 + 0.0 * norms)

    def _encode(self, X: MatrixLike) -> Any:
        """Return scaled rows in double precision; sparse ones, mostly counts, have the length 1."""
        scaled: Any = self.scaler_.transform(X)
        scaled = scaled.astype(np.float64, copy=False)
        return sparse.csr_array(normalize(scaled)) if sparse.issparse(scaled) else scaled


@one_blas_thread()
def choose_parameters(
    X: MatrixLike, Y: BoolArray, weights: FloatArray, rng: np.random.RandomState
) -> dict[str, float]:
    """Return the gamma and the alpha of least squared error.

    It is that of fits on the first MAX_TRAINED rows: their leave-one-out errors, and the errors of
    all other rows.
    """
    model = MultiLabelKernelRidge()
    model.scaler_ = DenseScaler().fit(X, sample_weight=weights)
    points = model._encode(X)
    weights = relative_weights(weights)
    distance = median_squared_distance(points, rng, weights) or 1.0
    losses = [
        losses_by_alpha(kernel(points, points[:MAX_TRAINED], gamma / distance), Y, weights)
        for gamma in GAMMAS
    ]
    best = np.unravel_index(np.argmin(losses), (len(GAMMAS), len(ALPHAS)))
    return {"gamma": GAMMAS[best[0]], "alpha": ALPHAS[best[1]]}


def losses_by_alpha(K: FloatArray, Y: BoolArray, weights: FloatArray) -> list[float]:
    """Return the weighted sums of squared errors by each alpha.

    `K`, (n_rows, n_trained), are the kernels of rows, of which the first are trained on; their
    errors are those without themselves.
    """
    n_trained = K.shape[1]
    roots = np.sqrt(weights)[:, np.newaxis]
    trained, others = roots[:n_trained], roots[n_trained:]
    values, vectors = eigh(trained * K[:n_trained] * trained.T)
    rotated, squares = vectors.T @ (trained * Y[:n_trained]), vectors**2
    new, targets = others * K[n_trained:] * trained.T, others * Y[n_trained:]
    losses = []
    for alpha in ALPHAS:
        inverse = 1 / (np.maximum(values, 0) + alpha)
        coefficients = vectors @ (inverse[:, np.newaxis] * rotated)
        left_out = coefficients / (squares @ inverse)[:, np.newaxis]
        errors = targets - new @ coefficients
        losses.append(float(np.vdot(left_out, left_out) + np.vdot(errors, errors)))
    return losses


def kernel(points: Matrix, rows: Matrix, beta: float, xp: Any = np) -> FloatArray:
    """Return 1 + exp(-beta * squared distance) of points and rows, (n_points, n_rows)."""
    exponents = offsets_to(rows, points, xp)
    exponents += squared_norms(rows, xp)
    exponents *= -beta
    if xp is not np:
        return 1 + xp.exp(xp.clip(exponents, max=0.0))
    values = exponential(np.minimum(exponents, 0, out=exponents))
    values += 1
    return values


def least_penalties(rows: Matrix, beta: float) -> FloatArray:
    """Return penalties with which the computed kernel matrix of rows is positive definite, (n,).

    If the bandwidth is very small compared with the length of rows, exponents of close rows are
    rounding errors. Those of a row add up to n times as much, at most.
    """
    unit = beta * np.finfo(np.float64).eps * squared_norms(rows)
    return LEAST_PENALTY + rows.shape[0] * ROUNDING * unit


@dataclass(frozen=True)
class Calibration:
    """Logistic function of the log-odds of probabilities, the same for all labels.

    Attributes
    ----------
    slope : float
        Factor of the log-odds; above 1, probabilities move away from 1/2.
    intercept : float
        Added to the log-odds.
    """

    slope: float
    intercept: float

    def __call__(self, proba: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        return np.asarray(expit(self.slope * log_odds(proba) + self.intercept))


def log_odds(proba: FloatArray) -> FloatArray:
    """Return the log-odds of probabilities that are scaled to a distance from 0 and 1."""
    scaled = MARGIN + (1 - 2 * MARGIN) * proba
    return np.asarray(np.log(scaled) - np.log1p(-scaled))


def fit_calibration(
    proba: FloatArray, Y: BoolArray, weights: FloatArray, rng: np.random.RandomState
) -> Calibration | None:
    """Return the calibration of out-of-fold probabilities; None if it would invert their order."""
    most = max(1, MAX_CELLS // max(1, Y.shape[1]))
    if len(Y) > most:
        rows = np.sort(rng.permutation(len(Y))[:most])
        proba, Y, weights = proba[rows], Y[rows], weights[rows]
    masses = np.repeat(relative_weights(weights), Y.shape[1])
    given = log_odds(proba).reshape(-1, 1), Y.reshape(-1, 1), masses
    optimum = LogisticRows(*given, overwrite=True).fit(C=1.0)
    slope = float(optimum.coef[0, 0])
    return Calibration(slope, float(optimum.intercept[0])) if slope > 0 else None


class StackedBase(ClassifierMixin, BaseEstimator):
    """Weighted sum of the probabilities, some calibrated, of fitted classifiers of all labels."""

    def __init__(
        self,
        estimators: Mapping[str, Any],
        weights: Mapping[str, float],
        calibrations: Mapping[str, Calibration],
    ):
        self.estimators = estimators
        self.weights = weights
        self.calibrations = calibrations

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_rows, n_labels)."""
        return stack(self.proba_by_classifier(X), self.weights)

    def proba_by_classifier(self, X: MatrixLike) -> dict[str, FloatArray]:
        """Return the probabilities of labels by each classifier, calibrated where needed."""
        return self._calibrated({k: each.predict_proba(X) for k, each in self.estimators.items()})

    def combine(self, proba: Mapping[str, FloatArray]) -> FloatArray:
        """Return the probabilities of labels, given those by each classifier."""
        return stack(self._calibrated(proba), self.weights)

    def _calibrated(self, proba: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        changes = self.calibrations
        return {k: changes[k](own) if k in changes else own for k, own in proba.items()}


def squared_errors(
    proba: Mapping[str, FloatArray], stacking_weights: Mapping[str, float], Y: BoolArray
) -> FloatArray:
    """Return the mean squared error of each row over the labels."""
    error: FloatArray = np.mean((stack(proba, stacking_weights) - Y) ** 2, axis=1)
    return error


@one_blas_thread()
def fit_stacking_weights(
    predictions: Mapping[str, FloatArray], Y: BoolArray, row_weights: FloatArray
) -> dict[str, float]:
    """Return weights >= 0 of sum <= 1 that minimize the squared error of the weighted sum."""
    columns, products, targets = list(predictions.values()), [], []
    for column in columns:
        weighted = column * row_weights[:, np.newaxis]
        products.append([np.vdot(weighted, other) for other in columns])
        targets.append(np.vdot(weighted, Y))
    weights = _least_squares(np.array(products), np.array(targets))
    return dict(zip(predictions, weights.tolist(), strict=True))


def _least_squares(products: FloatArray, target: FloatArray) -> FloatArray:
    """Minimize w'Pw - 2w't over w >= 0 whose sum is at most 1."""
    values, vectors = np.linalg.eigh(products)
    positive = values > len(values) * np.finfo(np.float64).eps * values[-1]
    if not positive.any():  # all predictions are 0
        return np.zeros_like(target)
    # With the square root A of the products, the objective is |Aw - b|^2 up to a constant.
    roots = np.sqrt(values[positive])
    A, b = roots[:, np.newaxis] * vectors[:, positive].T, vectors[:, positive].T @ target / roots
    scale = roots.max()
    A, b = A / scale, b / scale
    weights = _non_negative(A, b)
    if weights.sum() <= 1:
        return weights
    # The minimum lies where weights sum to 1, and there Aw - b = (A - b1')w. Its shortest vector
    # has the direction of the least |(A - b1')w|^2 + (1'w - 1)^2, constrained by w >= 0 only.
    weights = _non_negative(
        np.vstack([A - b[:, np.newaxis], np.ones(len(target))]), np.r_[0 * b, 1.0]
    )
    return weights / weights.sum()


def _non_negative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the w >= 0 of least |Aw - b|^2."""
    try:
        weights: FloatArray = nnls(A, b)[0]
    except (RuntimeError, np.linalg.LinAlgError):
        # With equal columns, scipy's iteration may not end, or in older versions find a singular
        # matrix. A tiny penalty makes them unequal.
        n_columns = A.shape[1]
        penalty = RIDGE * np.linalg.norm(A) * np.eye(n_columns)
        weights = nnls(np.vstack([A, penalty]), np.r_[b, np.zeros(n_columns)])[0]
    return weights


def stack(predictions: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of predictions; those of weight 0 may be missing."""
    total = sum(weight * predictions[name] for name, weight in weights.items() if weight > 0)
    if np.ndim(total):
        return np.minimum(np.maximum(total, 0), 1)
    return np.zeros_like(next(iter(predictions.values())))
