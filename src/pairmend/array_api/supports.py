"""Supports of pairs from log-odds in all subspaces; probabilities of decisions."""

from typing import Any

import numpy as np

from pairmend._utils.namespaces import Array, Namespace
from pairmend.kernels.logistic import SMALLEST
from pairmend.kernels.rrc import BETA_SERIES, CONSTRAINED_SERIES
from pairmend.kernels.votes import DIGITS, SINGLE_DIGITS


def mean_supports(rows: Array, weights: Array, namespace: Namespace) -> Array:
    """Return the supports for the first labels of pairs, (p, n), averaged over the subspaces.

    `rows`, (n, n_subspaces, width), and `weights`, (p, n_subspaces, width), give log-odds against
    the first labels.
    """
    xp = namespace.xp
    left, right = xp.permute_dims(weights, (1, 0, 2)), xp.permute_dims(rows, (1, 2, 0))
    return _mean_logistic(xp.matmul(left, right), xp)


def folded_mean_supports(rows: Array, weights: Array, namespace: Namespace) -> Array:
    """Return the supports of both labels of pairs as one number, see `kernels.folding`.

    `rows`, (g, n, n_subspaces, width), belong to `weights`, (g, p, n_subspaces, width); the result
    is (g, p, n). It is computed as in `kernels.logistic`.
    """
    xp = namespace.xp
    left, right = xp.permute_dims(weights, (2, 0, 1, 3)), xp.permute_dims(rows, (2, 0, 3, 1))
    against = xp.matmul(left, right)
    side = 1 - 2 * xp.astype(against[0, ...] < 0, against.dtype)
    against *= side
    return side * fold(xp.clip(_mean_logistic(against, xp), min=SMALLEST), xp)


def fold(first: Array, xp: Any) -> Array:
    """Fold first probabilities that are given alone, see `kernels.folding`."""
    return xp.where(first > 0.5, -(1 - first), first)


def _mean_logistic(against: Array, xp: Any) -> Array:
    """Return the mean over the first axis of the probabilities with these log-odds against."""
    with np.errstate(over="ignore"):
        odds = xp.exp(against)
    del against  # frees the memory of the device if the caller needs it no longer
    odds += 1
    return xp.mean(1 / odds, axis=0)


def p_decide(name: str, support: Array, namespace: Namespace) -> Array:
    """Return P(h = first | x) by the name of a reference classifier, see `kernels.rrc`."""
    xp = namespace.xp
    if name == "identity":
        return support
    if name == "crisp":
        return vote(support, namespace)
    other = 1 - support
    q = xp.where(support > other, other, support)
    if name == "beta":
        p = _polynomial(BETA_SERIES, q, xp) * q * q
    else:
        p = _polynomial(CONSTRAINED_SERIES, q, xp) * q
    return xp.where(support > 0.5, 1 - p, p)


def root_p_decide(name: str, smaller: Array, namespace: Namespace) -> Array:
    """Return the square root of P(h = first | x) for supports of at most 1/2.

    By "beta", P is about the square of a small support, and may be below the range of single
    precision.
    """
    xp = namespace.xp
    if name == "beta":
        return smaller * xp.sqrt(_polynomial(BETA_SERIES, smaller, xp))
    return xp.sqrt(p_decide(name, smaller, namespace))


def _polynomial(series: tuple[float, ...], q: Array, xp: Any) -> Array:
    """Return a polynomial in 4q - 1, with its highest power first."""
    y = 4 * q - 1
    total = xp.full_like(q, series[0])
    for coefficient in series[1:]:
        total *= y
        total += coefficient
    return total


def vote(support: Array, namespace: Namespace) -> Array:
    """Replace supports by votes 0, 1/2 or 1, see `kernels.votes`."""
    xp = namespace.xp
    digits = DIGITS if support.dtype == xp.float64 else SINGLE_DIGITS
    return (1 + xp.sign(round_to(support - 0.5, digits, namespace))) / 2


def round_to(values: Array, digits: int, namespace: Namespace) -> Array:
    """Round to a number of decimals."""
    scale = 10.0**digits
    return namespace.xp.round(values * scale) / scale
