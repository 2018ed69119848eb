"""The corrected resampled t-test of all pairs of algorithms on one dataset."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from pairmend.stats.folds import fold_differences
from pairmend.stats.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedTTestResult:
    """Outcome of `corrected_t_test`.

    Attributes
    ----------
    pairs : DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``mean_difference`` (first minus second, so negative where the first is better),
        ``standard_error``, ``statistic`` and ``p_value`` (two-sided, not adjusted).
    n_folds : int
        Number of folds compared, those of all repeats.
    test_share : float
        Share of the rows that a fold tests on.

    Examples
    --------
    >>> corrected_t_test([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).n_folds
    3
    """

    pairs: pd.DataFrame
    n_folds: int
    test_share: float

    def __repr__(self) -> str:
        return (
            f"Corrected resampled t-tests over {self.n_folds} folds that test on "
            f"{self.test_share:.3g} of the rows\n{self.pairs.round(4).to_string()}"
        )


def corrected_t_test(losses: Table, *, test_share: float | None = None) -> CorrectedTTestResult:
    """Compare all pairs of algorithms on one set by a t-test over the folds.

    The training sets of the folds share rows, so the folds' losses are correlated and a plain
    t-test finds too many differences. This one divides by the corrected standard error of Nadeau
    and Bengio, ``sqrt((1 / n + test_share / (1 - test_share)) * variance)``, with n folds and
    n - 1 degrees of freedom. The p-values are not adjusted for the number of pairs: see
    `pairmend.stats.holm`.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_folds, n_algorithms)
        The folds of one set, lower is better. Folds of repeated cross-validation are indexed by
        repeat and fold: ``rows.pivot(index=["repeat", "fold"], columns="algorithm",
        values="value")``.
    test_share : float, default=None
        ``n_test / (n_train + n_test)``. None means k-fold cross-validation, 1 / k: k is the number
        of different values of the index level ``fold``, or the number of rows without one.

    Returns
    -------
    CorrectedTTestResult
        A pair that differs on no fold has p-value 1; one whose difference is the same on all folds
        has p-value 0.

    References
    ----------
    C. Nadeau, Y. Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.30, 0.33, 0.29, 0.31, 0.35],
    ...                        "FCM": [0.28, 0.30, 0.28, 0.31, 0.30]})
    >>> corrected_t_test(losses)
    Corrected resampled t-tests over 5 folds that test on 0.2 of the rows
                  mean_difference  standard_error  statistic  p_value
    first second
    LPW   FCM               0.022          0.0129      1.705   0.1634
    """
    found = fold_differences(losses, test_share)
    varies = found.standard_error > 0
    statistic = np.where(found.mean == 0, 0.0, np.copysign(np.inf, found.mean))
    statistic[varies] = found.mean[varies] / found.standard_error[varies]
    return CorrectedTTestResult(
        pairs=pd.DataFrame(
            {
                "mean_difference": found.mean,
                "standard_error": found.standard_error,
                "statistic": statistic,
                "p_value": 2 * stats.t.sf(np.abs(statistic), found.n_folds - 1),
            },
            index=found.pairs,
        ),
        n_folds=found.n_folds,
        test_share=found.test_share,
    )
