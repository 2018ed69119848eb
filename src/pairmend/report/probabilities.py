"""Probabilities that one algorithm is better than another, as plain data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairmend import stats
from pairmend.stats.bayesian import ROPE

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9
"""A probability from which on a comparison counts as decided."""

N_SAMPLES = 20_000
"""Samples of the signed-rank test: a probability's standard error is 0.0036 at most."""

MOST_PAIRS = 10
"""Figures show every pair up to so many; of more, those of the reference only."""

MOST_BARS = 40
"""Figures of single sets show one pair only if they had more bars otherwise."""

FIRST, EQUIVALENT, SECOND = "first_better", "equivalent", "second_better"


def probabilities(
    losses: "pd.DataFrame",
    folds: "pd.DataFrame",
    ordered: Sequence[str],
    *,
    sign: float = 1.0,
) -> dict[str, Any]:
    """Compare algorithms by one criterion with tests that are valid on few sets.

    Parameters
    ----------
    losses : DataFrame
        A row per complete set and a column per algorithm; less is better.
    folds : DataFrame
        The losses of the folds of these sets, indexed by set, repeat and fold.
    ordered : sequence of str
        The algorithms, best first; the first is the reference.
    sign : float, default=1.0
        -1 if the criterion was negated, because more is better.

    Returns
    -------
    dict
        ``rope``; ``ordered``; ``over_sets``, an entry per pair by the Bayesian signed-rank test,
        empty for a single set; ``on_sets``, an entry per set and pair by the corrected resampled
        t-test and the Bayesian correlated t-test over folds. An entry has ``first``, ``second``,
        ``difference`` (first minus second), the three probabilities ``first_better``,
        ``equivalent`` and ``second_better``, and ``decided``, the name of the one that reaches 0.9
        or an empty text. Those of sets have also ``set``, ``t`` and ``p``.

    Examples
    --------
    >>> import pandas as pd
    >>> index = pd.MultiIndex.from_product([["s"], [0], range(4)], names=["set", "repeat", "fold"])
    >>> folds = pd.DataFrame({"A": [0.1, 0.2, 0.1, 0.2], "B": [0.3, 0.4, 0.4, 0.3]}, index=index)
    >>> found = probabilities(folds.groupby("set").mean(), folds, ["A", "B"])
    >>> found["rope"], found["over_sets"], found["on_sets"][0]["decided"]
    (0.01, [], 'first_better')
    """
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
    """Return the half-width of the region of practical equivalence of a criterion.

    Parameters
    ----------
    folds : DataFrame
        All of its values.

    Returns
    -------
    float
        0.01, which is meant for values in [0, 1]; a hundredth of the largest value if that is
        above 1.

    Examples
    --------
    >>> import pandas as pd
    >>> rope_of(pd.DataFrame({"A": [0.1, 0.5]})), rope_of(pd.DataFrame({"A": [-3.0, 50.0]}))
    (0.01, 0.5)
    """
    largest = float(folds.abs().max().max()) if folds.size else 1.0
    return ROPE * max(1.0, largest)


def shown_pairs(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the pairs that figures show.

    Parameters
    ----------
    found : dict
        As of `probabilities`.

    Returns
    -------
    list of tuple of str
        All pairs, the better one first, if they are 10 at most; else the best with each other.

    Examples
    --------
    >>> shown_pairs({"ordered": ["FCM", "LPW", "FCM-O"]})
    [('FCM', 'LPW'), ('FCM', 'FCM-O'), ('LPW', 'FCM-O')]
    >>> len(shown_pairs({"ordered": list("abcdef")}))
    5
    """
    names = found["ordered"]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    return pairs if len(pairs) <= MOST_PAIRS else pairs[: len(names) - 1]


def pairs_on_sets(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the pairs that figures of single sets show, a bar for each set and pair.

    Parameters
    ----------
    found : dict
        As of `probabilities`.

    Returns
    -------
    list of tuple of str
        Those of `shown_pairs`, or the two best algorithms if the bars would be more than 40.

    Examples
    --------
    >>> found = {"ordered": ["FCM", "LPW", "FCM-O"], "on_sets": [{"set": n} for n in range(20)]}
    >>> pairs_on_sets(found)
    [('FCM', 'LPW')]
    """
    pairs = shown_pairs(found)
    n_sets = len({entry["set"] for entry in found["on_sets"]})
    return pairs if len(pairs) * n_sets <= MOST_BARS else pairs[:1]


def between(entries: Sequence[Mapping[str, Any]], first: str, second: str) -> dict[str, Any]:
    """Find the comparison of two algorithms, in whichever order it was made.

    Parameters
    ----------
    entries : sequence of dict
        Of `probabilities`, over sets or on one set.
    first, second : str
        Two algorithms.

    Returns
    -------
    dict
        The three probabilities and ``decided``, ``first`` and ``second`` being as given.

    Examples
    --------
    >>> entry = {"first": "A", "second": "B", "first_better": 0.95, "equivalent": 0.05,
    ...          "second_better": 0.0, "decided": "first_better"}
    >>> between([entry], "B", "A")["decided"]
    'second_better'
    """
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
    pairs = stats.bayesian_signed_rank(losses, rope=rope, n_samples=N_SAMPLES).pairs
    return [_entry(key, row, sign) for key, row in zip(pairs.index, _rows(pairs), strict=True)]


def _on_sets(folds: "pd.DataFrame", rope: float, sign: float) -> Iterator[dict[str, Any]]:
    for name in folds.index.get_level_values("set").unique():
        one = folds.xs(name, level="set")
        tests = stats.corrected_t_test(one).pairs
        pairs = stats.bayesian_correlated_t_test(one, rope=rope).pairs
        for key, row, test in zip(pairs.index, _rows(pairs), _rows(tests), strict=True):
            yield {
                "set": str(name),
                **_entry(key, row, sign),
                "t": sign * float(test["statistic"]),
                "p": float(test["p_value"]),
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
