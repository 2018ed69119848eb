"""How much each of several opinions counts."""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import nnls

from pairmend._utils.typing import BoolArray, FloatArray


def blend_weights(
    opinions: Mapping[str, FloatArray], Y: BoolArray, row_weights: FloatArray
) -> dict[str, float]:
    """Weigh opinions so that their sum has the least squared error.

    Parameters
    ----------
    opinions : mapping of ndarray of shape (n, L)
        Probabilities of labels by the name of who says so.
    Y : ndarray of bool, shape (n, L)
        Truth.
    row_weights : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    dict of float
        Weights by name, none below 0, their sum at most 1.

    Examples
    --------
    >>> Y = np.array([[True], [False]])
    >>> said = {"right": np.array([[0.9], [0.1]]), "wrong": np.array([[0.2], [0.7]])}
    >>> {name: round(weight, 3) for name, weight in blend_weights(said, Y, np.ones(2)).items()}
    {'right': 1.0, 'wrong': 0.0}
    """
    said = list(opinions.values())
    weighted = [opinion * row_weights[:, np.newaxis] for opinion in said]
    products = np.array([[np.vdot(a, b) for b in said] for a in weighted])
    weights = _least_squares(products, np.array([np.vdot(a, Y) for a in weighted]))
    return dict(zip(opinions, weights.tolist(), strict=True))


def _least_squares(products: FloatArray, target: FloatArray) -> FloatArray:
    """Minimize w'Pw - 2w't over w >= 0 whose sum is at most 1."""
    values, vectors = np.linalg.eigh(products)
    known = values > len(values) * np.finfo(np.float64).eps * values[-1]
    if not known.any():  # nobody says anything
        return np.zeros_like(target)
    # The square root of the products turns them into distances again: |Aw - b|.
    roots = np.sqrt(values[known])
    A, b = roots[:, np.newaxis] * vectors[:, known].T, vectors[:, known].T @ target / roots
    scale = roots.max()
    A, b = A / scale, b / scale
    weights: FloatArray = nnls(A, b)[0]
    if weights.sum() <= 1:
        return weights
    # The best lies where weights sum to 1, and there Aw - b = (A - b1')w. Its shortest vector has
    # the direction of the least |(A - b1')w|^2 + (1'w - 1)^2, which has no constraint but w >= 0.
    weights = nnls(np.vstack([A - b[:, np.newaxis], np.ones(len(target))]), np.r_[0 * b, 1.0])[0]
    return weights / weights.sum()


def blended(opinions: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of opinions; those of weight 0 need not be there."""
    total = sum(weight * opinions[name] for name, weight in weights.items() if weight > 0)
    return np.clip(total, 0, 1) if np.ndim(total) else np.zeros_like(next(iter(opinions.values())))


def lean_on(
    base: FloatArray, mended: FloatArray, n_examples: FloatArray, half: float
) -> FloatArray:
    """Shrink what is mended towards what it was, the more the fewer examples there are.

    Parameters
    ----------
    base, mended : ndarray of shape (n, L)
        Probabilities before and after.
    n_examples : ndarray of shape (L,)
        How many rows speak for the rarer side of each problem.
    half : float
        With so many examples, each counts half.

    Returns
    -------
    ndarray of shape (n, L)

    Examples
    --------
    >>> lean_on(np.array([[0.0]]), np.array([[1.0]]), np.array([30.0]), 10.0).tolist()
    [[0.75]]
    """
    trust = n_examples / (n_examples + half) if half > 0 else np.ones_like(n_examples)
    return trust * mended + (1 - trust) * base
