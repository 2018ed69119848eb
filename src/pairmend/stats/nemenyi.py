"""Nemenyi's test of all pairs of algorithms by the distance of their average ranks."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import studentized_range

from pairmend.stats.ranks import average_ranks
from pairmend.stats.tables import Table, check_share, pairs_of, read_losses, square


@dataclass(frozen=True, eq=False, repr=False)
class NemenyiResult:
    """Outcome of `nemenyi`.

    Attributes
    ----------
    average_ranks : Series
        One number for each algorithm, lower is better.
    n_sets : int
        Number of sets.
    alpha : float
        Level of significance.
    critical_difference : float
        Average ranks that differ by at least this much are significantly different.
    p_values : DataFrame of shape (n_algorithms, n_algorithms)
        Symmetric, 1 on the diagonal.
    groups : tuple of tuples
        Names of algorithms that do not differ significantly, best first: the bars of a
        critical-difference diagram. A group is maximal and has at least two members; an algorithm
        can be in several groups, or in none.

    Examples
    --------
    >>> nemenyi([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).groups
    ((1, 2, 0),)
    """

    average_ranks: pd.Series
    n_sets: int
    alpha: float
    critical_difference: float
    p_values: pd.DataFrame
    groups: tuple[tuple[Hashable, ...], ...]

    def __repr__(self) -> str:
        groups = "; ".join(", ".join(map(str, group)) for group in self.groups) or "none"
        return (
            f"Nemenyi test of {len(self.average_ranks)} algorithms on {self.n_sets} sets: "
            f"critical difference {self.critical_difference:.3f} at alpha = {self.alpha:g}\n"
            f"{self.average_ranks.sort_values(kind='stable').round(3).to_string()}\n"
            f"not different: {groups}\n"
            f"p-values\n{self.p_values.round(4).to_string()}"
        )


def nemenyi(losses: Table, *, alpha: float = 0.05) -> NemenyiResult:
    """Compare all pairs of algorithms by their average ranks.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.
    alpha : float, default=0.05
        Level of significance of the critical difference and the groups.

    Returns
    -------
    NemenyiResult

    References
    ----------
    J. Demšar (2006), Statistical comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> losses = pd.DataFrame([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8], [0.2, 0.1, 0.1]],
    ...                       columns=["LPW", "FCM", "FCM-O"])
    >>> nemenyi(losses, alpha=0.1)
    Nemenyi test of 3 algorithms on 4 sets: critical difference 1.451 at alpha = 0.1
    FCM      1.375
    FCM-O    1.625
    LPW      3.000
    not different: FCM, FCM-O; FCM-O, LPW
    p-values
              LPW     FCM   FCM-O
    LPW    1.0000  0.0561  0.1263
    FCM    0.0561  1.0000  0.9334
    FCM-O  0.1263  0.9334  1.0000
    """
    level = check_share("alpha", alpha)
    table = read_losses(losses)
    n_sets, n_algorithms = table.shape
    ranks = average_ranks(table)

    # The studentised range divided by sqrt(2) is Demšar's q.
    unit = np.sqrt(n_algorithms * (n_algorithms + 1) / (12 * n_sets))
    critical_difference = float(studentized_range.isf(level, n_algorithms, np.inf) * unit)
    pairs = pairs_of(table.columns)
    first, second = np.triu_indices(n_algorithms, 1)
    distances = np.abs(ranks.to_numpy()[first] - ranks.to_numpy()[second])
    p_values = np.minimum(studentized_range.sf(distances / unit, n_algorithms, np.inf), 1)
    return NemenyiResult(
        average_ranks=ranks,
        n_sets=n_sets,
        alpha=level,
        critical_difference=critical_difference,
        p_values=square(pd.Series(p_values, index=pairs), table.columns),
        groups=_groups(ranks, critical_difference),
    )


def _groups(ranks: pd.Series, critical_difference: float) -> tuple[tuple[Hashable, ...], ...]:
    ascending = ranks.sort_values(kind="stable")
    names, values = list(ascending.index), ascending.to_numpy()
    groups, last_end = [], 0
    for start, rank in enumerate(values):
        end = int(np.searchsorted(values, rank + critical_difference, side="left"))
        if end - start > 1 and end > last_end:
            groups.append(tuple(names[start:end]))
            last_end = end
    return tuple(groups)
