"""The randomized reference classifier: the probability that a classifier decides for a label.

The reference classifier of Woloszynski and Kurzynski (2011) models a classifier whose support for
the first label of a pair is ``s``: its supports are random, with means ``s`` and ``1 - s``, and
it decides for the larger. Each function maps supports to P(h = first | x), element by element,
for float64 or float32. The namespace `xp` has the functions of the array API.

Woloszynski, T., Kurzynski, M. (2011). A probabilistic model of classifier competence for
dynamic ensemble selection. Pattern Recognition 44(10-11), 2656-2668.

Two probabilities with sum 1 are kept as one number, folded, with all digits of the smaller one. One
minus a number close to 1 has few digits, and ratios of sums of small probabilities need them. The
folded number is the first probability where that is at most 1/2, else minus the second. Minus 0
stands for the probabilities 1 and 0. The negative of a folded number stands for the same
probabilities in the other order.

Of several classes, supports of a row, with sum 1, become the probabilities that a random
classifier, whose supports have them as means, decides for each class. Classes are columns.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebvander
from scipy.special import betainc, betaln

from pairmend._utils.typing import FloatArray

DIGITS = 12
"""Decimals to which scores and differences of supports are rounded, so that ties stay ties."""
SINGLE_DIGITS = 6
"""The same in single precision."""


def vote(supports: FloatArray, xp: Any = np) -> FloatArray:
    """Replace supports by votes 0, 1/2 or 1; a tie is half a vote for each label (eq. 5).

    Differences from 1/2 are rounded to `DIGITS` decimals, `SINGLE_DIGITS` in single precision.
    """
    digits = DIGITS if supports.dtype == xp.float64 else SINGLE_DIGITS
    return (1 + xp.sign(xp.round((supports - 0.5) * 10.0**digits))) / 2


def fold(first: FloatArray, xp: Any = np) -> FloatArray:
    """Fold first probabilities that are given alone, with the digits that 1 minus them has."""
    return xp.where(first > 0.5, -(1 - first), first)


def fold_rounded(first: FloatArray) -> FloatArray:
    """Fold first probabilities; those that 1 minus them cannot represent, below 1e-16, become 0.

    This is for probabilities of any classifier. Many compute one of two probabilities as 1 minus
    the other: without rounding, the result would depend on which class comes first.
    """
    return fold(1 - (1 - first))


def unfold(folded: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two probabilities that are folded to one number."""
    smaller = np.abs(folded)
    larger = 1 - smaller
    is_second = np.signbit(folded)
    return np.where(is_second, larger, smaller), np.where(is_second, smaller, larger)


BETA_SERIES = (
    7.376882909941378e-11, 7.606003973067165e-11, -3.7037403538736483e-09,
    -3.841433262197875e-09, 1.4155232132278376e-07, 1.480642448706459e-07,
    -4.326763168047172e-06, -4.5803739653523815e-06, 0.00010308371463189518,
    0.00011107971710218668, -0.0018430886465322666, -0.0020426991298185264,
    0.02343928956556395, 0.02728897283348397, -0.1947498682042922,
    -0.25092903053960364, 0.883186638714994, 1.5154442468903826,
)  # fmt: skip
"""Polynomial in 4q - 1, highest power first, that equals p(q) / q^2 for 0 <= q <= 1/2.

A Chebyshev fit in 50 digits, within 2e-17 of the closed form of :func:`beta_reference`."""

TILE = 2**14
"""Values processed at once, few enough to stay in the processor's cache."""


def beta_reference(support: FloatArray, xp: Any = np) -> FloatArray:
    """Return the probability that one of two independent beta variables exceeds the other.

    The variables have parameters ``(2s, 2 - 2s)`` and ``(2 - 2s, 2s)``. With ``q = min(s, 1 - s)``
    the integral of the paper's section 3.3, without the error that multiplies in the class's own
    distribution, has the closed form

        p(q) = (2q - 1/2) sinc(1 - 2q)^2 + (sin(2 pi q) / pi)^2 trigamma(2 - 2q)

    and the result is p(q) for s <= 1/2 and 1 - p(q) above. The double zeros of the sine cancel
    the double poles of the trigamma function, so p is analytic, and a polynomial of modest degree
    equals it to the last digit, many times faster.
    """
    if xp is not np:
        return _beta_series(support, xp)
    # In either layout, values are processed in the order of the memory.
    rows_first = support.ndim < 2 or support.flags.c_contiguous
    flat = (support if rows_first else support.T).ravel()
    out = np.empty_like(flat)
    for start in range(0, len(flat), TILE):
        out[start : start + TILE] = _beta_series(flat[start : start + TILE])
    return out.reshape(support.shape) if rows_first else out.reshape(support.T.shape).T


def _beta_series(support: FloatArray, xp: Any = np) -> FloatArray:
    q = xp.minimum(support, 1 - support)
    y = 4 * q - 1
    p = xp.full_like(q, BETA_SERIES[0])
    for coefficient in BETA_SERIES[1:]:
        p *= y
        p += coefficient
    p *= q
    p *= q
    return xp.where(support > 0.5, 1 - p, p)


def identity_reference(support: FloatArray, xp: Any = np) -> FloatArray:
    """Return the support itself as the probability: no reference classifier."""
    return support


def decide(supports: FloatArray, reference: Callable[..., FloatArray], xp: Any = np) -> FloatArray:
    """Return the probabilities of deciding for either label, folded, as the supports are."""
    return xp.copysign(reference(xp.abs(supports), xp), supports)


REFERENCES: dict[str, Callable[..., FloatArray]] = {
    "beta": beta_reference,
    "identity": identity_reference,
    "crisp": vote,
}
"""The reference classifiers by the name of the parameter; "crisp" decides without randomness."""


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
    log_x, log_rest, step, coefficients = _series(n_classes)
    out = np.empty_like(supports)
    size = max(1, CELLS // (n_classes * len(log_x)))
    for start in range(0, n_rows, size):
        s = supports[start : start + size]
        left = np.maximum(1 - s, np.finfo(np.float64).tiny)
        log_cdf = chebvander(2 * s - 1, len(coefficients) - 1) @ coefficients
        log_cdf += np.log(left)[..., np.newaxis]
        # Densities in v: dx = x (1 - x) dv.
        a, b = n_classes * s, n_classes * left
        log_density = a[..., np.newaxis] * log_x
        log_density += b[..., np.newaxis] * log_rest
        log_density -= betaln(a, b)[..., np.newaxis]
        log_density += log_cdf.sum(axis=1, keepdims=True)
        log_density -= log_cdf
        chosen = step * np.exp(log_density, out=log_density).sum(axis=2)
        rows, top = np.arange(len(s)), s.argmax(axis=1)
        chosen[rows, top] = 0
        chosen[rows, top] = np.maximum(1 - chosen.sum(axis=1), 0)
        out[start : start + size] = chosen
    return out


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


@lru_cache(maxsize=16)
def _series(n_classes: int) -> tuple[FloatArray, FloatArray, float, Any]:
    """Return log x and log(1 - x) of the points, their distance in v, and Chebyshev coefficients.

    These are for log F(x) - log(1 - s), in 2 s - 1, of shape (degree + 1, N).
    """
    step = min(0.3, 0.9 / np.sqrt(n_classes))
    # Limits where the slowest integrands vanish: C equal classes to the left,
    # (x (1 - x))^(C/2) to the right.
    low, high = -np.log(n_classes) - 36 / n_classes, 2 * np.arccosh(np.exp(36 / n_classes))
    v = np.arange(low, high, step)
    log_x, log_rest = -np.log1p(np.exp(-v)), -np.log1p(np.exp(v))

    def values(nodes: FloatArray) -> FloatArray:
        s = (1 + nodes) / 2
        left = 1 - s
        cdf = _log_cdf(n_classes * s, n_classes * left, log_x, log_rest)
        return cdf - np.log(left)[:, np.newaxis]

    for degree in (32, 64, 128, 256, 512, 1024):
        coefficients: Any = chebinterpolate(values, degree)
        # Rounding is relative to the largest value, so the tolerance is, too.
        size = TAIL * np.maximum(1, np.abs(coefficients).max(axis=0))
        if (np.abs(coefficients[-3:]) < size).all():
            break
    return log_x, log_rest, step, coefficients


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


def share(
    part: FloatArray, whole: FloatArray, undefined: float | FloatArray, xp: Any = np
) -> FloatArray:
    """Divide; where the divisor is 0 the share is `undefined`."""
    defined = whole > 0
    if xp is np and defined.all():
        return part / whole
    quotient: FloatArray = xp.where(defined, part / xp.where(defined, whole, 1.0), undefined)
    return quotient
