"""Exponents of the lift and of the local lift of label sets, for decisions on whole sets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from pairmend._utils.chunking import batches
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.mended.label_sets import BLOCK, LabelSets, OwnSets
from pairmend.mended.local_sets import LocalSets

N_CANDIDATES = 100
"""Number of likely sets that are compared with the true set of each row."""
START = np.array([1.0, 0.25, 0.25])
"""First weights of log-odds, log-lift and local log-lift."""
LIKELIHOOD_RIDGE, ACCURACY_RIDGE = 5.0, 2.0
"""Penalties of the squared distance to `START`, and to the weights of largest likelihood."""
LEAST = np.array([0.05, 0.0, 0.0])
"""Smallest weights. That of log-odds is a divisor."""
DIGITS = 3
"""Digits of an exponent."""


def fit_exponents(
    sets: LabelSets, local: LocalSets, proba: FloatArray, own: OwnSets
) -> LabelSets | None:
    """Return label sets with exponents that suit decisions on whole sets.

    A conditional logit model of the true set of each row, with the sum of log-odds, the log-lift
    and the local log-lift of each set, is fitted in two steps: by likelihood, which is convex, and
    from there by the mean probability of the true set, which is closer to the zero-one loss. The
    most likely set does not change if all weights are divided by that of the log-odds.

    `proba` are corrected out-of-fold probabilities, of the rows of `local`. The result is None if
    no row has the set of another row.
    """
    found = _features(replace(sets, local=local), proba, own)
    if found is None:
        return None
    features, rows = found
    masses = local.masses[rows]
    likely = _minimize(_negative_log_likelihood, features, masses, START, LIKELIHOOD_RIDGE)
    log_odds, lift, local_lift = _minimize(_inaccuracy, features, masses, likely, ACCURACY_RIDGE)
    exponent, local_exponent = (round(float(w / log_odds), DIGITS) for w in (lift, local_lift))
    return replace(sets, local=local, lift_exponent=exponent, local_exponent=local_exponent)


def _features(
    sets: LabelSets, proba: FloatArray, own: OwnSets
) -> tuple[FloatArray, IntArray] | None:
    """Return the features of the true set and of the likeliest other sets, by row, and the rows.

    The shape is (n_rows, 1 + n_candidates, 3). Rows whose set no other row has are left out.
    """
    with_lift, without = (replace(sets, lift_exponent=exponent) for exponent in (1.0, 0.0))
    n_candidates = min(N_CANDIDATES, len(sets.counts) - 1)
    features, rows = [], []
    for block in batches(len(proba), BLOCK):
        plain = without._log_scores(block, proba, own)
        true = own.indices[block]
        at = np.arange(len(true))
        possible = np.flatnonzero((true >= 0) & np.isfinite(plain[at, true]))
        if n_candidates < 1 or len(possible) == 0:
            continue
        present = np.isfinite(plain)
        lift = np.zeros_like(plain)
        np.subtract(with_lift._log_scores(block, proba, own), plain, out=lift, where=present)
        parts = np.stack([plain, lift, sets._local_log_lift(block, proba, own)], axis=-1)
        scores = parts[possible] @ START
        scores[np.arange(len(possible)), true[possible]] = np.inf
        listed = np.argpartition(-scores, n_candidates, axis=1)[:, : n_candidates + 1]
        # The true set comes first.
        order = np.argsort(listed != true[possible, np.newaxis], axis=1, kind="stable")
        listed = np.take_along_axis(listed, order, axis=1)
        chosen = np.take_along_axis(parts[possible], listed[..., np.newaxis], axis=1)
        features.append(np.maximum(chosen, -1e6))  # sets without other rows
        rows.append(block.start + possible)
    return (np.concatenate(features), np.concatenate(rows)) if features else None


def _minimize(
    objective: Callable[..., tuple[float, FloatArray]],
    features: FloatArray,
    masses: FloatArray,
    start: FloatArray,
    ridge: float,
) -> FloatArray:
    """Minimize an objective, with a penalty of the distance to the first weights."""

    def penalized(weights: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(weights, features, masses)
        change = weights - start
        return value + ridge * float(change @ change), gradient + 2 * ridge * change

    bounds = [(least, None) for least in LEAST.tolist()]
    found: Any = minimize(penalized, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


def _negative_log_likelihood(
    weights: FloatArray, features: FloatArray, masses: FloatArray
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood of the true sets, and its gradient."""
    proba, change = _proba_of_true_sets(weights, features)
    tiny = np.finfo(np.float64).tiny
    return -float(masses @ np.log(np.maximum(proba, tiny))), -masses @ change


def _inaccuracy(
    weights: FloatArray, features: FloatArray, masses: FloatArray
) -> tuple[float, FloatArray]:
    """Return minus the sum of the probabilities of the true sets, and its gradient."""
    proba, change = _proba_of_true_sets(weights, features)
    return -float(masses @ proba), -(masses * proba) @ change


def _proba_of_true_sets(weights: FloatArray, features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each true set, and the gradient of its logarithm, (n_rows, 3)."""
    proba = softmax(features @ weights, axis=1)
    expected = np.einsum("ns,nsk->nk", proba, features)
    return proba[:, 0], features[:, 0] - expected
