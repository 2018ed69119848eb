"""The randomized reference classifier: how likely a classifier decides for a label.

The reference classifier of Woloszynski and Kurzynski (2011) stands for a real one whose
support for the first label of a pair is ``s``: its own supports are random, with means
``s`` and ``1 - s``, and it decides for the larger. Each function here turns supports into
P(h = first | x), element by element, and takes float64 or float32.

Woloszynski, T., Kurzynski, M. (2011). A probabilistic model of classifier competence for
dynamic ensemble selection. Pattern Recognition 44(10-11), 2656-2668.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, zeta

from pairmend._typing import FloatArray
from pairmend.kernels.ranking import vote


def beta_reference(support: FloatArray) -> FloatArray:
    """Probability that one of two independent beta variables exceeds the other.

    The variables have parameters ``(2s, 2 - 2s)`` and ``(2 - 2s, 2s)``. With
    ``q = min(s, 1 - s)`` the integral of the paper's section 3.3, without the slip that
    multiplies in the class's own distribution, has the closed form

        p(q) = (2q - 1/2) sinc(1 - 2q)^2 + (sin(2 pi q) / pi)^2 trigamma(2 - 2q)

    and the result is p(q) for s <= 1/2 and 1 - p(q) above.

    Parameters
    ----------
    support : ndarray
        Supports for the first label, in [0, 1].

    Returns
    -------
    ndarray
        P(h = first | x), of the same shape and dtype.

    Examples
    --------
    >>> beta_reference(np.array([0.0, 0.1, 0.5, 0.7, 1.0])).round(6).tolist()
    [0.0, 0.009389, 0.5, 0.848752, 1.0]
    """
    q = np.minimum(support, 1 - support)
    sine = np.sin(2 * np.pi * q) / np.pi
    # sinc(1 - 2q) = sin(2 pi q) / (pi (1 - 2q)): this form keeps all digits near q = 0,
    # numpy's own near q = 1/2.
    small = q < 0.25
    sinc = np.where(small, sine / np.where(small, 1 - 2 * q, 1), np.sinc(1 - 2 * q))
    trigamma = zeta(2, 2 - 2 * q)
    p = np.clip((2 * q - 0.5) * sinc**2 + sine**2 * trigamma, 0, 0.5)
    return np.where(support > 0.5, 1 - p, p)


def constrained_reference(support: FloatArray) -> FloatArray:
    """Probability that a beta variable exceeds its own complement.

    Here the two random supports sum to one, a condition the paper states and its integral
    does not use: P = 1 - I_{1/2}(2s, 2 - 2s).

    Parameters
    ----------
    support : ndarray
        Supports for the first label, in [0, 1].

    Returns
    -------
    ndarray
        P(h = first | x), of the same shape and dtype.

    Examples
    --------
    >>> constrained_reference(np.array([0.0, 0.5, 0.7, 1.0])).round(4).tolist()
    [0.0, 0.5, 0.7625, 1.0]
    """
    inner = (support > 0) & (support < 1)
    s = np.where(inner, support, 0.5)
    return np.where(inner, betainc(2 - 2 * s, 2 * s, np.asarray(0.5, dtype=s.dtype)), support)


def identity_reference(support: FloatArray) -> FloatArray:
    """Take the support itself as the probability: no reference classifier.

    Parameters
    ----------
    support : ndarray
        Supports for the first label, in [0, 1].

    Returns
    -------
    ndarray
        The same values.

    Examples
    --------
    >>> identity_reference(np.array([0.2, 0.7])).tolist()
    [0.2, 0.7]
    """
    return support


def decide(
    support: FloatArray, reference: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of deciding for the first and for the second label of a pair.

    Both are computed on their own, because one minus a number close to one keeps no digits.
    A support so small that its complement cannot tell it from zero (below 1e-16) is taken as
    zero: otherwise it would count or not depending on which label of the pair comes first.

    Parameters
    ----------
    support : ndarray
        Supports for the first label, in [0, 1].
    reference : callable
        One of :data:`REFERENCES`.

    Returns
    -------
    first, second : ndarray
        P(h = first | x) and P(h = second | x).

    Examples
    --------
    >>> first, second = decide(np.array([0.3, 1 - 1e-9, 1e-20]), beta_reference)
    >>> [f"{p:.3g}" for p in first], [f"{p:.3g}" for p in second]
    (['0.151', '1', '0'], ['0.849', '5.8e-19', '1'])
    """
    second = 1 - support
    return reference(1 - second), reference(second)


REFERENCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "beta": beta_reference,
    "constrained": constrained_reference,
    "identity": identity_reference,
    "crisp": vote,
}
"""The reference classifiers by the name a user gives; "crisp" takes decisions as certain."""
