"""The randomized reference classifier of several classes.

Supports of a row become the probabilities that a random classifier, whose supports have them as
means, decides for each class. Classes are columns; a row of supports sums to 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaln

from pairmend._utils.typing import FloatArray
from pairmend.kernels.folding import fold_rounded, unfold
from pairmend.kernels.rrc import beta_reference, decide, identity_reference

CELLS = 2**20
"""Values of distribution functions that are computed at once."""

TAIL = 1e-13
"""Largest last coefficients of a series, relative to 1."""


def beta_class_reference(supports: FloatArray) -> FloatArray:
    """Return the probability that each of C independent beta variables is the largest, (n, C).

    The variable of class c has parameters ``(C s_c, C - C s_c)``, and

        P(c) = integral over x of b_c(x) times the product of F_k(x) over all k but c .

    For two classes it is :func:`~pairmend.kernels.rrc.beta_reference`, in closed form.

    With x = 1 / (1 + exp(-v)) the integrand is analytic in v and falls like exp(C v) to the left
    and, for a class that is not the largest, at least like cosh(v / 2)^-C to the right: the sum
    over equidistant v converges exponentially. The largest class gets the remaining probability, so
    that its density, which may be infinite at 1, is not needed. At a given v and C a distribution
    function depends on s alone, and log F - log(1 - s) is analytic there, so that one Chebyshev
    series for each v replaces the incomplete beta function. Errors are below 1e-11 up to 100
    classes.
    """
    n_rows, n_classes = supports.shape
    if n_classes == 2:
        return np.column_stack(unfold(decide(fold_rounded(supports[:, 0]), beta_reference)))
    series = _series(n_classes)
    size = max(1, CELLS // (n_classes * len(series.log_x)))
    parts = [series.integrate(supports[at : at + size]) for at in range(0, n_rows, size)]
    return np.concatenate([np.empty((0, n_classes)), *parts])


def crisp_class_reference(supports: FloatArray) -> FloatArray:
    """Decide for the class of the largest support; equal supports share the decision.

    A difference below 1e-12 is rounding, and counts as a tie.
    """
    largest = np.round(supports - supports.max(axis=1, keepdims=True), 12) == 0
    return largest / largest.sum(axis=1, keepdims=True)


CLASS_REFERENCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "beta": beta_class_reference,
    "identity": identity_reference,
    "crisp": crisp_class_reference,
}
"""The reference classifiers of several classes by the name of the parameter."""


@dataclass(frozen=True)
class _Series:
    """Points and series for the integrals over beta variables of a number of classes."""

    log_x: FloatArray  # (N,), of the points x of the integral
    log_rest: FloatArray  # (N,), of 1 - x
    step: float  # distance of the points in v
    coefficients: FloatArray  # (degree + 1, N), Chebyshev, in 2 s - 1, of log F(x) - log(1 - s)

    def integrate(self, s: FloatArray) -> FloatArray:
        """Return the probabilities of classes for rows of supports."""
        n_classes = s.shape[1]
        left = np.maximum(1 - s, np.finfo(np.float64).tiny)
        design = np.polynomial.chebyshev.chebvander(2 * s - 1, len(self.coefficients) - 1)
        log_cdf = design @ self.coefficients
        log_cdf += np.log(left)[..., np.newaxis]
        # Densities in v: dx = x (1 - x) dv.
        a, b = n_classes * s, n_classes * left
        log_density = a[..., np.newaxis] * self.log_x
        log_density += b[..., np.newaxis] * self.log_rest
        log_density -= betaln(a, b)[..., np.newaxis]
        log_density += log_cdf.sum(axis=1, keepdims=True)
        log_density -= log_cdf
        chosen = self.step * np.exp(log_density, out=log_density).sum(axis=2)
        rows, top = np.arange(len(s)), s.argmax(axis=1)
        chosen[rows, top] = 0
        chosen[rows, top] = np.maximum(1 - chosen.sum(axis=1), 0)
        return chosen


@lru_cache(maxsize=16)
def _series(n_classes: int) -> _Series:
    """Return the points and series of a number of classes."""
    step = min(0.3, 0.9 / np.sqrt(n_classes))
    # Limits where the slowest integrands vanish: C equal classes to the left,
    # (x (1 - x))^(C/2) to the right.
    low, high = -np.log(n_classes) - 36 / n_classes, 2 * np.arccosh(np.exp(36 / n_classes))
    v = np.arange(low, high, step)
    log_x, log_rest = -np.log1p(np.exp(-v)), -np.log1p(np.exp(v))
    degree = 32
    while True:
        angle = (np.arange(degree + 1) + 0.5) * np.pi / (degree + 1)
        # Half angles preserve the digits of both s and 1 - s.
        s, left = np.cos(angle / 2) ** 2, np.sin(angle / 2) ** 2
        values = _log_cdf(n_classes * s, n_classes * left, log_x, log_rest)
        values -= np.log(left)[:, np.newaxis]
        cosines = np.cos(np.outer(np.arange(degree + 1), angle))
        coefficients = 2 / (degree + 1) * (cosines @ values)
        coefficients[0] /= 2
        # Rounding is relative to the largest value, so the tolerance is, too.
        size = TAIL * np.maximum(1, np.abs(coefficients).max(axis=0))
        if (np.abs(coefficients[-3:]) < size).all() or degree >= 1024:
            return _Series(log_x, log_rest, step, coefficients)
        degree *= 2


def _log_cdf(a: FloatArray, b: FloatArray, log_x: FloatArray, log_rest: FloatArray) -> FloatArray:
    """Return logarithms of beta distribution functions, also where these underflow."""
    cdf = betainc(a[:, np.newaxis], b[:, np.newaxis], np.exp(log_x))
    at, point = np.nonzero(cdf < 1e-280)
    # There x is far below the mean, and the hypergeometric series converges fast.
    a, b, log_x, log_rest = a[at], b[at], log_x[point], log_rest[point]
    total, term = np.ones(len(at)), np.ones(len(at))
    for n in range(200):
        term *= (a + b + n) / (a + 1 + n) * np.exp(log_x)
        total += term
    cdf[at, point] = 1
    log_cdf = np.log(cdf)
    log_cdf[at, point] = a * log_x + b * log_rest - np.log(a) - betaln(a, b) + np.log(total)
    return log_cdf
