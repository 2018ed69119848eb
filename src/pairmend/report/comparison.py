"""Tests between algorithms, as plain data."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from pairmend import stats

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.1
"""The paper's level of significance."""

CONFIDENCE = 0.95
"""Of the bootstrap intervals."""

FEWEST_SETS = 5
"""On fewer sets Wilcoxon's test cannot reach 0.1: of 4 sets all won, the exact p is 0.125."""

MOST_FOR_BERGMANN_HOMMEL = 9

_PROCEDURES = {
    "bergmann-hommel": "Bergmann and Hommel's procedure",
    "shaffer": "Shaffer's procedure",
}


def compare(
    losses: Mapping[str, "pd.DataFrame"],
    characteristics: "pd.DataFrame",
    negated: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:
    """Rank and test algorithms by each criterion.

    Parameters
    ----------
    losses : mapping of str to DataFrame
        For each criterion a row per complete set and a column per algorithm; less is better.
    characteristics : DataFrame
        A row per set, indexed like the losses.
    negated : sequence of str
        Criteria whose values were negated, because more is better.

    Returns
    -------
    dict
        By criterion: ``sets``, ``ranks``, ``best``, ``friedman``, ``critical_difference``,
        ``groups``, ``nemenyi`` (pairs that differ by it, the better one first), ``pairs``,
        ``procedure``, ``spearman`` and ``refusal``, which says why there are no tests, if so.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"A": [0.1, 0.2], "B": [0.3, 0.2]}, index=["s", "t"])
    >>> found = compare({"hamming": table}, pd.DataFrame({"N": [5, 6]}, index=["s", "t"]))
    >>> found["hamming"]["ranks"], found["hamming"]["best"]
    ({'A': 1.25, 'B': 1.75}, ['A'])
    >>> found["hamming"]["refusal"]
    'Tests need at least 5 sets with all results, and there are 2.'
    """
    found = {
        criterion: _compare_one(table, characteristics, sign=-1.0 if criterion in negated else 1.0)
        for criterion, table in losses.items()
    }
    _adjust_over_criteria([each["friedman"] for each in found.values() if each["friedman"]])
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


def _compare_one(
    losses: "pd.DataFrame", characteristics: "pd.DataFrame", sign: float
) -> dict[str, Any]:
    n_sets, n_algorithms = losses.shape
    ranks = ranks_of(losses.to_numpy(), list(losses.columns)) if n_sets else {}
    found: dict[str, Any] = {
        "sets": list(losses.index),
        "ranks": ranks if n_algorithms > 1 else {},
        "best": _least(ranks) if n_algorithms > 1 else [],
        "friedman": None,
        "critical_difference": None,
        "groups": [],
        "nemenyi": [],
        "pairs": [],
        "procedure": "",
        "spearman": {},
        "refusal": _refusal(n_sets, n_algorithms),
    }
    if found["ranks"] and n_sets > 1:
        nemenyi = stats.nemenyi(losses, alpha=ALPHA)
        found["critical_difference"] = nemenyi.critical_difference
        found["groups"] = [list(map(str, group)) for group in nemenyi.groups]
    if n_sets < FEWEST_SETS:
        return found
    found["spearman"] = _spearman(sign * losses, characteristics)
    if n_algorithms > 1:
        found["nemenyi"] = _apart(ranks, found["critical_difference"])
        found.update(_pairs(losses, sign))
    if n_algorithms > 2:
        found["friedman"] = _friedman(losses)
    return found


def _refusal(n_sets: int, n_algorithms: int) -> str:
    if n_algorithms < 2:
        return "A comparison needs at least two algorithms."
    if n_sets < FEWEST_SETS:
        return (
            f"Tests need at least {FEWEST_SETS} sets with all results, and there "
            f"{'is' if n_sets == 1 else 'are'} {n_sets or 'none'}."
        )
    return ""


def _friedman(losses: "pd.DataFrame") -> dict[str, Any]:
    test = stats.friedman(losses)
    return {
        "n_sets": test.n_sets,
        "chi_square": test.chi_square,
        "p": test.p_value,
        "f": test.iman_davenport,
        "f_p": test.iman_davenport_p_value,
    }


def _adjust_over_criteria(tests: list[dict[str, Any]]) -> None:
    if tests:
        adjusted = stats.holm([test["p"] for test in tests])
        for test, p in zip(tests, map(float, adjusted), strict=True):
            test["adjusted"], test["significant"] = p, p < ALPHA


def _pairs(losses: "pd.DataFrame", sign: float) -> dict[str, Any]:
    few = losses.shape[1] <= MOST_FOR_BERGMANN_HOMMEL
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
            "p": float(tests.loc[key, "p_value"]),
            "adjusted": float(tests.loc[key, "adjusted_p_value"]),
            "significant": bool(tests.loc[key, "adjusted_p_value"] < ALPHA),
        }
        for key in tests.index
    ]
    return {"pairs": pairs, "procedure": _PROCEDURES[adjust]}


def _apart(ranks: Mapping[str, float], difference: float) -> list[tuple[str, str]]:
    """List the pairs whose ranks differ by the critical difference, the better one first."""
    order = sorted(ranks, key=lambda name: ranks[name])
    return [
        (better, worse)
        for place, better in enumerate(order)
        for worse in order[place + 1 :]
        if ranks[worse] - ranks[better] >= difference
    ]


def _spearman(values: "pd.DataFrame", characteristics: "pd.DataFrame") -> dict[str, Any]:
    known = characteristics.reindex(values.index).dropna(axis=1)
    if known.empty:
        return {}
    test = stats.spearman(values, known)
    return {
        str(key): {
            str(name): {
                "rho": None if isnan(test.rho.loc[name, key]) else float(test.rho.loc[name, key]),
                "p": None
                if isnan(test.p_values.loc[name, key])
                else float(test.p_values.loc[name, key]),
                "significant": bool(test.p_values.loc[name, key] < ALPHA),
            }
            for name in test.rho.index
        }
        for key in test.rho.columns
    }


def _least(ranks: Mapping[str, float]) -> list[str]:
    least = min(ranks.values(), default=0.0)
    return [name for name, rank in ranks.items() if rank - least < 1e-9]
