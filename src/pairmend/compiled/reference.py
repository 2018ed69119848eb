"""The randomized reference classifier."""

from pairmend._typing import FloatArray
from pairmend.compiled._numba import compile_inner, compile_loops

CHUNK = 512
"""Values that are worked on at once."""


@compile_inner(fastmath={"contract"})
def _fill(support: FloatArray, series: FloatArray, out: FloatArray) -> None:
    out[:] = series[0]
    for c in range(1, len(series)):
        coefficient = series[c]
        for i in range(len(support)):
            q = min(support[i], 1 - support[i])
            out[i] = out[i] * (4 * q - 1) + coefficient
    for i in range(len(support)):
        q = min(support[i], 1 - support[i])
        p = out[i] * q * q
        out[i] = 1 - p if support[i] > 0.5 else p


@compile_loops
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
        part = slice(start, start + CHUNK)
        _fill(support[part], series, out[part])
