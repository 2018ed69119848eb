"""Ranks and average ranks; losses that differ by rounding error only are tied."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from pairmend.stats.tables import Table, read_losses

# Means over folds of equal losses can differ in their last bits, by the order of summation;
# such a difference must not decide a rank. Relative to the largest value compared.
ROUNDING_ERROR = 1e-12


def average_ranks(losses: Table) -> pd.Series:
    """Average over the sets of the algorithms' ranks, 1 being the best.

    Algorithms of equal loss on a set share the mean of their ranks. Losses that differ by rounding
    error only (less than 1e-12 of the set's largest) are equal.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.

    Returns
    -------
    Series
        One number for each algorithm.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.3, 0.2], "FCM": [0.1, 0.2], "FCM-O": [0.2, 0.1]})
    >>> average_ranks(losses)
    LPW      2.75
    FCM      1.75
    FCM-O    1.50
    Name: average rank, dtype: float64
    """
    table = read_losses(losses, algorithms=1, sets=1)
    return pd.Series(
        ranks_within_sets(table.to_numpy()).mean(axis=0), index=table.columns, name="average rank"
    )


def ranks_within_sets(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank each row separately; equal losses share their mean rank."""
    return rankdata(levels(values, np.abs(values).max(axis=1, keepdims=True)), axis=1)


def levels(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.int64]:
    """Replace each row's values by whole numbers of the same order, without rounding error."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    steps = np.diff(ascending, axis=1, prepend=ascending[:, :1]) > ROUNDING_ERROR * scale
    whole = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(whole, order, np.cumsum(steps, axis=1), axis=1)
    return whole


def signed_levels(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return differences of losses as whole numbers with the same signs and order of size."""
    differences = first - second
    scale = max(np.abs(first).max(), np.abs(second).max())
    sizes = np.concatenate([[0.0], np.abs(differences)])  # level 0 is the difference 0
    return np.sign(differences).astype(np.int64) * levels(sizes[None], np.array([[scale]]))[0, 1:]


def rank_sums(signed: NDArray[np.int64]) -> tuple[NDArray[np.float64], float, float]:
    """Return ranks and signed-rank sums of the differences that are not zero."""
    different = signed[signed != 0]
    ranks = rankdata(np.abs(different))
    return ranks, float(ranks[different < 0].sum()), float(ranks[different > 0].sum())
