"""Fitted classifiers of all labels, calibrated and stacked; the stacking weights.

Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods. Advances in Large Margin Classifiers, 61-74.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from pairmend._logistic_solver import fit_logistic
from pairmend._utils.classifiers import label_scores
from pairmend._utils.computing import one_blas_thread
from pairmend._utils.training import relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike

MARGIN = 0.005
"""Distance from 0 and 1 to which probabilities are scaled: forests have many that are 0."""
MAX_CELLS = 2**19
"""Largest number of probabilities on which a calibration is fitted."""
RIDGE = 1e-6
"""Size of the penalty of stacking weights, if predictions are equal, relative to them."""


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
    optimum = fit_logistic(
        log_odds(proba).reshape(-1, 1),
        Y.reshape(-1, 1),
        np.repeat(relative_weights(weights), Y.shape[1]),
        C=1.0,
        overwrite=True,
    )
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
        proba = {
            name: label_scores(model, X, "predict_proba", model.classes_.shape[0])
            for name, model in self.estimators.items()
        }
        return calibrated(proba, self.calibrations)


def calibrated(
    proba: Mapping[str, FloatArray], calibrations: Mapping[str, Calibration]
) -> dict[str, FloatArray]:
    """Return probabilities by classifier, calibrated where needed."""
    found = {name: change(proba[name]) for name, change in calibrations.items() if name in proba}
    return dict(proba) | found


def calibrated_sum(
    proba: Mapping[str, FloatArray],
    calibrations: Mapping[str, Calibration],
    weights: Mapping[str, float],
) -> FloatArray:
    """Return the weighted sum of the probabilities by several classifiers, calibrated."""
    used = {name: proba[name] for name in weights}
    return stack(calibrated(used, calibrations), weights)


def base_parts(model: Any, X: MatrixLike) -> dict[str, FloatArray]:
    """Return the probabilities by each classifier of a `StackedBase`; none for any other model."""
    return model.proba_by_classifier(X) if isinstance(model, StackedBase) else {}


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
    except RuntimeError:
        # With equal columns, scipy's iteration may not end. A tiny penalty makes them unequal.
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
