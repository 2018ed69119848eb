"""The randomized reference classifier."""

from pairmend._typing import FloatArray
from pairmend.compiled._numba import compile_loops

CHUNK = 512
"""Values that are worked on at once."""


@compile_loops(fastmath={"contract"})
def beta_reference(support: FloatArray, series: FloatArray, out: FloatArray) -> None:
    """Fill in the probabilities of deciding for a label, see :mod:`pairmend.kernels.rrc`.

    Parameters
    ----------
    support, out : ndarray of shape (n,)
        Supports for the label, and where the probabilities are put.
    series : ndarray
        Coefficients of the polynomial, highest power first.
    """
    for start in range(0, len(support), CHUNK):
        here, there = support[start : start + CHUNK], out[start : start + CHUNK]
        there[:] = series[0]
        for c in range(1, len(series)):
            coefficient = series[c]
            for i in range(len(here)):
                q = min(here[i], 1 - here[i])
                there[i] = there[i] * (4 * q - 1) + coefficient
        for i in range(len(here)):
            q = min(here[i], 1 - here[i])
            p = there[i] * q * q
            there[i] = 1 - p if here[i] > 0.5 else p
