"""Spearman correlation of losses with characteristics of the datasets."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from pairmend.stats.ranks import levels
from pairmend.stats.tables import Table, read_losses, read_table


@dataclass(frozen=True, eq=False, repr=False)
class SpearmanResult:
    """Outcome of `spearman`.

    Attributes
    ----------
    rho : DataFrame of shape (n_algorithms, n_characteristics)
        Correlations. NaN where a column is the same on all sets.
    p_values : DataFrame of shape (n_algorithms, n_characteristics)
        Two-sided, by Student's distribution.
    n_sets : int
        Number of sets.

    Examples
    --------
    >>> spearman([[0.3], [0.2], [0.4]], [[12], [5], [20]]).rho.to_numpy().round(3).tolist()
    [[1.0]]
    """

    rho: pd.DataFrame
    p_values: pd.DataFrame
    n_sets: int

    def __repr__(self) -> str:
        return (
            f"Spearman correlations over {self.n_sets} sets\n{self.rho.round(3).to_string()}\n"
            f"p-values\n{self.p_values.round(4).to_string()}"
        )


def spearman(losses: Table, characteristics: Table) -> SpearmanResult:
    """Correlate each algorithm's losses with each characteristic of the sets.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better. At least 3 sets.
    characteristics : DataFrame or array-like of shape (n_sets, n_characteristics)
        Numbers, such as a set's label cardinality. Two frames are matched by their index, and this
        one may have further sets; other tables are matched row by row.

    Returns
    -------
    SpearmanResult

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.3, 0.2, 0.4, 0.5], "FCM": [0.3, 0.4, 0.1, 0.2]})
    >>> spearman(losses, pd.DataFrame({"L": [12, 5, 20, 30], "LC": [1.5, 4.0, 1.1, 1.5]}))
    Spearman correlations over 4 sets
           L     LC
    LPW  1.0 -0.632
    FCM -0.8  0.949
    p-values
           L      LC
    LPW  0.0  0.3675
    FCM  0.2  0.0513
    """
    table = read_losses(losses, algorithms=1, sets=3)
    numbers = _read_characteristics(
        characteristics, sets=table.index if isinstance(losses, pd.DataFrame) else None
    )
    if len(numbers) != len(table):
        raise ValueError(
            f"losses has {len(table)} sets and characteristics {len(numbers)}: pass the same sets "
            "in the same order, or two frames with the sets' names as index"
        )
    cells = np.array([[_correlation(a, b) for b in _columns(numbers)] for a in _columns(table)])
    cells = cells.reshape(table.shape[1], numbers.shape[1], 2)
    rho, p_values = (
        pd.DataFrame(cells[..., i], index=table.columns, columns=numbers.columns) for i in (0, 1)
    )
    return SpearmanResult(rho=rho, p_values=p_values, n_sets=len(table))


def _read_characteristics(characteristics: Table, sets: pd.Index | None) -> pd.DataFrame:
    what = "characteristics", "characteristic"
    if sets is None or not isinstance(characteristics, pd.DataFrame | pd.Series):
        return read_table(characteristics, *what)
    missing = sets.difference(characteristics.index, sort=False).tolist()
    if missing:
        raise ValueError(
            f"characteristics has no row for the set(s) {missing}: its index must have the same "
            "names of sets as that of losses"
        )
    rows = characteristics[characteristics.index.isin(sets)]
    return read_table(rows, *what).reindex(sets)


def _columns(table: pd.DataFrame) -> list[NDArray[np.int64]]:
    values = table.to_numpy().T
    return list(levels(values, np.abs(values).max(axis=1, keepdims=True)))


def _correlation(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[float, float]:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan, np.nan
    outcome = spearmanr(a, b)
    return float(outcome.statistic), float(outcome.pvalue)
