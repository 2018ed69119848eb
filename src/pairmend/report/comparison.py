"""Results of the statistical tests between algorithms, as plain data."""

from collections.abc import Mapping, Sequence
from math import comb
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
"""Confidence of the bootstrap intervals, at the level of the tests."""

MIN_SETS = 5
"""Minimum number of sets for the tests of Friedman, Nemenyi and Wilcoxon.

With 4 sets the smallest exact p-value of Wilcoxon's test is 0.125. The Bayesian tests have no
minimum.
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
    """Rank and test algorithms by each metric; metrics in `negated` have the sign changed back."""
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
    """Return average ranks by the losses of one metric."""
    ranks = stats.average_ranks(losses)
    return dict(zip(algorithms, map(float, ranks), strict=True))


def least_adjusted_p(n_sets: int, n_algorithms: int) -> float:
    """Return the adjusted p-value of Wilcoxon's test for an algorithm that wins every set."""
    # No p-value is smaller: up to 25 sets the test is exact, and all procedures used here multiply
    # the smallest p-value by the number of pairs.
    won = [[0.0, float(number)] for number in range(1, n_sets + 1)]
    (raw,) = stats.wilcoxon(won, adjust=None)["p_value"]
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
        "nemenyi": [],
        "pairs": [],
        "procedure": "",
        "least_adjusted": None,
        "out_of_reach": "",
        "few_sets": n_sets < MIN_SETS,
        "spearman": _spearman(sign * losses, characteristics) if n_sets >= MIN_SETS else {},
        "untested_reason": _untested_reason(n_sets, n_algorithms),
    }
    # As in the headline: by means on few sets, else by ranks. The sort is stable.
    order = dict(losses.mean()) if found["few_sets"] else ranks
    best_first = sorted(map(str, losses.columns), key=lambda name: order.get(name, 0.0))
    found["probabilities"] = probabilities(losses, folds, best_first, sign=sign)
    if not found["untested_reason"]:
        found.update(_nemenyi(losses))
        found.update(_pairs(losses, sign))
        found.update(_reach(n_sets, n_algorithms))
    return found


def _untested_reason(n_sets: int, n_algorithms: int) -> str:
    if n_sets < MIN_SETS:
        return (
            f"Friedman's and Wilcoxon's tests need at least {MIN_SETS} sets with all results, "
            f"found {n_sets}: with fewer sets, no p-value of Wilcoxon's test is below {ALPHA}."
        ) + (" The Bayesian tests are valid on few sets." if n_sets and n_algorithms > 1 else "")
    return "" if n_algorithms > 1 else "A comparison needs at least two algorithms."


def _friedman(losses: Mapping[str, "pd.DataFrame"]) -> dict[str, dict[str, Any]]:
    tested = {
        criterion: table
        for criterion, table in losses.items()
        if len(table) >= MIN_SETS and table.shape[1] > 2
    }
    if not tested:
        return {}
    tests = {criterion: stats.friedman(table) for criterion, table in tested.items()}
    adjusted = stats.adjust({criterion: test["p_value"] for criterion, test in tests.items()})
    return {
        criterion: {
            "n_sets": len(tested[criterion]),
            "chi_square": float(test["chi_square"]),
            "p": float(test["p_value"]),
            "f": float(test["iman_davenport"]),
            "f_p": float(test["iman_davenport_p_value"]),
            "adjusted": float(adjusted[criterion]),
            "significant": bool(adjusted[criterion] < ALPHA),
        }
        for criterion, test in tests.items()
    }


def _nemenyi(losses: "pd.DataFrame") -> dict[str, Any]:
    best_first = stats.average_ranks(losses).sort_values(kind="stable").index
    p_values = stats.nemenyi(losses[best_first])["p_value"]
    return {
        "critical_difference": stats.critical_difference(*losses.shape[::-1], alpha=ALPHA),
        "nemenyi": [(str(a), str(b)) for (a, b), p in p_values.items() if p <= ALPHA],
    }


def _pairs(losses: "pd.DataFrame", sign: float) -> dict[str, Any]:
    adjust = "bergmann-hommel" if losses.shape[1] <= MOST_ALGORITHMS else "shaffer"
    tests = stats.wilcoxon(losses, adjust=adjust)
    intervals = stats.bootstrap_intervals(
        sign * losses, of="mean_differences", confidence=CONFIDENCE
    )
    pairs = [
        {
            "first": str(key[0]),
            "second": str(key[1]),
            "first_better": int(tests.loc[key, "wins"]),
            "ties": int(tests.loc[key, "ties"]),
            "second_better": int(tests.loc[key, "losses"]),
            "difference": float(intervals.loc[key, "estimate"]),
            "low": float(intervals.loc[key, "low"]),
            "high": float(intervals.loc[key, "high"]),
            "effect": float(tests.loc[key, "rank_biserial"]),
            "method": str(tests.loc[key, "method"]),
            "p": float(tests.loc[key, "p_value"]),
            "adjusted": float(tests.loc[key, "adjusted_p_value"]),
            "significant": bool(tests.loc[key, "adjusted_p_value"] < ALPHA),
        }
        for key in tests.index
    ]
    return {"pairs": pairs, "procedure": _PROCEDURES[adjust]}


def _reach(n_sets: int, n_algorithms: int) -> dict[str, Any]:
    """Return whether any losses on this number of sets could give a significant difference."""
    least = least_adjusted_p(n_sets, n_algorithms)
    why = f"with {n_sets} sets and {n_algorithms} algorithms no p-value can be below {ALPHA}"
    return {"least_adjusted": least, "out_of_reach": "" if least < ALPHA else why}


def _spearman(values: "pd.DataFrame", characteristics: "pd.DataFrame") -> dict[str, Any]:
    known = characteristics.reindex(values.index).dropna(axis=1)
    if known.empty:
        return {}
    test = stats.spearman(values, known)
    defined = test["p_value"].dropna()
    adjusted = stats.adjust(defined) if len(defined) else defined
    found: dict[str, Any] = {}
    for (key, name), row in test.iterrows():
        is_defined = (key, name) in adjusted
        found.setdefault(str(key), {})[str(name)] = {
            "rho": float(row["rho"]) if is_defined else None,
            "p": float(row["p_value"]) if is_defined else None,
            "adjusted": float(adjusted[key, name]) if is_defined else None,
            "significant": is_defined and bool(adjusted[key, name] < ALPHA),
        }
    return found
