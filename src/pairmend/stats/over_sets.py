"""Tests over datasets: Friedman, Nemenyi, Wilcoxon, effect sizes, correlations, intervals."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pairmend.stats import adjustment, tables

MOST_EXACT = 25
"""Number of different sets up to which the p-value of a pair is exact by default."""

_BATCH = 500
"""Resamples drawn at a time, which bounds the memory to n_pairs * n_sets * 500 numbers."""


def friedman(losses: tables.Table) -> pd.Series:
    """Test whether all algorithms perform alike, by the ranks of their losses.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better. At least 3 algorithms and 2 sets.

    Returns
    -------
    Series
        ``chi_square`` and ``p_value``: Friedman's statistic, corrected for ties, and its p-value.
        ``iman_davenport`` and ``iman_davenport_p_value``: Iman and Davenport's F, less
        conservative, and its p-value; infinite, with p-value 0, if all sets rank the algorithms in
        the same way.

    References
    ----------
    M. Friedman (1940), A comparison of alternative tests of significance for the problem of m
    rankings. R. L. Iman, J. M. Davenport (1980), Approximations of the critical region of the
    Friedman statistic.

    Examples
    --------
    >>> friedman([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8], [0.2, 0.1, 0.1]]).round(4)
    chi_square                 6.5333
    p_value                    0.0381
    iman_davenport            13.3636
    iman_davenport_p_value     0.0062
    dtype: float64

    With several metrics, adjust the p-values for their number:

    >>> from pairmend.stats import adjust
    >>> tables = {"hamming": [[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8]],
    ...           "zero_one": [[0.3, 0.2, 0.1], [0.4, 0.4, 0.5], [0.9, 0.9, 0.9]]}
    >>> adjust({name: friedman(table)["p_value"] for name, table in tables.items()}).round(4)
    hamming     0.1939
    zero_one    0.8669
    dtype: float64
    """
    table = tables.read_losses(losses, algorithms=3)
    n_sets, n_algorithms = table.shape
    ranks = tables.ranks_within_sets(table.to_numpy())
    chi_square, p_value = 0.0, 1.0
    if (np.ptp(ranks, axis=1) > 0).any():  # else all losses are equal, and scipy computes 0 / 0
        outcome = stats.friedmanchisquare(*ranks.T)
        chi_square, p_value = max(0.0, float(outcome.statistic)), float(outcome.pvalue)

    largest = n_sets * (n_algorithms - 1)  # reached if all sets rank alike
    rest = largest - chi_square
    f = np.inf if rest < 1e-9 * largest else (n_sets - 1) * chi_square / rest
    f_p_value = stats.f.sf(f, n_algorithms - 1, (n_algorithms - 1) * (n_sets - 1))
    return pd.Series(
        {
            "chi_square": chi_square,
            "p_value": p_value,
            "iman_davenport": f,
            "iman_davenport_p_value": f_p_value,
        }
    )


def critical_difference(n_algorithms: int, n_sets: int, *, alpha: float = 0.05) -> float:
    """Return the difference of average ranks from which Nemenyi's test finds a difference.

    Parameters
    ----------
    n_algorithms, n_sets : int
        Numbers of algorithms, at least 2, and of sets.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    float
        The critical difference.

    References
    ----------
    J. Demšar (2006), Statistical comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> round(critical_difference(4, 29, alpha=0.1), 3)
    0.777
    """
    if n_algorithms < 2 or n_sets < 1:
        raise ValueError(f"expected 2 algorithms and 1 set or more, got {n_algorithms}, {n_sets}")
    level = tables.check_share("alpha", alpha)
    quantile = stats.studentized_range.isf(level, n_algorithms, np.inf)
    return float(quantile * _rank_unit(n_algorithms, n_sets))


def nemenyi(losses: tables.Table) -> pd.DataFrame:
    """Compare all pairs of algorithms by their average ranks.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.

    Returns
    -------
    DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``rank_difference`` (first minus second, so negative where the first is better) and
        ``p_value``, which is adjusted for the number of pairs.

    References
    ----------
    J. Demšar (2006), Statistical comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> losses = pd.DataFrame([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8], [0.2, 0.1, 0.1]],
    ...                       columns=["LPW", "FCM", "FCM-O"])
    >>> nemenyi(losses).round(4)
                  rank_difference  p_value
    first second
    LPW   FCM               1.625   0.0561
          FCM-O             1.375   0.1263
    FCM   FCM-O            -0.250   0.9334
    """
    table = tables.read_losses(losses)
    n_sets, n_algorithms = table.shape
    ranks = tables.average_ranks(table).to_numpy()
    first, second = np.triu_indices(n_algorithms, 1)
    differences = ranks[first] - ranks[second]
    ranges = np.abs(differences) / _rank_unit(n_algorithms, n_sets)
    p_values = np.minimum(stats.studentized_range.sf(ranges, n_algorithms, np.inf), 1)
    return pd.DataFrame(
        {"rank_difference": differences, "p_value": p_values}, index=tables.pairs_of(table.columns)
    )


def _rank_unit(n_algorithms: int, n_sets: int) -> float:
    """Return the difference of ranks that is 1 in the studentised range, sqrt(2) in Demšar's q."""
    return float(np.sqrt(n_algorithms * (n_algorithms + 1) / (12 * n_sets)))


def wilcoxon(
    losses: tables.Table,
    *,
    adjust: str | None = "bergmann-hommel",
    method: str = "auto",
    control: Hashable | None = None,
) -> pd.DataFrame:
    """Compare all pairs of algorithms by the signed ranks of their differences.

    Sets on which two algorithms are equal are left out of their test; differences within rounding
    error (1e-12 of the largest loss) of each other share their ranks. A pair that never differs has
    p-value 1.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.
    adjust : {"holm", "shaffer", "bergmann-hommel"} or None, default="bergmann-hommel"
        How to adjust the p-values for the number of pairs, see `pairmend.stats.adjust`; None
        means no adjustment. Bergmann and Hommel's procedure is the most powerful, and for up to 9
        algorithms. It and Shaffer's are for all pairs: with `control`, pass "holm" or None.
    method : {"auto", "normal", "exact"}, default="auto"
        - ``"exact"``: the exact distribution over all signs of the observed ranks. It is exact
          with ties, too.
        - ``"normal"``: normal approximation with continuity and tie correction. On few sets its
          p-values can be too small: 0.037 for 5 equal differences of one sign, where the exact
          p-value is 0.0625.
        - ``"auto"``: exact for pairs that differ on at most 25 sets, normal for the others.
    control : str, default=None
        Name of one algorithm: it alone is compared with each other one. Fewer pairs leave smaller
        adjusted p-values.

    Returns
    -------
    DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …; with `control`, it is the
        first of each pair. The test has the columns ``statistic`` (the smaller sum of ranks),
        ``method`` (``"exact"`` or ``"normal"``, the distribution that was used), ``p_value`` and
        ``adjusted_p_value``; how much the two differ is in

        - ``rank_biserial``: matched-pairs rank-biserial correlation, from -1 to 1. The share of
          the ranks of the differences in favour of the first algorithm minus the share in favour
          of the second; 0 if they never differ;
        - ``median_difference``: median of the first's loss minus the second's, so negative where
          the first is better;
        - ``wins``, ``ties``, ``losses``: numbers of sets on which the first is better, equal,
          worse.

    References
    ----------
    D. S. Kerby (2014), The simple difference formula: an approach to teaching nonparametric
    correlation.

    Examples
    --------
    >>> losses = pd.DataFrame([[0.3, 0.2, 0.1], [0.5, 0.4, 0.45], [0.9, 0.7, 0.8], [0.2, 0.1, 0.1]],
    ...                       columns=["LPW", "FCM", "FCM-O"])
    >>> pairs = wilcoxon(losses, adjust="holm", method="exact")
    >>> pairs[["statistic", "p_value", "adjusted_p_value", "rank_biserial", "ties"]].round(3)
                  statistic  p_value  adjusted_p_value  rank_biserial  ties
    first second
    LPW   FCM           0.0    0.125             0.375         -1.000     0
          FCM-O         0.0    0.125             0.375         -1.000     0
    FCM   FCM-O         2.5    1.000             1.000          0.167     1
    """
    tables.check_choice("adjust", adjust, (None, *adjustment.METHODS))
    tables.check_choice("method", method, ("auto", "normal", "exact"))
    table = tables.read_losses(losses)
    index = tables.pairs_of(table.columns, control)
    if control is not None and adjust not in ("holm", None):
        raise ValueError(
            f"adjust={adjust!r} is for all pairs of algorithms; with control={control!r} pass "
            "adjust='holm', or None"
        )
    pairs = pd.DataFrame(
        [_wilcoxon(table[a].to_numpy(), table[b].to_numpy(), method) for a, b in index], index=index
    )
    p_values = pairs["p_value"]
    adjusted = p_values if adjust is None else adjustment.adjust(p_values, adjust)
    pairs.insert(3, "adjusted_p_value", adjusted)
    return pairs


def _wilcoxon(
    first: NDArray[np.float64], second: NDArray[np.float64], method: str
) -> dict[str, float | str]:
    """Return test and effect sizes of a pair."""
    signed = _signed_levels(first, second)
    different = signed[signed != 0]
    ranks = stats.rankdata(np.abs(different))
    less, more = float(ranks[different < 0].sum()), float(ranks[different > 0].sum())
    statistic = min(less, more)
    if method == "auto":
        method = "exact" if len(ranks) <= MOST_EXACT else "normal"
    if not len(ranks):
        p_value = 1.0
    elif method == "exact":
        p_value = _exact_p_value(ranks, statistic)
    else:
        # scipy before 1.15 accepts "approx" only; later versions keep it as an alias.
        outcome = stats.wilcoxon(signed, zero_method="wilcox", correction=True, method="approx")
        p_value = float(outcome.pvalue)
    return {
        "statistic": statistic,
        "method": method,
        "p_value": p_value,
        "rank_biserial": (less - more) / (less + more) if len(ranks) else 0.0,
        "median_difference": np.median(np.where(signed == 0, 0.0, first - second)),
        "wins": (signed < 0).sum(),
        "ties": (signed == 0).sum(),
        "losses": (signed > 0).sum(),
    }


def _exact_p_value(ranks: NDArray[np.float64], statistic: float) -> float:
    """Return the two-sided p-value over all signs; scipy's exact one is for untied ranks."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # shared ranks can be halves
    probabilities = np.zeros(doubled.sum() + 1)
    probabilities[0] = 1
    for rank in doubled:
        positive = np.zeros_like(probabilities)
        positive[rank:] = probabilities[:-rank]
        probabilities = (probabilities + positive) / 2
    return min(1.0, 2 * float(probabilities[: round(2 * statistic) + 1].sum()))


def _signed_levels(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return differences of losses as whole numbers with the same signs and order of size."""
    differences = first - second
    scale = max(np.abs(first).max(), np.abs(second).max())
    sizes = np.concatenate([[0.0], np.abs(differences)])  # level 0 is the difference 0
    return (
        np.sign(differences).astype(np.int64)
        * tables.levels(sizes[None], np.array([[scale]]))[0, 1:]
    )


def spearman(losses: tables.Table, characteristics: tables.Table) -> pd.DataFrame:
    """Correlate each algorithm's losses with each characteristic of the sets.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better. At least 3 sets.
    characteristics : DataFrame or array-like of shape (n_sets, n_characteristics)
        Numbers, such as a set's label cardinality. Two frames are matched by their index, and this
        one may have further sets; other tables are matched row by row.

    Returns
    -------
    DataFrame
        A row per characteristic and algorithm, with the columns ``rho`` and ``p_value``
        (two-sided, by Student's distribution); NaN where a column is the same on all sets.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.3, 0.2, 0.4, 0.5], "FCM": [0.3, 0.4, 0.1, 0.2]})
    >>> found = spearman(losses, pd.DataFrame({"L": [12, 5, 20, 30], "LC": [1.5, 4.0, 1.1, 1.5]}))
    >>> found.round(3)
                                rho  p_value
    characteristic algorithm
    L              LPW        1.000    0.000
                   FCM       -0.800    0.200
    LC             LPW       -0.632    0.368
                   FCM        0.949    0.051
    """
    table = tables.read_losses(losses, algorithms=1, sets=3)
    if isinstance(losses, pd.DataFrame) and isinstance(characteristics, pd.DataFrame | pd.Series):
        characteristics = characteristics.reindex(table.index)
    numbers = tables.read_table(characteristics, "characteristics", "characteristic")
    if len(numbers) != len(table):
        raise ValueError(
            f"losses has {len(table)} sets and characteristics {len(numbers)}: pass the same sets "
            "in the same order, or two frames with the sets' names as index"
        )
    names = [numbers.columns, table.columns]
    return pd.DataFrame(
        [_correlation(a, b) for a in _columns(numbers) for b in _columns(table)],
        index=pd.MultiIndex.from_product(names, names=["characteristic", "algorithm"]),
        columns=["rho", "p_value"],
    )


def _columns(table: pd.DataFrame) -> list[NDArray[np.int64]]:
    values = table.to_numpy().T
    return list(tables.levels(values, np.abs(values).max(axis=1, keepdims=True)))


def _correlation(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[float, float]:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan, np.nan
    outcome = stats.spearmanr(a, b)
    return float(outcome.statistic), float(outcome.pvalue)


def bootstrap_intervals(
    losses: tables.Table,
    *,
    control: Hashable | None = None,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Intervals of mean differences of losses over the sets, by drawing sets with replacement.

    The intervals are bias-corrected and accelerated. All pairs share the drawn sets, so a
    permutation of the algorithms only permutes the rows.

    Parameters
    ----------
    losses : DataFrame or array-like of shape (n_sets, n_algorithms)
        Lower is better.
    control : str, default=None
        Name of one algorithm, to whose pairs the intervals are limited, as in `wilcoxon`.
    confidence : float, default=0.95
        Level of confidence.
    n_resamples : int, default=9999
        Number of draws.
    seed : int, default=0
        The same seed gives the same intervals.

    Returns
    -------
    DataFrame
        A row per pair of algorithms, in the order (0, 1), (0, 2), …, with the columns
        ``estimate`` (first minus second, so negative where the first is better), ``low`` and
        ``high``. The interval of a difference that is the same on all sets is that one value.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals.

    Examples
    --------
    >>> losses = pd.DataFrame({"LPW": [0.3, 0.5, 0.4, 0.2], "FCM": [0.1, 0.4, 0.4, 0.1]})
    >>> bootstrap_intervals(losses, seed=3)
                  estimate    low  high
    first second
    LPW   FCM          0.1  0.025  0.15
    """
    level = tables.check_share("confidence", confidence)
    table = tables.read_losses(losses)
    pairs = tables.pairs_of(table.columns, control)
    values = np.array([table[first] - table[second] for first, second in pairs])
    means = dict.fromkeys(["estimate", "low", "high"], values.mean(axis=1))
    intervals = pd.DataFrame(means, index=pairs)
    varies = np.ptp(values, axis=1) > tables.ROUNDING_ERROR * np.abs(table.to_numpy()).max()
    if varies.any():  # a difference that does not vary has no such interval
        found = stats.bootstrap(
            (values[varies],),
            np.mean,
            axis=-1,
            vectorized=True,
            confidence_level=level,
            method="BCa",
            n_resamples=n_resamples,
            batch=_BATCH,
            random_state=np.random.default_rng(seed),
        ).confidence_interval
        intervals.loc[varies, ["low", "high"]] = np.column_stack([found.low, found.high])
    return intervals
