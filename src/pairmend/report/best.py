"""Which algorithms are best; values that differ by rounding error only are equal."""

from collections.abc import Mapping

import numpy as np

from pairmend.stats.tables import levels


def best_of(values: Mapping[str, float], *, greater_is_better: bool = False) -> list[str]:
    """Return the names with the best value; differences of rounding error are ignored."""
    if not values:
        return []
    numbers = np.array([list(values.values())], dtype=float)
    scale = np.abs(numbers).max(axis=1, keepdims=True)
    level = levels(-numbers if greater_is_better else numbers, scale)[0]
    return [name for name, each in zip(values, level, strict=True) if each == 0]
