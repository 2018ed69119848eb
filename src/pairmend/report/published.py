"""Comparison of the paper's printed losses with measured ones.

The share of labels that a method predicts follows from its printed losses. With P the share of
label decisions that are positive and LD the label density, the Hamming loss is H = P + LD - 2 TP
and the micro F1 loss is M = H / (P + LD), so that P = H / M - LD (for means over folds,
approximately). The mean score of each row is 1/2, so a threshold at 1/2 predicts about half of the
labels: where P is close to 0, the printed losses are impossible for the method as described.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from pairmend import published
from pairmend.datasets import catalogue
from pairmend.report.best import best_of
from pairmend.report.comparison import ranks_of

MIN_SHARE = 0.15
"""Share of predicted labels below which printed losses are impossible for the described method.

The shares of the paper's sets are below 0.10 or above 0.28, except Enron's 0.18."""

POSSIBLE, IMPOSSIBLE, GENERATED = "could", "cannot", "generated"
"""Plausibility of printed losses: possible for the described method, impossible for it, or of a
set that the catalogue generates, whose losses cannot be compared."""


def compare_with_published(
    sets: Iterable[Mapping[str, Any]],
    measured: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]],
    algorithms: Iterable[str],
) -> dict[str, Any]:
    """Return printed and measured losses, their distances, ranks, and shares of labels."""
    known = [name for name in algorithms if name in published.ALGORITHMS]
    ours = [each for each in sets if each["number"] in published.sets()]
    shares = _shares(ours, measured, known)
    plausibilities = {
        each["set"]: _plausibility(
            each["number"], [s["published"] for s in shares if s["set"] == each["set"]]
        )
        for each in ours
    }
    numbers = [
        {
            "set": each["set"],
            "title": published.sets()[each["number"]].name,
            "number": each["number"],
            "criterion": criterion,
            "algorithm": algorithm,
            "published": printed,
            "measured": entry["mean"],
            "difference": entry["mean"] - printed,
            "plausibility": plausibilities[each["set"]],
        }
        for each in ours
        for criterion in published.METRICS
        for algorithm in known
        if (entry := _entry(measured, criterion, each["set"], algorithm)) is not None
        for printed in [published.losses()[each["number"], criterion, algorithm]]
    ]
    comparable = [each for each in numbers if each["plausibility"] != GENERATED]
    return {
        "source": published.SOURCE,
        "algorithms": known,
        "criteria": [c for c in published.METRICS if any(n["criterion"] == c for n in numbers)],
        "numbers": numbers,
        "impossible": [
            name for name, plausibility in plausibilities.items() if plausibility == IMPOSSIBLE
        ],
        "generated": [
            name
            for name, plausibility in plausibilities.items()
            if plausibility == GENERATED and any(each["set"] == name for each in numbers)
        ],
        "shares": shares,
        "distances": _distances(numbers, known),
        "ranks": _ranks(comparable, known),
    }


def implied_share(hamming: float, micro_f1: float, density: float) -> float | None:
    """Return the share of labels a method predicts, from two of its losses."""
    return hamming / micro_f1 - density if micro_f1 > 0 else None


def _shares(
    sets: list[Mapping[str, Any]], measured: Mapping[str, Any], algorithms: list[str]
) -> list[dict[str, Any]]:
    printed = published.losses()
    found = []
    for each in sets:
        number, name = each["number"], each["set"]
        density = published.sets()[number].characteristics["LD"]
        for algorithm in algorithms:
            hamming = _entry(measured, "hamming", name, algorithm)
            micro = _entry(measured, "micro_f1", name, algorithm)
            found.append(
                {
                    "set": name,
                    "title": published.sets()[number].name,
                    "number": number,
                    "density": density,
                    "algorithm": algorithm,
                    "published": implied_share(
                        printed[number, "hamming", algorithm],
                        printed[number, "micro_f1", algorithm],
                        density,
                    ),
                    "measured": implied_share(
                        hamming["mean"], micro["mean"], each["characteristics"]["LD"]
                    )
                    if hamming is not None and micro is not None
                    else None,
                }
            )
    return found


def _distances(numbers: list[dict[str, Any]], algorithms: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "algorithm": algorithm,
            "criterion": criterion,
            "all": _distance([each for each in mine if each["plausibility"] != GENERATED]),
            **{
                plausibility: _distance(
                    [each for each in mine if each["plausibility"] == plausibility]
                )
                for plausibility in (POSSIBLE, IMPOSSIBLE, GENERATED)
            },
        }
        for algorithm in algorithms
        for criterion in (*published.METRICS, None)
        for mine in [
            [
                each
                for each in numbers
                if each["algorithm"] == algorithm and criterion in (each["criterion"], None)
            ]
        ]
    ]


def _distance(numbers: list[dict[str, Any]]) -> float | None:
    return fmean(abs(each["difference"]) for each in numbers) if numbers else None


def _ranks(numbers: list[dict[str, Any]], algorithms: list[str]) -> dict[str, Any]:
    """Rank printed and measured losses on the sets that have all of them."""
    ranks = {}
    for criterion in published.METRICS:
        rows: dict[str, dict[str, dict[str, Any]]] = {}
        for each in numbers:
            if each["criterion"] == criterion:
                rows.setdefault(each["set"], {})[each["algorithm"]] = each
        whole = [row for row in rows.values() if len(row) == len(algorithms)]
        if whole and len(algorithms) > 1:
            of_source = {
                source: ranks_of(
                    [[row[name][source] for name in algorithms] for row in whole], algorithms
                )
                for source in ("published", "measured")
            }
            best = {source: best_of(found) for source, found in of_source.items()}
            ranks[criterion] = {"n_sets": len(whole), **of_source, "best": best}
    return ranks


def _plausibility(number: int, shares: list[float | None]) -> str:
    """Return the plausibility of a set's printed losses from the implied shares of labels."""
    if any(
        number in entry.paper_numbers and entry.status == "generated"
        for entry in catalogue().values()
    ):
        return GENERATED
    low = bool(shares) and all(share is not None and share < MIN_SHARE for share in shares)
    return IMPOSSIBLE if low else POSSIBLE


def _entry(
    measured: Mapping[str, Any], criterion: str, name: str, algorithm: str
) -> Mapping[str, Any] | None:
    entry = measured.get(criterion, {}).get(name, {}).get(algorithm)
    return entry if entry is not None and entry["complete"] else None
