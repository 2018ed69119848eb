"""Reading what people pass: tables of numbers and lists of p-values, checked once, here."""

from collections.abc import Hashable, Mapping
from itertools import combinations
from numbers import Integral
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_complex_dtype, is_numeric_dtype

Table: TypeAlias = "pd.DataFrame | ArrayLike"
PValues: TypeAlias = "pd.Series | Mapping[Hashable, float] | ArrayLike"

_ONE_ROW = {
    "set": "a row is one set: average its folds and repeats first",
    "fold": "a row is one fold: index the folds of several repeats by ['repeat', 'fold']",
}


def read_losses(
    losses: Table, *, algorithms: int = 2, sets: int = 2, row_is: str = "set"
) -> pd.DataFrame:
    """Return a table of losses as a frame of floats.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        A row per set, a column per algorithm. Columns of an array are called 0, 1, …
    algorithms, sets : int, default=2
        How many columns and rows are needed at least.
    row_is : {"set", "fold"}, default="set"
        What a row stands for, in messages.

    Returns
    -------
    DataFrame
        A copy.

    Raises
    ------
    ValueError
        If names are doubled, cells are no finite numbers, or the table is too small.

    Examples
    --------
    >>> read_losses([[1, 2], [3, 4]])
         0    1
    0  1.0  2.0
    1  3.0  4.0
    """
    table = read_table(losses, "losses", "algorithm", row_is)
    if table.shape[0] < sets or table.shape[1] < algorithms:
        raise ValueError(
            f"losses has {table.shape[0]} row(s) and {table.shape[1]} column(s): this needs at "
            f"least {sets} {row_is}(s), a row each, and {algorithms} algorithm(s), a column each"
        )
    return table


def read_table(values: Table, what: str, column_is: str, row_is: str = "set") -> pd.DataFrame:
    """Return a table with a row per set as a frame of floats.

    Parameters
    ----------
    values : DataFrame or array-like
        Two-dimensional.
    what : str
        What to call the table in messages.
    column_is : str
        What a column stands for.
    row_is : {"set", "fold"}, default="set"
        What a row stands for.

    Returns
    -------
    DataFrame
        A copy, every cell a finite number, no name of a row or column doubled.

    Examples
    --------
    >>> read_table([[1, "x"]], "losses", "algorithm")
    Traceback (most recent call last):
    ...
    ValueError: losses holds no numbers in the column(s) [1]: ...
    """
    frame = values if isinstance(values, pd.DataFrame) else _frame_of_array(values, what)
    _refuse_doubled(frame.columns, f"{what} has two columns of one name", "name each column once")
    _refuse_doubled(
        frame.index,
        f"{what} has two rows of one {row_is}",
        _ONE_ROW[row_is],
    )
    wordy = [
        name
        for name, dtype in frame.dtypes.items()
        if not is_numeric_dtype(dtype) or is_complex_dtype(dtype)
    ]
    if wordy:
        raise ValueError(
            f"{what} holds no numbers in the column(s) {wordy}: it needs a row per {row_is} and a "
            f"column per {column_is}. Names of {row_is}s belong in the index, "
            f"table.set_index('{row_is}'); tidy rows are turned by "
            f"rows.pivot(index='{row_is}', columns='algorithm', values='value')"
        )
    numbers = frame.to_numpy(dtype=float, na_value=np.nan)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{what} has {len(bad)} cell(s) without a finite number, the first in row "
            f"{frame.index[row]!r}, column {frame.columns[column]!r}: {numbers[row, column]}. "
            f"Every {column_is} needs a value on every {row_is}: drop such {row_is}s, "
            "table.dropna(), or run what is missing"
        )
    return pd.DataFrame(numbers, index=frame.index, columns=frame.columns)


def read_p_values(p_values: PValues) -> pd.Series:
    """Return p-values as a series.

    Parameters
    ----------
    p_values : Series, mapping or array-like of shape (n,)
        Numbers in [0, 1].

    Returns
    -------
    Series
        A copy; a series' index and a mapping's keys are kept.

    Examples
    --------
    >>> read_p_values({"hamming": 0.25}).to_dict()
    {'hamming': 0.25}
    """
    if isinstance(p_values, Mapping):
        index = pd.Index(list(p_values), tupleize_cols=False)
        cells = np.asarray(list(p_values.values()))
    else:
        index = p_values.index if isinstance(p_values, pd.Series) else None
        cells = np.asarray(p_values)
    if cells.ndim != 1 or not len(cells):
        raise ValueError(
            f"p_values has shape {cells.shape}, and a list of at least one number was expected"
        )
    try:
        numbers = cells.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"p_values must be numbers: {error}") from error
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise ValueError(f"p-values lie in [0, 1], and p_values holds {numbers[bad].tolist()}")
    return pd.Series(numbers, index=index)


def check_share(name: str, value: float) -> float:
    """Return a number that must lie strictly between 0 and 1.

    Parameters
    ----------
    name : str
        What to call it in the message.
    value : float
        The number.

    Returns
    -------
    float

    Examples
    --------
    >>> check_share("alpha", 5)
    Traceback (most recent call last):
    ...
    ValueError: alpha must lie between 0 and 1, such as 0.05, and is 5
    """
    example = "0.95" if name == "confidence" else "0.05"
    is_number = isinstance(value, float | int | np.floating | np.integer)
    if not is_number or not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, such as {example}, and is {value!r}")
    return float(value)


def check_choice(name: str, value: object, choices: tuple[str | None, ...]) -> None:
    """Refuse a word that is none of the choices.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
        What was passed.
    choices : tuple of str or None
        What can be.

    Examples
    --------
    >>> check_choice("method", "t", ("normal", "exact"))
    Traceback (most recent call last):
    ...
    ValueError: method must be one of 'normal', 'exact', and is 't'
    """
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}, and is {value!r}")


def check_whole(name: str, value: int, least: int) -> None:
    """Refuse what is no whole number, or too small a one.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : int
        What was passed.
    least : int
        The smallest number allowed.

    Examples
    --------
    >>> check_whole("seed", -1, 0)
    Traceback (most recent call last):
    ...
    ValueError: seed must be a whole number of at least 0, and is -1
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, and is {value!r}")


def pairs_of(names: pd.Index) -> pd.MultiIndex:
    """Return all pairs of algorithms, in the package's one order of pairs.

    Parameters
    ----------
    names : Index
        The algorithms.

    Returns
    -------
    MultiIndex
        Levels ``first`` and ``second``; (0, 1), (0, 2), …, (1, 2), …

    Examples
    --------
    >>> list(pairs_of(pd.Index(["LPW", "FCM", "FCM-O"])))
    [('LPW', 'FCM'), ('LPW', 'FCM-O'), ('FCM', 'FCM-O')]
    """
    return pd.MultiIndex.from_tuples(combinations(names, 2), names=["first", "second"])


def square(values: pd.Series, names: pd.Index) -> pd.DataFrame:
    """Lay the p-values of pairs out as a symmetric table, 1 on the diagonal.

    Parameters
    ----------
    values : Series
        One for each pair, in the order of `pairs_of`.
    names : Index
        The algorithms.

    Returns
    -------
    DataFrame of shape (n_algorithms, n_algorithms)

    Examples
    --------
    >>> square(pd.Series([0.5]), pd.Index(["LPW", "FCM"]))
         LPW  FCM
    LPW  1.0  0.5
    FCM  0.5  1.0
    """
    cells = np.ones((len(names), len(names)))
    first, second = np.triu_indices(len(names), 1)
    cells[first, second] = cells[second, first] = values.to_numpy()
    return pd.DataFrame(cells, index=list(names), columns=list(names))


def _frame_of_array(values: ArrayLike, what: str) -> pd.DataFrame:
    if isinstance(values, pd.Series):
        return values.to_frame()
    try:
        cells = np.asarray(values, dtype=object)
    except ValueError:
        cells = np.empty(0)
    if cells.ndim != 2:
        raise ValueError(
            f"{what} must be a table with two dimensions, a row per set, "
            f"and has shape {cells.shape}"
        )
    return pd.DataFrame(cells).infer_objects()


def _refuse_doubled(names: pd.Index, found: str, advice: str) -> None:
    if names.has_duplicates:
        doubled = names[names.duplicated()].unique().tolist()
        raise ValueError(f"{found}: {doubled}; {advice}")
