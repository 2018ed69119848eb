"""Supports of pairs from log-odds in all subspaces; probabilities of decisions."""

from typing import Any

import numpy as np

from pairmend._utils.namespaces import Array, Namespace
from pairmend.kernels.rrc import BETA_SERIES, CONSTRAINED_SERIES
from pairmend.kernels.votes import DIGITS, SINGLE_DIGITS


def mean_supports(rows: Array, weights: Array, namespace: Namespace) -> Array:
    """Return the supports for the first labels of pairs, (p, n), averaged over the subspaces.

    `rows`, (n, n_subspaces, width), and `weights`, (p, n_subspaces, width), give log-odds against
    the first labels.
    """
    xp = namespace.xp
    odds = _odds(xp.permute_dims(weights, (1, 0, 2)), xp.permute_dims(rows, (1, 2, 0)), xp)
    odds += 1
    return xp.mean(1 / odds, axis=0)


def mean_small_supports(rows: Array, weights: Array, namespace: Namespace) -> tuple[Array, Array]:
    """Return the smaller support of each pair, and whether it is that of the first label.

    `rows`, (g, n, n_subspaces, width), belong to `weights`, (g, p, n_subspaces, width); the result
    is (g, p, n). In single precision small supports of either label keep all their digits.
    """
    xp = namespace.xp
    left, right = xp.permute_dims(weights, (2, 0, 1, 3)), xp.permute_dims(rows, (2, 0, 3, 1))
    odds = _odds(left, right, xp)
    if odds.dtype == xp.float64:  # as in `kernels.rrc`
        first = xp.mean(1 / (1 + odds), axis=0)
        second = 1 - first
    else:
        with np.errstate(divide="ignore", over="ignore"):
            second = xp.mean(1 / (1 + 1 / odds), axis=0)
        odds += 1
        first = xp.mean(1 / odds, axis=0)
    is_first = first <= second
    return xp.where(is_first, first, second), is_first


def _odds(left: Array, right: Array, xp: Any) -> Array:
    with np.errstate(over="ignore"):
        return xp.exp(xp.matmul(left, right))


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
