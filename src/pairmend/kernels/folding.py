"""Two probabilities with sum 1 as one number, which keeps all digits of the smaller one.

One minus a number close to 1 has few digits, and ratios of sums of small probabilities need them.
The folded number is the first probability where that is at most 1/2, else minus the second. Minus 0
stands for the probabilities 1 and 0. The negative of a folded number stands for the same
probabilities in the other order.
"""

from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray


def fold(first: FloatArray, xp: Any = np) -> FloatArray:
    """Fold first probabilities that are given alone, with the digits that 1 minus them has."""
    return xp.where(first > 0.5, -(1 - first), first)


def fold_rounded(first: FloatArray) -> FloatArray:
    """Fold first probabilities; those that 1 minus them cannot represent, below 1e-16, become 0.

    This is for probabilities of any classifier. Many compute one of two probabilities as 1 minus
    the other: without rounding, the result would depend on which class comes first.
    """
    return fold(1 - (1 - first))


def unfold(folded: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two probabilities that are folded to one number."""
    smaller = np.abs(folded)
    larger = 1 - smaller
    is_second = np.signbit(folded)
    return np.where(is_second, larger, smaller), np.where(is_second, smaller, larger)
