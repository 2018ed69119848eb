"""Bayesian tests: probabilities that one algorithm is better, equivalent or worse.

Differences of losses within the region of practical equivalence, [-rope, rope], do not matter in
practice. Both tests return three probabilities for each pair, which add up to 1.
"""

from dataclasses import dataclass
from itertools import combinations
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pairmend.stats.folds import fold_differences
from pairmend.stats.ranks import ROUNDING_ERROR
from pairmend.stats.tables import Table, check_whole, pairs_of, read_losses

ROPE = 0.01
"""Default half-width of the region of practical equivalence, for losses in [0, 1]."""

_COLUMNS = ["mean_difference", "first_better", "equivalent", "second_better"]


@dataclass(frozen=True, eq=False, repr=False)
class CorrelatedTTestResult:
    """Outcome of `bayesian_correlated_t_test`.

    Attributes
    ----------
    pairs : DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``mean_difference`` (first minus second, so negative where the first is better) and the
        probabilities ``first_better``, ``equivalent`` and ``second_better``.
    rope : float
        Differences in [-rope, rope] count as equivalent.
    n_folds : int
        Number of folds compared, those of all repeats.
    test_share : float
        Share of the rows that a fold tests on.

    Examples
    --------
    >>> bayesian_correlated_t_test([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).n_folds
    3
    """

    pairs: pd.DataFrame
    rope: float
    n_folds: int
    test_share: float

    def __repr__(self) -> str:
        return (
            f"Bayesian correlated t-tests over {self.n_folds} folds that test on "
            f"{self.test_share:.3g} of the rows, rope {self.rope:g}\n"
            f"{self.pairs.round(4).to_string()}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class BayesianSignedRankResult:
    """Outcome of `bayesian_signed_rank`.

    Attributes
    ----------
    pairs : DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``mean_difference`` (first minus second, so negative where the first is better) and the
        probabilities ``first_better``, ``equivalent`` and ``second_better``.
    rope : float
        Differences in [-rope, rope] count as equivalent.
    n_sets : int
        Number of sets.
    prior_strength : float
        Weight of the prior, in sets.
    n_samples, seed : int
        Number and seed of the samples.

    Examples
    --------
    >>> bayesian_signed_rank([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]]).n_sets
    3
    """

    pairs: pd.DataFrame
    rope: float
    n_sets: int
    prior_strength: float
    n_samples: int
    seed: int

    def __repr__(self) -> str:
        return (
            f"Bayesian signed-rank tests on {self.n_sets} sets, rope {self.rope:g} "
            f"({self.n_samples} samples, seed {self.seed})\n{self.pairs.round(3).to_string()}"
        )


def bayesian_correlated_t_test(
    losses: Table, *, rope: float = ROPE, test_share: float | None = None
) -> CorrelatedTTestResult:
    """Compute how probable it is that an algorithm is better than another on one set.

    The posterior distribution of the mean difference is a Student distribution with n - 1 degrees
    of freedom around the mean over the n folds; its scale is the standard error of Nadeau and
    Bengio, see `corrected_t_test`. With ``rope=0`` the smaller of ``first_better`` and
    ``second_better`` is half of that test's p-value.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_folds, n_algorithms)
        The folds of one set, lower is better; indexed as in `corrected_t_test`.
    rope : float, default=0.01
        Half-width of the region of practical equivalence. The default is meant for losses in
        [0, 1].
    test_share : float, default=None
        Share of the rows that a fold tests on, as in `corrected_t_test`.

    Returns
    -------
    CorrelatedTTestResult

    References
    ----------
    G. Corani, A. Benavoli (2015), A Bayesian approach for comparing cross-validated algorithms on
    multiple data sets. A. Benavoli, G. Corani, J. Demšar, M. Zaffalon (2017), Time for a change: a
    tutorial for comparing multiple classifiers through Bayesian analysis.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.30, 0.33, 0.29, 0.31, 0.35],
    ...                        "FCM": [0.28, 0.30, 0.28, 0.31, 0.30]})
    >>> bayesian_correlated_t_test(losses)
    Bayesian correlated t-tests over 5 folds that test on 0.2 of the rows, rope 0.01
                  mean_difference  first_better  equivalent  second_better
    first second
    LPW   FCM               0.022        0.0341      0.1684         0.7975
    """
    width = _check_not_negative("rope", rope)
    found = fold_differences(losses, test_share)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = stats.t.cdf((-width - found.mean) / found.standard_error, found.n_folds - 1)
        above = stats.t.sf((width - found.mean) / found.standard_error, found.n_folds - 1)
    # Without spread the posterior is a point. Its distance to the rope may be a rounding error.
    point = found.standard_error == 0
    outside = np.abs(found.mean) > width + found.negligible
    below[point] = (outside & (found.mean < 0))[point]
    above[point] = (outside & (found.mean > 0))[point]
    return CorrelatedTTestResult(
        pairs=pd.DataFrame(
            np.column_stack([found.mean, below, 1 - below - above, above]),
            index=found.pairs,
            columns=_COLUMNS,
        ),
        rope=width,
        n_folds=found.n_folds,
        test_share=found.test_share,
    )


def bayesian_signed_rank(
    losses: Table,
    *,
    rope: float = ROPE,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    seed: int = 0,
) -> BayesianSignedRankResult:
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
        Number of samples of the weights, at least 100. The standard error of a probability p is
        ``sqrt(p * (1 - p) / n_samples)``.
    seed : int, default=0
        The same seed gives the same probabilities.

    Returns
    -------
    BayesianSignedRankResult

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
    >>> bayesian_signed_rank(losses).pairs.round(2)
                  mean_difference  first_better  equivalent  second_better
    first second
    LPW   FCM                0.05          0.00        0.05           0.95
          FCM-O              0.04          0.00        0.01           0.99
    FCM   FCM-O             -0.01          0.28        0.72           0.00
    """
    table, width, weights = _sampled(losses, rope, prior_strength, n_samples, seed)
    negligible = ROUNDING_ERROR * np.abs(table.to_numpy()).max()
    return BayesianSignedRankResult(
        pairs=pd.DataFrame(
            [
                _signed_rank(first - second, width, weights, negligible)
                for first, second in combinations(table.to_numpy().T, 2)
            ],
            index=pairs_of(table.columns),
            columns=_COLUMNS,
        ),
        rope=width,
        n_sets=len(table),
        prior_strength=float(prior_strength),
        n_samples=int(n_samples),
        seed=int(seed),
    )


def signed_rank_posterior(
    losses: Table,
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
    table, width, weights = _sampled(losses, rope, prior_strength, n_samples, seed)
    if table.shape[1] != 2:
        raise ValueError(f"losses has {table.shape[1]} columns, expected those of two algorithms")
    first, second = table.to_numpy().T
    negligible = ROUNDING_ERROR * np.abs(table.to_numpy()).max()
    # Rounding must not make a probability negative.
    return np.clip(_regions(first - second, width, weights, negligible).T, 0, 1)


def _sampled(
    losses: Table, rope: float, prior_strength: float, n_samples: int, seed: int
) -> tuple[pd.DataFrame, float, NDArray[np.float64]]:
    """Check arguments; return losses, rope, and the weights of prior and sets in each sample."""
    width = _check_not_negative("rope", rope)
    strength = _check_not_negative("prior_strength", prior_strength)
    if strength == 0:
        raise ValueError("prior_strength must be positive, such as 0.5, got 0")
    check_whole("n_samples", n_samples, 100)
    check_whole("seed", seed, 0)
    table = read_losses(losses)
    parameters = [strength, *np.ones(len(table))]
    weights = np.random.default_rng(seed).dirichlet(parameters, n_samples)
    return table, width, weights


def _signed_rank(
    differences: NDArray[np.float64],
    rope: float,
    weights: NDArray[np.float64],
    negligible: float,
) -> tuple[float, ...]:
    """Return the mean difference and the shares of samples in which each region wins."""
    regions = _regions(differences, rope, weights, negligible)
    most_probable = regions >= regions.max(axis=0) - ROUNDING_ERROR
    shares = (most_probable / most_probable.sum(axis=0)).mean(axis=1)
    return float(differences.mean()), *map(float, shares)


def _regions(
    differences: NDArray[np.float64],
    rope: float,
    weights: NDArray[np.float64],
    negligible: float,
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
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return float(value)
