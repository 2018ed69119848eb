"""Tests that compare algorithms over datasets, and on one dataset over folds.

All functions have a table of losses as input: a pandas DataFrame, or any 2-D array, with a row per
set and a column per algorithm; lower is better. `corrected_t_test` and
`bayesian_correlated_t_test` need the losses of one set with a row per fold. The module does not
depend on the rest of the package.

>>> import pandas as pd
>>> losses = pd.DataFrame({"LPW": [0.31, 0.25, 0.4, 0.5], "FCM": [0.3, 0.2, 0.35, 0.41],
...                        "FCM-O": [0.29, 0.2, 0.37, 0.44]}, index=["a", "b", "c", "d"])
>>> average_ranks(losses).to_dict()
{'LPW': 3.0, 'FCM': 1.375, 'FCM-O': 1.625}
>>> friedman(losses)
Friedman test of 3 algorithms on 4 sets
  chi-square       6.533  p = 0.03813
  Iman-Davenport  13.364  p = 0.006162
"""

try:
    import pandas  # noqa: F401  (for a message that names the extra)
except ImportError as error:
    raise ImportError(
        "pairmend.stats needs pandas, which is not installed: pip install 'pairmend[study]'"
    ) from error

from pairmend.stats.adjustment import bergmann_hommel, exhaustive_sets, holm, shaffer
from pairmend.stats.bayesian import (
    BayesianSignedRankResult,
    CorrelatedTTestResult,
    bayesian_correlated_t_test,
    bayesian_signed_rank,
    signed_rank_posterior,
)
from pairmend.stats.corrected_t import CorrectedTTestResult, corrected_t_test
from pairmend.stats.correlation import SpearmanResult, spearman
from pairmend.stats.effects import EffectSizes, effect_sizes
from pairmend.stats.friedman import (
    FriedmanByCriterion,
    FriedmanResult,
    friedman,
    friedman_by_criterion,
)
from pairmend.stats.intervals import BootstrapIntervals, bootstrap_intervals
from pairmend.stats.nemenyi import NemenyiResult, nemenyi
from pairmend.stats.ranks import average_ranks
from pairmend.stats.signed_rank import WilcoxonResult, wilcoxon

__all__ = [
    "BayesianSignedRankResult",
    "BootstrapIntervals",
    "CorrectedTTestResult",
    "CorrelatedTTestResult",
    "EffectSizes",
    "FriedmanByCriterion",
    "FriedmanResult",
    "NemenyiResult",
    "SpearmanResult",
    "WilcoxonResult",
    "average_ranks",
    "bayesian_correlated_t_test",
    "bayesian_signed_rank",
    "bergmann_hommel",
    "bootstrap_intervals",
    "corrected_t_test",
    "effect_sizes",
    "exhaustive_sets",
    "friedman",
    "friedman_by_criterion",
    "holm",
    "nemenyi",
    "shaffer",
    "signed_rank_posterior",
    "spearman",
    "wilcoxon",
]
