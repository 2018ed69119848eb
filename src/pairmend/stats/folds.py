"""Differences between algorithms over the folds of one dataset."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairmend.stats.ranks import ROUNDING_ERROR
from pairmend.stats.tables import Table, check_share, pairs_of, read_losses


class FoldDifferences(NamedTuple):
    """Differences of all pairs of algorithms over folds."""

    pairs: pd.MultiIndex
    mean: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n_folds: int
    test_share: float
    negligible: float


def fold_differences(losses: Table, test_share: float | None) -> FoldDifferences:
    """Return mean differences of all pairs over folds, with corrected standard errors."""
    # The folds' differences are correlated because their training sets share rows. Nadeau and
    # Bengio's variance of the mean is (1 / n + rho / (1 - rho)) * s**2, where s**2 is the
    # variance over the n folds and rho is the share of the rows that a fold tests on.
    table = read_losses(losses, row_is="fold")
    _refuse_several_sets(table.index)
    share = (
        _test_share(table.index) if test_share is None else check_share("test_share", test_share)
    )
    values = table.to_numpy()
    first, second = np.triu_indices(values.shape[1], 1)
    differences = values[:, first] - values[:, second]
    # Differences of rounding error count as 0, in the mean and in the standard deviation.
    negligible = ROUNDING_ERROR * np.abs(values).max()
    differences[np.abs(differences) <= negligible] = 0.0
    spread = differences.std(axis=0, ddof=1)
    spread[spread <= negligible] = 0.0
    n_folds = len(values)
    return FoldDifferences(
        pairs=pairs_of(table.columns),
        mean=differences.mean(axis=0),
        standard_error=spread * np.sqrt(1 / n_folds + share / (1 - share)),
        n_folds=n_folds,
        test_share=share,
        negligible=float(negligible),
    )


def _test_share(index: pd.Index) -> float:
    """Return 1 / k of k-fold cross-validation, k being the number of folds in the index."""
    has_folds = "fold" in index.names
    return 1 / (index.get_level_values("fold").nunique() if has_folds else len(index))


def _refuse_several_sets(index: pd.Index) -> None:
    if "set" in index.names and index.get_level_values("set").nunique() > 1:
        raise ValueError(
            f"losses has folds of {index.get_level_values('set').nunique()} sets: this test is for "
            "one set; pass losses.loc[name] of each"
        )
