"""Ranks, with care for losses that are equal but for rounding error."""

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
        Less is better.

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
    """Rank each row by itself, equal losses sharing their mean rank.

    Parameters
    ----------
    values : ndarray of shape (n_sets, n_algorithms)
        Losses.

    Returns
    -------
    ndarray of shape (n_sets, n_algorithms)

    Examples
    --------
    >>> ranks_within_sets(np.array([[0.3, 0.1, 0.1 + 1e-17]]))
    array([[3. , 1.5, 1.5]])
    """
    return rankdata(levels(values, np.abs(values).max(axis=1, keepdims=True)), axis=1)


def levels(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.int64]:
    """Replace each row's values by whole numbers of the same order, without rounding error.

    Parameters
    ----------
    values : ndarray of shape (rows, n)
        Numbers.
    scale : ndarray of shape (rows, 1)
        Size of the numbers they were computed from: neighbours nearer than 1e-12 of it are equal.

    Returns
    -------
    ndarray of shape (rows, n)
        0 for a row's smallest value.

    Examples
    --------
    >>> levels(np.array([[0.3, 0.1 + 0.2, 0.1]]), np.array([[0.3]]))
    array([[1, 1, 0]])
    """
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    steps = np.diff(ascending, axis=1, prepend=ascending[:, :1]) > ROUNDING_ERROR * scale
    whole = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(whole, order, np.cumsum(steps, axis=1), axis=1)
    return whole


def signed_levels(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Differences of two algorithms' losses as whole numbers: same signs, same order of size.

    Parameters
    ----------
    first, second : ndarray of shape (n_sets,)
        Losses on the same sets.

    Returns
    -------
    ndarray of shape (n_sets,)
        0 where they are equal; equal where the differences are.

    Examples
    --------
    >>> signed_levels(np.array([0.3, 0.5, 0.7]), np.array([0.3, 0.4, 0.8]))
    array([ 0,  1, -1])
    """
    differences = first - second
    scale = max(np.abs(first).max(), np.abs(second).max())
    sizes = np.concatenate([[0.0], np.abs(differences)])  # the 0 is where levels count from
    return np.sign(differences).astype(np.int64) * levels(sizes[None], np.array([[scale]]))[0, 1:]


def rank_sums(signed: NDArray[np.int64]) -> tuple[NDArray[np.float64], float, float]:
    """Signed-rank sums of the differences that are not zero.

    Parameters
    ----------
    signed : ndarray of shape (n_sets,)
        As of `signed_levels`.

    Returns
    -------
    ranks : ndarray
        Ranks of the sizes, zeros left out.
    less, more : float
        Sums of the ranks of the negative and of the positive differences.

    Examples
    --------
    >>> rank_sums(np.array([0, 1, -1, -2]))
    (array([1.5, 1.5, 3. ]), 4.5, 1.5)
    """
    different = signed[signed != 0]
    ranks = rankdata(np.abs(different))
    return ranks, float(ranks[different < 0].sum()), float(ranks[different > 0].sum())
