"""Friedman's test of equal performance of all algorithms."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from pairmend.stats.adjustment import holm
from pairmend.stats.ranks import ranks_within_sets
from pairmend.stats.tables import Table, read_losses


@dataclass(frozen=True, eq=False, repr=False)
class FriedmanResult:
    """Outcome of `friedman`.

    Attributes
    ----------
    average_ranks : Series
        One number for each algorithm, lower is better.
    n_sets : int
        Number of sets.
    chi_square, p_value : float
        Friedman's statistic, corrected for ties, and its p-value.
    iman_davenport, iman_davenport_p_value : float
        Iman and Davenport's F, less conservative, and its p-value. Infinite, with p-value 0, if all
        sets rank the algorithms in the same way.

    Examples
    --------
    >>> friedman([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).n_sets
    3
    """

    average_ranks: pd.Series
    n_sets: int
    chi_square: float
    p_value: float
    iman_davenport: float
    iman_davenport_p_value: float

    def __repr__(self) -> str:
        return (
            f"Friedman test of {len(self.average_ranks)} algorithms on {self.n_sets} sets\n"
            f"  chi-square      {self.chi_square:6.3f}  p = {self.p_value:.4g}\n"
            f"  Iman-Davenport  {self.iman_davenport:6.3f}  p = {self.iman_davenport_p_value:.4g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class FriedmanByCriterion:
    """Outcome of `friedman_by_criterion`.

    Attributes
    ----------
    table : DataFrame
        A row per metric, with the columns ``chi_square``, ``p_value``, ``adjusted_p_value``,
        ``iman_davenport``, ``iman_davenport_p_value`` and ``iman_davenport_adjusted_p_value``.
    average_ranks : DataFrame
        A row per metric, a column per algorithm.

    Examples
    --------
    >>> by = friedman_by_criterion({"hamming": [[0.3, 0.2, 0.1], [0.5, 0.4, 0.45]]})
    >>> by.average_ranks.shape
    (1, 3)
    """

    table: pd.DataFrame
    average_ranks: pd.DataFrame

    def __repr__(self) -> str:
        return (
            f"Friedman tests by {len(self.table)} metrics, p-values adjusted by Holm\n"
            f"{self.table[['chi_square', 'p_value', 'adjusted_p_value']].to_string()}\n\n"
            f"Average ranks\n{self.average_ranks.round(3).to_string()}"
        )


def friedman(losses: Table) -> FriedmanResult:
    """Test whether all algorithms perform alike, by the ranks of their losses.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better. At least 3 algorithms and 2 sets.

    Returns
    -------
    FriedmanResult

    References
    ----------
    M. Friedman (1940), A comparison of alternative tests of significance for the problem of m
    rankings. R. L. Iman, J. M. Davenport (1980), Approximations of the critical region of the
    Friedman statistic.

    Examples
    --------
    >>> result = friedman([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8], [0.2, 0.1, 0.1]])
    >>> result
    Friedman test of 3 algorithms on 4 sets
      chi-square       6.533  p = 0.03813
      Iman-Davenport  13.364  p = 0.006162
    >>> result.average_ranks.tolist()
    [3.0, 1.375, 1.625]
    """
    table = read_losses(losses, algorithms=3)
    n_sets, n_algorithms = table.shape
    ranks = ranks_within_sets(table.to_numpy())
    chi_square, p_value = 0.0, 1.0
    if (np.ptp(ranks, axis=1) > 0).any():  # else all losses are equal, and scipy computes 0 / 0
        outcome = stats.friedmanchisquare(*ranks.T)
        chi_square, p_value = max(0.0, float(outcome.statistic)), float(outcome.pvalue)

    largest = n_sets * (n_algorithms - 1)  # reached if all sets rank alike
    rest = largest - chi_square
    f = np.inf if rest < 1e-9 * largest else (n_sets - 1) * chi_square / rest
    f_p_value = stats.f.sf(f, n_algorithms - 1, (n_algorithms - 1) * (n_sets - 1))
    return FriedmanResult(
        average_ranks=pd.Series(ranks.mean(axis=0), index=table.columns, name="average rank"),
        n_sets=n_sets,
        chi_square=chi_square,
        p_value=p_value,
        iman_davenport=float(f),
        iman_davenport_p_value=float(f_p_value),
    )


def friedman_by_criterion(losses: Mapping[str, Table]) -> FriedmanByCriterion:
    """Test by several metrics, and adjust the p-values for their number by Holm's procedure.

    Parameters
    ----------
    losses : mapping of str to DataFrame or array-like of shape (n_sets, n_algorithms)
        A table of losses for each metric.

    Returns
    -------
    FriedmanByCriterion

    Examples
    --------
    >>> by = friedman_by_criterion({
    ...     "hamming": [[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]],
    ...     "zero_one": [[0.3, 0.2, 0.1], [0.4, 0.4, 0.5], [0.9, 0.9, 0.9]]})
    >>> by.table[["p_value", "adjusted_p_value"]].round(4)
              p_value  adjusted_p_value
    hamming    0.0970            0.1939
    zero_one   0.8669            0.8669
    """
    if not isinstance(losses, Mapping) or not losses:
        raise ValueError(
            "losses must map names of metrics to tables of losses, such as "
            f"{{'hamming': table}}, got {type(losses).__name__}"
            f"{' without entries' if isinstance(losses, Mapping) else ''}"
        )
    results = {criterion: friedman(table) for criterion, table in losses.items()}
    table = pd.DataFrame(
        {
            criterion: {
                "chi_square": result.chi_square,
                "p_value": result.p_value,
                "iman_davenport": result.iman_davenport,
                "iman_davenport_p_value": result.iman_davenport_p_value,
            }
            for criterion, result in results.items()
        }
    ).T
    table.insert(2, "adjusted_p_value", holm(table["p_value"]))
    table["iman_davenport_adjusted_p_value"] = holm(table["iman_davenport_p_value"])
    ranks = pd.DataFrame({name: result.average_ranks for name, result in results.items()}).T
    return FriedmanByCriterion(table=table, average_ranks=ranks)
