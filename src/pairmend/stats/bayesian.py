"""Tests over the folds of one dataset, and Bayesian tests over datasets.

The Bayesian tests return probabilities that one algorithm is better, equivalent or worse.
Differences of losses within the region of practical equivalence, [-rope, rope], do not matter in
practice. The three probabilities of a pair add up to 1.
"""

from collections.abc import Hashable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pairmend.stats import tables

ROPE = 0.01
"""Default half-width of the region of practical equivalence, for losses in [0, 1]."""


def corrected_t_test(
    losses: tables.Table, *, rope: float = ROPE, test_share: float | None = None
) -> pd.DataFrame:
    """Compare all pairs of algorithms on one set over the folds: a t-test, and its Bayesian form.

    The training sets of the folds share rows, so the folds' losses are correlated and a plain
    t-test finds too many differences. This one divides by the corrected standard error of Nadeau
    and Bengio, ``sqrt((1 / n + test_share / (1 - test_share)) * variance)``, with n folds and
    n - 1 degrees of freedom. The p-values are not adjusted for the number of pairs: see
    `pairmend.stats.adjust`.

    The Bayesian correlated t-test of Corani and Benavoli has a posterior distribution of the mean
    difference: a Student distribution with n - 1 degrees of freedom around the mean over the folds,
    scaled by the same standard error. With ``rope=0`` the smaller of ``first_better`` and
    ``second_better`` is half of the p-value.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_folds, n_algorithms)
        The folds of one set, lower is better. Folds of repeated cross-validation are indexed by
        repeat and fold: ``rows.pivot(index=["repeat", "fold"], columns="algorithm",
        values="value")``.
    rope : float, default=0.01
        Half-width of the region of practical equivalence. The default is meant for losses in
        [0, 1].
    test_share : float, default=None
        ``n_test / (n_train + n_test)``. None means k-fold cross-validation, 1 / k: k is the number
        of different values of the index level ``fold``, or the number of rows without one.

    Returns
    -------
    DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``mean_difference`` (first minus second, so negative where the first is better),
        ``standard_error``, ``statistic``, ``p_value`` (two-sided), and the probabilities
        ``first_better``, ``equivalent`` and ``second_better``. A pair that differs on no fold has
        p-value 1; one whose difference is the same on all folds has p-value 0.

    References
    ----------
    C. Nadeau, Y. Bengio (2003), Inference for the generalization error. G. Corani, A. Benavoli
    (2015), A Bayesian approach for comparing cross-validated algorithms on multiple data sets.
    A. Benavoli, G. Corani, J. Demšar, M. Zaffalon (2017), Time for a change: a tutorial for
    comparing multiple classifiers through Bayesian analysis.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.30, 0.33, 0.29, 0.31, 0.35],
    ...                        "FCM": [0.28, 0.30, 0.28, 0.31, 0.30]})
    >>> found = corrected_t_test(losses)
    >>> found[["mean_difference", "standard_error", "statistic", "p_value"]].round(4)
                  mean_difference  standard_error  statistic  p_value
    first second
    LPW   FCM               0.022          0.0129      1.705   0.1634
    >>> found[["first_better", "equivalent", "second_better"]].round(4)
                  first_better  equivalent  second_better
    first second
    LPW   FCM           0.0341      0.1684         0.7975
    """
    width = _check_not_negative("rope", rope)
    # The folds' differences are correlated because their training sets share rows. Nadeau and
    # Bengio's variance of the mean is (1 / n + rho / (1 - rho)) * s**2, where s**2 is the
    # variance over the n folds and rho is the share of the rows that a fold tests on.
    table = tables.read_losses(losses, row_is="fold")
    index = table.index
    if "set" in index.names and index.get_level_values("set").nunique() > 1:
        raise ValueError(
            f"losses has folds of {index.get_level_values('set').nunique()} sets: this test is for "
            "one set; pass losses.loc[name] of each"
        )
    if test_share is None:
        folds = index.get_level_values("fold") if "fold" in index.names else index
        share = 1 / folds.nunique()
    else:
        share = tables.check_share("test_share", test_share)
    values, n_folds = table.to_numpy(), len(table)
    first, second = np.triu_indices(values.shape[1], 1)
    differences = values[:, first] - values[:, second]
    # Differences of rounding error count as 0, in the mean and in the standard deviation.
    negligible = tables.ROUNDING_ERROR * np.abs(values).max()
    differences[np.abs(differences) <= negligible] = 0.0
    mean, spread = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    spread[spread <= negligible] = 0.0
    error = spread * np.sqrt(1 / n_folds + share / (1 - share))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0, 0.0, mean / error)
        below = stats.t.cdf((-width - mean) / error, n_folds - 1)
        above = stats.t.sf((width - mean) / error, n_folds - 1)
    # Without spread the posterior is a point. Its distance to the rope may be a rounding error.
    point, outside = error == 0, np.abs(mean) > width + negligible
    below[point], above[point] = (outside & (mean < 0))[point], (outside & (mean > 0))[point]
    return pd.DataFrame(
        {
            "mean_difference": mean,
            "standard_error": error,
            "statistic": statistic,
            "p_value": 2 * stats.t.sf(np.abs(statistic), n_folds - 1),
            "first_better": below,
            "equivalent": 1 - below - above,
            "second_better": above,
        },
        index=tables.pairs_of(table.columns),
    )


def bayesian_signed_rank(
    losses: tables.Table,
    *,
    rope: float = ROPE,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    seed: int = 0,
    control: Hashable | None = None,
) -> pd.DataFrame:
    """Compute how probable it is that an algorithm is better than another over sets.

    The sets are a sample of a population of sets. The posterior of the distribution of the
    differences is a Dirichlet process: each sample gives random weights to the sets and to a
    difference of 0, the prior. The mean of two differences drawn with these weights lies below the
    region of practical equivalence (first better), within it, or above it (second better). The
    probabilities returned are the shares of the samples in which each of the three is the most
    probable. The test uses no asymptotic approximation, so it is valid on few sets.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.
    rope : float, default=0.01
        Half-width of the region of practical equivalence. The default is meant for losses in
        [0, 1].
    prior_strength : float, default=0.5
        Weight of the difference of 0, where each set has the weight 1.
    n_samples : int, default=50000
        Number of samples of the weights. The standard error of a probability p is
        ``sqrt(p * (1 - p) / n_samples)``.
    seed : int, default=0
        The same seed gives the same probabilities.
    control : str, default=None
        Name of one algorithm: it alone is compared with each other one.

    Returns
    -------
    DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``mean_difference`` (first minus second, so negative where the first is better) and the
        probabilities ``first_better``, ``equivalent`` and ``second_better``.

    References
    ----------
    A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri (2014), A Bayesian Wilcoxon
    signed-rank test based on the Dirichlet process. A. Benavoli, G. Corani, J. Demšar, M. Zaffalon
    (2017), Time for a change: a tutorial for comparing multiple classifiers through Bayesian
    analysis.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.31, 0.25, 0.4, 0.5], "FCM": [0.3, 0.2, 0.35, 0.41],
    ...                        "FCM-O": [0.29, 0.2, 0.37, 0.44]})
    >>> bayesian_signed_rank(losses).round(2)
                  mean_difference  first_better  equivalent  second_better
    first second
    LPW   FCM                0.05          0.00        0.05           0.95
          FCM-O              0.04          0.00        0.01           0.99
    FCM   FCM-O             -0.01          0.28        0.72           0.00
    """
    table, width, weights, negligible = _sampled(losses, rope, prior_strength, n_samples, seed)
    pairs = tables.pairs_of(table.columns, control)
    rows = []
    for first, second in pairs:
        differences = (table[first] - table[second]).to_numpy()
        regions = _regions(differences, width, weights, negligible)
        most_probable = regions >= regions.max(axis=0) - tables.ROUNDING_ERROR
        rows.append([differences.mean(), *(most_probable / most_probable.sum(axis=0)).mean(axis=1)])
    columns = ["mean_difference", "first_better", "equivalent", "second_better"]
    return pd.DataFrame(rows, index=pairs, columns=columns)


def signed_rank_posterior(
    losses: tables.Table,
    *,
    rope: float = ROPE,
    prior_strength: float = 0.5,
    n_samples: int = 5_000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return samples of the posterior of `bayesian_signed_rank` for two algorithms.

    `pairmend.plots.probability_triangle` draws them.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, 2)
        Lower is better.
    rope, prior_strength, n_samples, seed : float, float, int, int
        As in `bayesian_signed_rank`.

    Returns
    -------
    ndarray of shape (n_samples, 3)
        In each sample the probabilities that the first is better, that both are equivalent, and
        that the second is better; they sum to 1.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.31, 0.25, 0.4, 0.5], "FCM": [0.3, 0.2, 0.35, 0.41]})
    >>> signed_rank_posterior(losses).mean(axis=0).round(1).tolist()
    [0.0, 0.2, 0.8]
    """
    table, width, weights, negligible = _sampled(losses, rope, prior_strength, n_samples, seed)
    if table.shape[1] != 2:
        raise ValueError(f"losses has {table.shape[1]} columns, expected those of two algorithms")
    first, second = table.to_numpy().T
    # Rounding must not make a probability negative.
    return np.clip(_regions(first - second, width, weights, negligible).T, 0, 1)


def _sampled(
    losses: tables.Table, rope: float, prior_strength: float, n_samples: int, seed: int
) -> tuple[pd.DataFrame, float, NDArray[np.float64], float]:
    """Return losses, rope, weights of prior and sets in each sample, and the rounding error."""
    width = _check_not_negative("rope", rope)
    strength = _check_not_negative("prior_strength", prior_strength)
    table = tables.read_losses(losses)
    parameters = [strength, *np.ones(len(table))]
    weights = np.random.default_rng(seed).dirichlet(parameters, n_samples)
    return table, width, weights, tables.ROUNDING_ERROR * np.abs(table.to_numpy()).max()


def _regions(
    differences: NDArray[np.float64], rope: float, weights: NDArray[np.float64], negligible: float
) -> NDArray[np.float64]:
    """Return the probabilities of the three regions in each sample, of shape (3, n_samples)."""
    with_prior = np.concatenate([[0.0], differences])
    sums = with_prior[:, None] + with_prior
    below, above = (
        np.einsum("si,si->s", weights @ outside, weights)
        for outside in (
            (sums < -2 * rope - negligible).astype(float),
            (sums > 2 * rope + negligible).astype(float),
        )
    )
    return np.stack([below, 1 - below - above, above])


def _check_not_negative(name: str, value: float) -> float:
    if not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return float(value)
