"""Effect sizes of all pairs of algorithms."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairmend.stats.ranks import rank_sums, signed_levels
from pairmend.stats.tables import Table, pairs_of, read_losses


@dataclass(frozen=True, eq=False, repr=False)
class EffectSizes:
    """Outcome of `effect_sizes`.

    Attributes
    ----------
    pairs : DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns

        - ``rank_biserial``, in [-1, 1]: matched-pairs rank-biserial correlation, the share of the
          ranks of the differences in favour of the first algorithm minus the share in favour of
          the second; 0 if they never differ;
        - ``median_difference``: median of the first's loss minus the second's, so negative where
          the first is better;
        - ``wins``, ``ties``, ``losses``: numbers of sets on which the first is better, equal,
          worse.
    n_sets : int
        Number of sets.

    Examples
    --------
    >>> effect_sizes([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).pairs["wins"].tolist()
    [0, 0, 2]
    """

    pairs: pd.DataFrame
    n_sets: int

    def __repr__(self) -> str:
        return f"Effect sizes on {self.n_sets} sets\n{self.pairs.round(4).to_string()}"


def effect_sizes(losses: Table) -> EffectSizes:
    """Measure how much each pair of algorithms differs.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.

    Returns
    -------
    EffectSizes

    References
    ----------
    D. S. Kerby (2014), The simple difference formula: an approach to teaching nonparametric
    correlation.

    Examples
    --------
    >>> effect_sizes(pd.DataFrame({"LPW": [0.3, 0.5, 0.4, 0.2], "FCM": [0.1, 0.4, 0.7, 0.2]}))
    Effect sizes on 4 sets
                  rank_biserial  median_difference  wins  ties  losses
    first second
    LPW   FCM               0.0               0.05     1     1       2
    """
    table = read_losses(losses, sets=1)
    pairs = pd.DataFrame(
        [_effects(first, second) for first, second in combinations(table.to_numpy().T, 2)],
        index=pairs_of(table.columns),
        columns=["rank_biserial", "median_difference", "wins", "ties", "losses"],
    )
    return EffectSizes(pairs=pairs, n_sets=len(table))


def _effects(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[float, float, int, int, int]:
    signed = signed_levels(first, second)
    ranks, less, more = rank_sums(signed)
    return (
        (less - more) / (less + more) if len(ranks) else 0.0,
        float(np.median(np.where(signed == 0, 0.0, first - second))),
        int((signed < 0).sum()),
        int((signed == 0).sum()),
        int((signed > 0).sum()),
    )
