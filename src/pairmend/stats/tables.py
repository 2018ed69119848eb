"""Checks of arguments, pairs of algorithms, and ranks without rounding errors."""

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import is_any_real_numeric_dtype
from scipy.stats import rankdata

Table: TypeAlias = "pd.DataFrame | ArrayLike"
PValues: TypeAlias = "pd.Series | Mapping[Hashable, float] | ArrayLike"

ROUNDING_ERROR = 1e-12
"""Differences up to this, relative to the largest value compared, count as rounding errors.

Means over folds of equal losses can differ in their last bits, by the order of summation; such a
difference must not decide a rank."""


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
    ranks = ranks_within_sets(table.to_numpy()).mean(axis=0)
    return pd.Series(ranks, index=table.columns, name="average rank")


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


def read_losses(
    losses: Table, *, algorithms: int = 2, sets: int = 2, row_is: str = "set"
) -> pd.DataFrame:
    """Return a table of losses as a frame of floats."""
    table = read_table(losses, "losses", "algorithm", row_is)
    if table.shape[0] < sets or table.shape[1] < algorithms:
        raise ValueError(
            f"losses has {table.shape[0]} row(s) and {table.shape[1]} column(s): this needs at "
            f"least {sets} {row_is}(s), a row each, and {algorithms} algorithm(s), a column each"
        )
    return table


def read_table(values: Table, what: str, column_is: str, row_is: str = "set") -> pd.DataFrame:
    """Return a table with a row per set as a frame of floats."""
    frame = pd.DataFrame(values).infer_objects()
    for names in (frame.columns, frame.index):
        if names.has_duplicates:
            repeated = names[names.duplicated()].unique().tolist()
            raise ValueError(
                f"{what} has the same name twice: {repeated}. Name each {column_is} once, and "
                f"index each {row_is} once, folds of repeats by ['repeat', 'fold']"
            )
    if not_numeric := [name for name in frame if not is_any_real_numeric_dtype(frame[name])]:
        raise ValueError(
            f"{what} has no numbers in the column(s) {not_numeric}: expected a row per {row_is} "
            f"and a column per {column_is}. Names of {row_is}s belong in the index, "
            f"table.set_index('{row_is}'); tidy rows are converted by "
            f"rows.pivot(index='{row_is}', columns='algorithm', values='value')"
        )
    numbers = frame.to_numpy(dtype=float, na_value=np.nan)
    if len(bad := np.argwhere(~np.isfinite(numbers))):
        row, column = bad[0]
        raise ValueError(
            f"{what} has {len(bad)} cell(s) without a finite number, the first in row "
            f"{frame.index[row]!r}, column {frame.columns[column]!r}: {numbers[row, column]}. "
            f"Drop such {row_is}s, table.dropna(), or compute the missing values"
        )
    return pd.DataFrame(numbers, index=frame.index, columns=frame.columns)


def read_p_values(p_values: PValues) -> pd.Series:
    """Return p-values as a series."""
    numbers = pd.Series(p_values, dtype=float)
    if numbers.empty or not numbers.between(0, 1).all():
        raise ValueError(f"p_values is {numbers.tolist()}, expected numbers in [0, 1]")
    return numbers


def check_share(name: str, value: float) -> float:
    """Return a number after checking that it is strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")
    return float(value)


def check_choice(name: str, value: object, choices: tuple[Hashable, ...]) -> None:
    """Raise an error if a value is none of the choices."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def pairs_of(names: pd.Index, control: Hashable | None = None) -> pd.MultiIndex:
    """Return all pairs of algorithms in order, or those of the control with each other one."""
    if control is None:
        return pd.MultiIndex.from_tuples(combinations(names, 2), names=["first", "second"])
    check_choice("control", control, tuple(names))
    return pd.MultiIndex.from_product([[control], names.drop(control)], names=["first", "second"])
