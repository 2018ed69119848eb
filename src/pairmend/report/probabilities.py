"""Results of the Bayesian tests, as plain data; which pairs figures show."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairmend import stats
from pairmend.stats.bayesian import ROPE

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9
"""Probability from which a comparison counts as decided."""

N_SAMPLES = 20_000
"""Samples of the signed-rank test: a probability's standard error is 0.0036 at most."""

MOST_PAIRS = 10
"""Number of pairs up to which figures show all of them; else those with the best algorithm."""

MOST_BARS = 40
"""Number of bars up to which figures of single sets show all pairs; else one pair."""

FIRST, EQUIVALENT, SECOND = "first_better", "equivalent", "second_better"


def probabilities(
    losses: "pd.DataFrame",
    folds: "pd.DataFrame",
    ordered: Sequence[str],
    *,
    sign: float = 1.0,
) -> dict[str, Any]:
    """Compare algorithms by one metric with tests that are valid on few sets."""
    rope = rope_of(folds)
    several = losses.shape[1] > 1
    over_sets = several and len(losses) > 1
    return {
        "rope": rope,
        "ordered": list(ordered) if several else [],
        "over_sets": _over_sets(losses, rope, sign) if over_sets else [],
        "on_sets": list(_on_sets(folds, rope, sign)) if several else [],
    }


def rope_of(folds: "pd.DataFrame") -> float:
    """Return the half-width of the region of practical equivalence of a metric."""
    largest = float(folds.abs().max().max()) if folds.size else 1.0
    return ROPE * max(1.0, largest)


def shown_pairs(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs that figures show."""
    names = found["ordered"]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    return pairs if len(pairs) <= MOST_PAIRS else pairs[: len(names) - 1]


def pairs_on_sets(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs that figures of single sets show, a bar for each set and pair."""
    pairs = shown_pairs(found)
    n_sets = len({entry["set"] for entry in found["on_sets"]})
    return pairs if len(pairs) * n_sets <= MOST_BARS else pairs[:1]


def between(entries: Sequence[Mapping[str, Any]], first: str, second: str) -> dict[str, Any]:
    """Return the comparison of two algorithms, which may be stored in the other order."""
    for entry in entries:
        if (entry["first"], entry["second"]) == (first, second):
            return {key: entry[key] for key in (FIRST, EQUIVALENT, SECOND, "decided")}
        if (entry["first"], entry["second"]) == (second, first):
            turned = {FIRST: SECOND, SECOND: FIRST}
            return {
                FIRST: entry[SECOND],
                EQUIVALENT: entry[EQUIVALENT],
                SECOND: entry[FIRST],
                "decided": turned.get(entry["decided"], entry["decided"]),
            }
    raise ValueError(f"there is no comparison of {first!r} and {second!r}")


def _over_sets(losses: "pd.DataFrame", rope: float, sign: float) -> list[dict[str, Any]]:
    pairs = stats.bayesian_signed_rank(losses, rope=rope, n_samples=N_SAMPLES)
    return [_entry(key, row, sign) for key, row in zip(pairs.index, _rows(pairs), strict=True)]


def _on_sets(folds: "pd.DataFrame", rope: float, sign: float) -> Iterator[dict[str, Any]]:
    for name in folds.index.get_level_values("set").unique():
        one = folds.xs(name, level="set")
        if len(one) < 2:  # a single value has no spread
            continue
        pairs = stats.corrected_t_test(one, rope=rope)
        for key, row in zip(pairs.index, _rows(pairs), strict=True):
            yield {
                "set": str(name),
                **_entry(key, row, sign),
                "t": sign * float(row["statistic"]),
                "p": float(row["p_value"]),
            }


def _rows(pairs: "pd.DataFrame") -> list[dict[str, float]]:
    return pairs.to_dict("records")


def _entry(key: tuple[Any, Any], row: Mapping[str, float], sign: float) -> dict[str, Any]:
    shares = {name: float(row[name]) for name in (FIRST, EQUIVALENT, SECOND)}
    return {
        "first": str(key[0]),
        "second": str(key[1]),
        "difference": sign * float(row["mean_difference"]),
        **shares,
        "decided": next((name for name, share in shares.items() if share >= LEVEL), ""),
    }
