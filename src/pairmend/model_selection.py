"""Splits of rows, as index arrays."""

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import KFold

from pairmend._typing import IntArray


def hold_out(n_rows: int, share: float, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Split rows at random into a training and a validation part.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    share : float
        Share of the rows that go into the training part, rounded to whole rows.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    train, validation : ndarray of int
        Row numbers, ascending.

    Examples
    --------
    >>> train, validation = hold_out(10, 0.6, np.random.RandomState(0))
    >>> train.tolist(), validation.tolist()
    ([1, 2, 4, 6, 8, 9], [0, 3, 5, 7])
    """
    n_train = int(np.floor(share * n_rows + 0.5))
    if not 0 < n_train < n_rows:
        empty = "training" if n_train == 0 else "validation"
        raise ValueError(
            f"validation={share} leaves the {empty} part of {n_rows} sample(s) empty. Give "
            "more samples, or another share."
        )
    order = rng.permutation(n_rows)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def shuffled_folds(
    n_rows: int, n_folds: int, rng: np.random.RandomState | int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the splits of a plain shuffled k-fold cross-validation.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_folds : int
        Number of folds.
    rng : RandomState or int
        Source of randomness.

    Yields
    ------
    rest, fold : ndarray of int
        Row numbers, ascending: all rows but the fold's, and the fold's.

    Examples
    --------
    >>> for rest, fold in shuffled_folds(5, 2, 0):
    ...     print(rest, fold)
    [3 4] [0 1 2]
    [0 1 2] [3 4]
    """
    if n_folds > n_rows:
        raise ValueError(f"{n_folds} folds need at least as many samples, got {n_rows}.")
    yield from KFold(n_folds, shuffle=True, random_state=rng).split(np.empty(n_rows))
