"""Tests between algorithms, as plain data."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb, isnan
from typing import TYPE_CHECKING, Any

from pairmend import stats
from pairmend.report.best import best_of
from pairmend.report.probabilities import probabilities
from pairmend.stats.adjustment import MOST_ALGORITHMS

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.1
"""The paper's level of significance."""

CONFIDENCE = 1 - ALPHA
"""Of the bootstrap intervals, so that they and the tests speak at one level."""

FEWEST_SETS = 5
"""On fewer sets Wilcoxon's test cannot reach 0.1: of 4 sets all won, the exact p is 0.125.

There are no Friedman, Nemenyi and Wilcoxon tests then; the Bayesian tests are always made.
"""

_PROCEDURES = {
    "bergmann-hommel": "Bergmann and Hommel's procedure",
    "shaffer": "Shaffer's procedure",
}


def compare(
    losses: Mapping[str, "pd.DataFrame"],
    characteristics: "pd.DataFrame",
    folds: Mapping[str, "pd.DataFrame"],
    negated: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:
    """Rank and test algorithms by each criterion.

    Parameters
    ----------
    losses : mapping of str to DataFrame
        For each criterion a row per complete set and a column per algorithm; less is better.
    characteristics : DataFrame
        A row per set, indexed like the losses.
    folds : mapping of str to DataFrame
        For each criterion the losses of all folds of the complete sets, indexed by set, repeat and
        fold.
    negated : sequence of str
        Criteria whose values were negated, because more is better.

    Returns
    -------
    dict
        By criterion: ``sets``, ``means``, ``best_mean``, ``ranks``, ``best``, ``friedman``,
        ``critical_difference``, ``groups``, ``nemenyi`` (pairs that differ by its test, the better
        one first), ``pairs``, ``procedure``, ``least_adjusted`` (see `least_adjusted_p`),
        ``out_of_reach`` (why no pair can be significant by Wilcoxon's test, if so), ``spearman``,
        ``probabilities`` (see `pairmend.report.probabilities.probabilities`), ``few`` (whether
        there are too few sets for Friedman's and Wilcoxon's tests) and ``refusal``, the reason why
        these tests were not made, if so.

    Examples
    --------
    >>> import pandas as pd
    >>> index = pd.MultiIndex.from_product(
    ...     [["s", "t"], [0], [0, 1]], names=["set", "repeat", "fold"]
    ... )
    >>> folds = pd.DataFrame({"A": [0.1, 0.1, 0.1, 0.3], "B": [0.3, 0.3, 0.2, 0.2]}, index=index)
    >>> characteristics = pd.DataFrame({"N": [5, 6]}, index=["s", "t"])
    >>> table = folds.groupby("set").mean()
    >>> found = compare({"hamming": table}, characteristics, {"hamming": folds})
    >>> found["hamming"]["ranks"], found["hamming"]["best"]
    ({'A': 1.25, 'B': 1.75}, ['A'])
    >>> found["hamming"]["refusal"]
    "Friedman's and Wilcoxon's tests need at least 5 sets with all results, and there are 2: ...
    """
    found = {
        criterion: _compare_one(
            table, characteristics, folds[criterion], sign=-1.0 if criterion in negated else 1.0
        )
        for criterion, table in losses.items()
    }
    for criterion, test in _friedman(losses).items():
        found[criterion]["friedman"] = test
    return found


def ranks_of(losses: Sequence[Sequence[float]], algorithms: Sequence[str]) -> dict[str, float]:
    """Rank algorithms by losses of one criterion.

    Parameters
    ----------
    losses : sequence of sequences of float
        A row per set, a column per algorithm.
    algorithms : sequence of str
        Their names.

    Returns
    -------
    dict
        Average rank by name.

    Examples
    --------
    >>> ranks_of([[0.1, 0.2], [0.3, 0.3]], ["A", "B"])
    {'A': 1.25, 'B': 1.75}
    """
    ranks = stats.average_ranks(losses)
    return dict(zip(algorithms, map(float, ranks), strict=True))


def least_adjusted_p(n_sets: int, n_algorithms: int) -> float:
    """Return the adjusted p-value of Wilcoxon's test for an algorithm that wins every set.

    None can be smaller: up to 25 sets the test is exact, and all procedures that are used here
    multiply the smallest p-value by the number of pairs.

    Parameters
    ----------
    n_sets, n_algorithms : int
        How many are compared.

    Returns
    -------
    float

    Examples
    --------
    >>> least_adjusted_p(5, 2), least_adjusted_p(6, 4), least_adjusted_p(9, 4)
    (0.0625, 0.1875, 0.0234375)
    """
    won = [[0.0, float(number)] for number in range(1, n_sets + 1)]
    (raw,) = stats.wilcoxon(won, adjust=None).pairs["p_value"]
    return min(1.0, float(raw) * comb(n_algorithms, 2))


def _compare_one(
    losses: "pd.DataFrame", characteristics: "pd.DataFrame", folds: "pd.DataFrame", sign: float
) -> dict[str, Any]:
    n_sets, n_algorithms = losses.shape
    several = n_sets > 0 and n_algorithms > 1
    ranks = ranks_of(losses.to_numpy(), list(losses.columns)) if several else {}
    means = {str(name): sign * float(mean) for name, mean in losses.mean().items() if several}
    found: dict[str, Any] = {
        "sets": list(losses.index),
        "means": means,
        "best_mean": best_of(means, greater_is_better=sign < 0),
        "ranks": ranks,
        "best": best_of(ranks),
        "friedman": None,
        "critical_difference": None,
        "groups": [],
        "nemenyi": [],
        "pairs": [],
        "procedure": "",
        "least_adjusted": None,
        "out_of_reach": "",
        "few": n_sets < FEWEST_SETS,
        "spearman": _spearman(sign * losses, characteristics) if n_sets >= FEWEST_SETS else {},
        "refusal": _refusal(n_sets, n_algorithms),
    }
    # As in the headline: by means on few sets, else by ranks. Equal ones keep their order.
    order = dict(losses.mean()) if found["few"] else ranks
    best_first = sorted(map(str, losses.columns), key=lambda name: order.get(name, 0.0))
    found["probabilities"] = probabilities(losses, folds, best_first, sign=sign)
    if not found["refusal"]:
        found.update(_nemenyi(losses))
        found.update(_pairs(losses, sign))
        found.update(_reach(n_sets, n_algorithms))
    return found


def _refusal(n_sets: int, n_algorithms: int) -> str:
    if n_sets < FEWEST_SETS:
        return (
            f"Friedman's and Wilcoxon's tests need at least {FEWEST_SETS} sets with all results, "
            f"and there {'is' if n_sets == 1 else 'are'} {n_sets or 'none'}: on fewer, Wilcoxon's "
            f"test cannot reach {ALPHA}."
        ) + (" The Bayesian tests are valid on few sets." if n_sets and n_algorithms > 1 else "")
    return "" if n_algorithms > 1 else "A comparison needs at least two algorithms."


def _friedman(losses: Mapping[str, "pd.DataFrame"]) -> dict[str, dict[str, Any]]:
    tested = {
        criterion: table
        for criterion, table in losses.items()
        if len(table) >= FEWEST_SETS and table.shape[1] > 2
    }
    if not tested:
        return {}
    tests = stats.friedman_by_criterion(tested).table
    return {
        criterion: {
            "n_sets": len(table),
            "chi_square": float(tests.loc[criterion, "chi_square"]),
            "p": float(tests.loc[criterion, "p_value"]),
            "f": float(tests.loc[criterion, "iman_davenport"]),
            "f_p": float(tests.loc[criterion, "iman_davenport_p_value"]),
            "adjusted": float(tests.loc[criterion, "adjusted_p_value"]),
            "significant": bool(tests.loc[criterion, "adjusted_p_value"] < ALPHA),
        }
        for criterion, table in tested.items()
    }


def _nemenyi(losses: "pd.DataFrame") -> dict[str, Any]:
    test = stats.nemenyi(losses, alpha=ALPHA)
    best_first = test.average_ranks.sort_values(kind="stable").index
    return {
        "critical_difference": test.critical_difference,
        "groups": [list(map(str, group)) for group in test.groups],
        "nemenyi": [
            (str(better), str(worse))
            for better, worse in combinations(best_first, 2)
            if test.p_values.loc[better, worse] <= ALPHA
        ],
    }


def _pairs(losses: "pd.DataFrame", sign: float) -> dict[str, Any]:
    few = losses.shape[1] <= MOST_ALGORITHMS
    adjust = "bergmann-hommel" if few else "shaffer"
    tests = stats.wilcoxon(losses, adjust=adjust).pairs
    effects = stats.effect_sizes(losses).pairs
    intervals = stats.bootstrap_intervals(
        sign * losses, of="mean_differences", confidence=CONFIDENCE
    ).table
    pairs = [
        {
            "first": str(key[0]),
            "second": str(key[1]),
            "first_better": int(effects.loc[key, "wins"]),
            "ties": int(effects.loc[key, "ties"]),
            "second_better": int(effects.loc[key, "losses"]),
            "difference": float(intervals.loc[key, "estimate"]),
            "low": float(intervals.loc[key, "low"]),
            "high": float(intervals.loc[key, "high"]),
            "effect": float(effects.loc[key, "rank_biserial"]),
            "method": str(tests.loc[key, "method"]),
            "p": float(tests.loc[key, "p_value"]),
            "adjusted": float(tests.loc[key, "adjusted_p_value"]),
            "significant": bool(tests.loc[key, "adjusted_p_value"] < ALPHA),
        }
        for key in tests.index
    ]
    return {"pairs": pairs, "procedure": _PROCEDURES[adjust]}


def _reach(n_sets: int, n_algorithms: int) -> dict[str, Any]:
    """Find out whether any losses on so many sets could give a significant difference."""
    least = least_adjusted_p(n_sets, n_algorithms)
    why = f"on {n_sets} sets no pair of {n_algorithms} algorithms can reach {ALPHA}"
    return {"least_adjusted": least, "out_of_reach": "" if least < ALPHA else why}


def _spearman(values: "pd.DataFrame", characteristics: "pd.DataFrame") -> dict[str, Any]:
    known = characteristics.reindex(values.index).dropna(axis=1)
    if known.empty:
        return {}
    test = stats.spearman(values, known)
    raw = {
        (key, name): float(test.p_values.loc[name, key])
        for key in test.rho.columns
        for name in test.rho.index
    }
    told = {key: p for key, p in raw.items() if not isnan(p)}
    adjusted = dict(zip(told, stats.holm(list(told.values())), strict=True)) if told else {}
    return {
        str(key): {
            str(name): {
                "rho": float(test.rho.loc[name, key]) if (key, name) in told else None,
                "p": told.get((key, name)),
                "adjusted": float(adjusted[key, name]) if (key, name) in told else None,
                "significant": bool(adjusted.get((key, name), 1.0) < ALPHA),
            }
            for name in test.rho.index
        }
        for key in test.rho.columns
    }
