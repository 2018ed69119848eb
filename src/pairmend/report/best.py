"""Who is best."""

from collections.abc import Mapping

import numpy as np

from pairmend.stats.ranks import levels


def best_of(values: Mapping[str, float], *, greater_is_better: bool = False) -> list[str]:
    """List the names with the best value; a difference of rounding error is none.

    Parameters
    ----------
    values : mapping of str to float
        A loss, a rank or a score by name.
    greater_is_better : bool, default=False
        Whether the largest is best.

    Returns
    -------
    list of str
        In the order given.

    Examples
    --------
    >>> best_of({"LPW": 0.3, "FCM": 0.1 + 0.2, "FCM-O": 0.4})
    ['LPW', 'FCM']
    >>> best_of({"LPW": 0.3, "FCM-O": 0.4}, greater_is_better=True)
    ['FCM-O']
    """
    if not values:
        return []
    numbers = np.array([list(values.values())], dtype=float)
    scale = np.abs(numbers).max(axis=1, keepdims=True)
    places = levels(-numbers if greater_is_better else numbers, scale)[0]
    return [name for name, place in zip(values, places, strict=True) if place == 0]
