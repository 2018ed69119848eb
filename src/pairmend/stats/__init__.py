"""Tests that compare algorithms over datasets, and on one dataset over folds.

All functions have a table of losses as input: a pandas DataFrame, or any 2-D array, with a row per
set and a column per algorithm; lower is better. `corrected_t_test` needs the
losses of one set with a row per fold. Results are Series and DataFrames. The module does not depend
on the rest of the package.

>>> import pandas as pd
>>> losses = pd.DataFrame({"LPW": [0.31, 0.25, 0.4, 0.5], "FCM": [0.3, 0.2, 0.35, 0.41],
...                        "FCM-O": [0.29, 0.2, 0.37, 0.44]}, index=["a", "b", "c", "d"])
>>> average_ranks(losses).to_dict()
{'LPW': 3.0, 'FCM': 1.375, 'FCM-O': 1.625}
>>> friedman(losses)[["chi_square", "p_value"]].round(4).to_dict()
{'chi_square': 6.5333, 'p_value': 0.0381}
"""

try:
    import pandas  # noqa: F401  (for a message with the command)
except ImportError as error:
    raise ImportError("pairmend.stats needs pandas: pip install pandas") from error

from pairmend.stats.adjustment import adjust
from pairmend.stats.bayesian import bayesian_signed_rank, corrected_t_test, signed_rank_posterior
from pairmend.stats.over_sets import (
    bootstrap_intervals,
    critical_difference,
    friedman,
    nemenyi,
    spearman,
    wilcoxon,
)
from pairmend.stats.tables import average_ranks

__all__ = [
    "adjust",
    "average_ranks",
    "bayesian_signed_rank",
    "bootstrap_intervals",
    "corrected_t_test",
    "critical_difference",
    "friedman",
    "nemenyi",
    "signed_rank_posterior",
    "spearman",
    "wilcoxon",
]
