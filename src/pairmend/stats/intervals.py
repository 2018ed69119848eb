"""Bootstrap confidence intervals of averages over datasets."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from pairmend.stats.ranks import ROUNDING_ERROR, ranks_within_sets
from pairmend.stats.tables import (
    Table,
    check_choice,
    check_share,
    check_whole,
    pairs_of,
    read_losses,
)

_METHODS = {"percentile": "percentile", "bca": "BCa"}
_MIN_RESAMPLES = 100
# Resamples drawn at a time: bounds the memory to about n_columns * n_sets * 500 numbers.
_BATCH = 500


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapIntervals:
    """Outcome of `bootstrap_intervals`.

    Attributes
    ----------
    table : DataFrame
        A row per algorithm (per pair of them for mean differences), with the columns ``estimate``,
        ``low`` and ``high``.
    of : str
        The averages, as passed to `bootstrap_intervals`.
    confidence : float
        Level of confidence.
    method : str
        ``"percentile"`` or ``"bca"``.
    n_resamples, seed : int
        Number and seed of the resamples.

    Examples
    --------
    >>> bootstrap_intervals([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).confidence
    0.95
    """

    table: pd.DataFrame
    of: str
    confidence: float
    method: str
    n_resamples: int
    seed: int

    def __repr__(self) -> str:
        name = "BCa" if self.method == "bca" else self.method
        return (
            f"{100 * self.confidence:g} % bootstrap intervals ({name}, {self.n_resamples} "
            f"resamples, seed {self.seed}) of {self.of.replace('_', ' ')}\n"
            f"{self.table.round(4).to_string()}"
        )


def bootstrap_intervals(
    losses: Table,
    *,
    of: str = "mean_losses",
    confidence: float = 0.95,
    method: str = "bca",
    n_resamples: int = 9999,
    seed: int = 0,
) -> BootstrapIntervals:
    """Intervals of averages over the sets, by drawing sets with replacement.

    All columns share the drawn sets, so a permutation of the algorithms only permutes the rows.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.
    of : {"mean_losses", "mean_differences", "average_ranks"}, default="mean_losses"
        What to average over the sets: losses, differences of losses (first minus second of each
        pair), or ranks.
    confidence : float, default=0.95
        Level of confidence.
    method : {"bca", "percentile"}, default="bca"
        Bias-corrected and accelerated, or plain percentiles.
    n_resamples : int, default=9999
        Number of draws, at least 100.
    seed : int, default=0
        The same seed gives the same intervals.

    Returns
    -------
    BootstrapIntervals
        The interval of a column that is the same on all sets is that one value.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.3, 0.5, 0.4, 0.2], "FCM": [0.1, 0.4, 0.4, 0.1]})
    >>> bootstrap_intervals(losses, of="mean_differences", method="percentile", seed=3)
    95 % bootstrap intervals (percentile, 9999 resamples, seed 3) of mean differences
                  estimate    low  high
    first second
    LPW   FCM          0.1  0.025  0.175
    """
    check_choice("of", of, ("mean_losses", "mean_differences", "average_ranks"))
    check_choice("method", method, tuple(_METHODS))
    level = check_share("confidence", confidence)
    check_whole("n_resamples", n_resamples, _MIN_RESAMPLES)
    check_whole("seed", seed, 0)
    table = read_losses(losses)
    scale = np.abs(table.to_numpy()).max()
    averaged = _averaged(table, of)
    values = averaged.to_numpy().T
    estimate = values.mean(axis=1)

    low, high = estimate.copy(), estimate.copy()
    varies = np.ptp(values, axis=1) > ROUNDING_ERROR * scale
    if varies.any():  # a column that does not vary has no BCa interval
        interval = bootstrap(
            (values[varies],),
            np.mean,
            axis=-1,
            vectorized=True,
            confidence_level=level,
            method=_METHODS[method],
            n_resamples=n_resamples,
            batch=_BATCH,
            random_state=np.random.default_rng(seed),
        ).confidence_interval
        low[varies], high[varies] = interval.low, interval.high
    return BootstrapIntervals(
        table=pd.DataFrame(
            {"estimate": estimate, "low": low, "high": high}, index=averaged.columns
        ),
        of=of,
        confidence=level,
        method=method,
        n_resamples=int(n_resamples),
        seed=int(seed),
    )


def _averaged(table: pd.DataFrame, of: str) -> pd.DataFrame:
    """Return the values of each set to average, a column for each average."""
    values = table.to_numpy()
    if of == "mean_differences":
        first, second = np.triu_indices(table.shape[1], 1)
        return pd.DataFrame(values[:, first] - values[:, second], columns=pairs_of(table.columns))
    if of == "average_ranks":
        return pd.DataFrame(ranks_within_sets(values), columns=table.columns)
    return table
