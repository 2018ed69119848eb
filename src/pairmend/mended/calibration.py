"""Calibration: probabilities of a base classifier that are too close to 1/2, or too far from it.

Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods. Advances in Large Margin Classifiers, 61-74.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from pairmend._logistic_solver import fit_logistic
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend._utils.weights import relative_weights

MARGIN = 0.005
"""Distance from 0 and 1 to which probabilities are scaled: forests have many that are 0."""
MIN_GAIN = 0.1
"""Relative decrease of the squared error below which probabilities are not calibrated."""
MAX_CELLS = 2**19
"""Largest number of probabilities on which a calibration is fitted."""


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
