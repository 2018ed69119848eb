"""The randomized reference classifier: the probability that a classifier decides for a label.

The reference classifier of Woloszynski and Kurzynski (2011) models a classifier whose support for
the first label of a pair is ``s``: its supports are random, with means ``s`` and ``1 - s``, and
it decides for the larger. Each function maps supports to P(h = first | x), element by element,
for float64 or float32. The namespace `xp` has the functions of the array API.

Woloszynski, T., Kurzynski, M. (2011). A probabilistic model of classifier competence for
dynamic ensemble selection. Pattern Recognition 44(10-11), 2656-2668.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray
from pairmend.kernels.votes import vote

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

CONSTRAINED_SERIES = (
    4.267924189442677e-15, 4.371195423343036e-15, -6.740088351015088e-13,
    -6.92909527593541e-13, 8.362355761087875e-11, 8.6583743614368e-11,
    -8.135328702576749e-09, -8.511858704066701e-09, 6.002703197153795e-07,
    6.383056101010691e-07, -3.21347841066451e-05, -3.5115411615020244e-05,
    0.001174057466948181, 0.0013516610138927215, -0.026776927707281916,
    -0.03493045018681631, 0.33248723224655025, 0.7267604552648373,
)  # fmt: skip
"""Polynomial in 4q - 1, highest power first, that equals p(q) / q of the constrained reference.

A Chebyshev fit in 50 digits to the incomplete beta function, q times it within 2e-17 of p(q)."""

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
        q = xp.minimum(support, 1 - support)
        p = _polynomial(BETA_SERIES, q, xp) * q * q
        return xp.where(support > 0.5, 1 - p, p)
    # In either layout, values are processed in the order of the memory.
    rows_first = support.ndim < 2 or support.flags.c_contiguous
    flat = (support if rows_first else support.T).ravel()
    out = np.empty_like(flat)
    for start in range(0, len(flat), TILE):
        here = flat[start : start + TILE]
        q = np.minimum(here, 1 - here)
        p = _polynomial(BETA_SERIES, q)
        p *= q
        p *= q
        out[start : start + TILE] = np.where(here > 0.5, 1 - p, p)
    return out.reshape(support.shape) if rows_first else out.reshape(support.T.shape).T


def constrained_reference(support: FloatArray, xp: Any = np) -> FloatArray:
    """Return the probability that a beta variable exceeds its own complement.

    The two random supports sum to one, a condition that the paper states and its integral does not
    use: P = 1 - I_{1/2}(2s, 2 - 2s). It is analytic in s, and a polynomial equals it to the last
    digit.
    """
    q = xp.minimum(support, 1 - support)
    p = _polynomial(CONSTRAINED_SERIES, q, xp) * q
    return xp.where(support > 0.5, 1 - p, p)


def _polynomial(series: tuple[float, ...], q: FloatArray, xp: Any = np) -> FloatArray:
    """Return a polynomial in 4q - 1, given with its highest power first."""
    y = 4 * q - 1
    total = xp.full_like(q, series[0])
    for coefficient in series[1:]:
        total *= y
        total += coefficient
    return total


def identity_reference(support: FloatArray, xp: Any = np) -> FloatArray:
    """Return the support itself as the probability: no reference classifier."""
    return support


def decide(supports: FloatArray, reference: Callable[..., FloatArray], xp: Any = np) -> FloatArray:
    """Return the probabilities of deciding for either label of a pair, folded, as the supports are.

    See :mod:`pairmend.kernels.folding`.
    """
    return xp.copysign(reference(xp.abs(supports), xp), supports)


REFERENCES: dict[str, Callable[..., FloatArray]] = {
    "beta": beta_reference,
    "constrained": constrained_reference,
    "identity": identity_reference,
    "crisp": vote,
}
"""The reference classifiers by the name of the parameter; "crisp" decides without randomness."""
