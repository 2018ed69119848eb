"""Exponentials in compiled loops, which the processor computes several at a time.

Numba compiles this anew only if the file of the calling function changes: delete the files
``*.nbi`` after a change.
"""

import numpy as np

from pairmend._utils.compilation import compiled
from pairmend._utils.typing import FloatArray, IntArray

CHUNK = 512
"""Exponentials computed at once."""
LIMIT = 700.0
"""Exponent beyond which the exponential overflows, or below the negative of which it vanishes."""
ROUNDING = 1.5 * 2.0**52
"""Adding and subtracting this rounds a number to the nearest whole number."""
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts; a small whole number times the first is exact."""
EXPONENT_OF_ONE = np.int64(1023 << 52)


@compiled(fastmath={"contract"})
def exponential_factors(values: FloatArray, powers: FloatArray, bits: IntArray) -> None:
    """Replace numbers by one factor of their exponentials, and fill in the other, `powers`.

    The exponential of a number is 2^k times that of a remainder of at most half of log 2, computed
    by its series. Numbers are clipped to LIMIT; there are at most CHUNK of them, in double
    precision. `bits` is a view of `powers` as whole numbers.
    """
    n = len(values)
    for i in range(n):
        x = values[i]
        x = -LIMIT if x < -LIMIT else x
        x = LIMIT if x > LIMIT else x
        shifted = x * LOG2_E + ROUNDING
        k = shifted - ROUNDING
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        p = 1 / 479001600
        p = p * r + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        values[i] = p
        powers[i] = shifted
    for i in range(n):  # the last bits of the shifted number are k
        bits[i] = (bits[i] << 52) + EXPONENT_OF_ONE
