"""Published and measured: the paper's printed losses beside ours.

How many labels a method predicts can be told from what is printed. With P the share of label
decisions that are positive and LD the label density, the Hamming loss is H = P + LD - 2 TP and the
micro F1 loss is M = H / (P + LD), so that P = H / M - LD. (Of means over folds this holds up to
how far the folds differ.) The scores of a row average to 1/2 whatever the row, so a threshold
at 1/2 accepts about half of the labels: where next to none are, the printed losses are not
those of the method as it is described.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from pairmend import published
from pairmend.datasets import catalogue
from pairmend.report.best import best_of
from pairmend.report.comparison import ranks_of

FEW = 0.15
"""Below this share of labels predicted, the printed losses cannot be the described method's.

The sets of the paper fall in two heaps, below 0.10 and above 0.28, and between them only Enron with
0.18."""

POSSIBLE, IMPOSSIBLE, GENERATED = "could", "cannot", "generated"
"""Heaps of the paper's sets: whose printed losses could come from the described method, whose
cannot, and those that the catalogue generates anew, whose losses cannot be compared."""


def beside_published(
    sets: Iterable[Mapping[str, Any]],
    measured: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]],
    algorithms: Iterable[str],
) -> dict[str, Any]:
    """Put the printed losses beside ours.

    Parameters
    ----------
    sets : iterable of dict
        See `pairmend.report.measured.sets_of`.
    measured : mapping
        See `pairmend.report.measured.measured`.
    algorithms : iterable of str
        Names of the study's algorithms; those that are not the paper's are left out.

    Returns
    -------
    dict
        ``algorithms`` that both have; ``numbers``: ``set``, ``title``, ``number``,
        ``criterion``, ``algorithm``, ``published``, ``measured``, ``difference`` and the set's
        ``heap``; ``impossible`` and ``generated``, the sets of these heaps; ``shares``: the share
        of labels predicted by ``set`` and ``algorithm``, ``published`` and ``measured``;
        ``distances``: mean absolute difference by ``algorithm`` and ``criterion`` (None for all),
        over ``all`` sets but those generated anew, and over each heap; ``ranks`` by criterion,
        printed and measured on the same sets without those generated anew, with the ``best``.
    """
    known = [name for name in algorithms if name in published.ALGORITHMS]
    ours = [each for each in sets if each["number"] in published.sets()]
    shares = _shares(ours, measured, known)
    heaps = {
        each["set"]: _heap(
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
            "heap": heaps[each["set"]],
        }
        for each in ours
        for criterion in published.CRITERIA
        for algorithm in known
        if (entry := _entry(measured, criterion, each["set"], algorithm)) is not None
        for printed in [published.losses()[each["number"], criterion, algorithm]]
    ]
    comparable = [each for each in numbers if each["heap"] != GENERATED]
    return {
        "source": published.SOURCE,
        "algorithms": known,
        "criteria": [c for c in published.CRITERIA if any(n["criterion"] == c for n in numbers)],
        "numbers": numbers,
        "impossible": [name for name, heap in heaps.items() if heap == IMPOSSIBLE],
        "generated": [
            name
            for name, heap in heaps.items()
            if heap == GENERATED and any(each["set"] == name for each in numbers)
        ],
        "shares": shares,
        "distances": _distances(numbers, known),
        "ranks": _ranks(comparable, known),
    }


def implied_share(hamming: float, micro_f1: float, density: float) -> float | None:
    """Tell the share of labels a method predicts from two of its losses.

    Parameters
    ----------
    hamming, micro_f1 : float
        Its Hamming loss, and one minus its micro F1.
    density : float
        Mean share of the labels that a row carries.

    Returns
    -------
    float or None
        None for a method without an error, whose losses do not tell.

    Examples
    --------
    Of four labels one is right and two are predicted, one of them rightly: the Hamming loss is
    1/4 and F1 is 2/3.

    >>> round(implied_share(0.25, 1 - 2 / 3, 0.25), 3)
    0.5
    """
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
            "all": _distance([each for each in mine if each["heap"] != GENERATED]),
            **{
                heap: _distance([each for each in mine if each["heap"] == heap])
                for heap in (POSSIBLE, IMPOSSIBLE, GENERATED)
            },
        }
        for algorithm in algorithms
        for criterion in (*published.CRITERIA, None)
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
    for criterion in published.CRITERIA:
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


def _heap(number: int, shares: list[float | None]) -> str:
    """Put a set on its heap, by its number in the paper and the shares that were printed."""
    if any(
        number in entry.paper_numbers and entry.status == "generated"
        for entry in catalogue().values()
    ):
        return GENERATED
    few = bool(shares) and all(share is not None and share < FEW for share in shares)
    return IMPOSSIBLE if few else POSSIBLE


def _entry(
    measured: Mapping[str, Any], criterion: str, name: str, algorithm: str
) -> Mapping[str, Any] | None:
    entry = measured.get(criterion, {}).get(name, {}).get(algorithm)
    return entry if entry is not None and entry["complete"] else None
