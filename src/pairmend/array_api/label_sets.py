"""Probabilities of labels over label sets, in terms of the array API."""

from typing import Any

import numpy as np

from pairmend._utils.chunking import batches
from pairmend._utils.namespaces import Array, Namespace

ARRAYS = 4
"""Number of arrays of the scores of a chunk in memory at once."""


def marginals(
    proba: Array,
    members: np.ndarray[Any, Any],
    prior: np.ndarray[Any, Any],
    margin: float,
    namespace: Namespace,
) -> Array:
    """Return the probability of each label over all sets, (n_rows, n_labels).

    `members`, (n_sets, n_labels), are the indicators of the sets, `prior` the logarithms of their
    factors. Probabilities are clipped to `margin` from 0 and 1.
    """
    xp = namespace.xp
    sets, factors = namespace.asarray(members), namespace.asarray(prior)
    step = max(1, namespace.max_bytes // (8 * ARRAYS * len(prior)))
    found = []
    for rows in batches(proba.shape[0], step):
        p = xp.clip(proba[rows, :], min=margin, max=1 - margin)
        scores = xp.log(p / (1 - p)) @ sets.T
        scores += factors
        scores -= xp.max(scores, axis=1, keepdims=True)
        scores = xp.exp(scores)
        scores /= xp.sum(scores, axis=1, keepdims=True)
        found.append(xp.clip(scores @ sets, min=0.0, max=1.0))
    return xp.concat(found, axis=0)
