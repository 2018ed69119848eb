"""Sentences with the best algorithms: by ranks, or by means if there are few datasets."""

from collections.abc import Mapping
from typing import Any

from pairmend._utils.text import counted, listed
from pairmend.report.probabilities import EQUIVALENT, FIRST, LEVEL, SECOND, between
from pairmend.report.table import text_of

_VERDICTS = (
    (FIRST, "for it"),
    (SECOND, "against it"),
    (EQUIVALENT, "equivalent"),
    ("", "undecided"),
)

Winners = dict[tuple[str, ...], list[str]]
"""Titles of metrics by the best algorithms."""


def lead(summary: Mapping[str, Any]) -> str:
    """Return the first sentence of the report."""
    compared = [
        (each, summary["comparison"][each["criterion"]])
        for each in summary["criteria"]
        if summary["comparison"][each["criterion"]]["best"]
    ]
    if not compared:
        return _nothing_to_compare(summary)
    ranked: Winners = {}
    for each, found in compared:
        if not found["few_sets"]:
            ranked.setdefault(tuple(found["best"]), []).append(each["title"])
    sentences = [_by_ranks(ranked, len(summary["criteria"]))] if ranked else []
    by_sets: dict[tuple[str, ...], list[Any]] = {}
    for each, found in compared:
        if found["few_sets"]:
            by_sets.setdefault(tuple(found["sets"]), []).append((each, found))
    sentences += [_by_means(sets, some, len(summary["criteria"])) for sets, some in by_sets.items()]
    return " ".join(sentences)


def point(criterion: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Return the result by one metric as a sentence."""
    if found["few_sets"]:
        best = _with_numbers(found["best_mean"], found["means"], digits=3)
        which = _which([criterion], len(found["sets"]))
        text = f"{best} {_verb('has', found['best_mean'])} the {which}."
        return " ".join(filter(None, [text, by_probabilities(found["probabilities"])]))
    best = _with_numbers(found["best"], found["ranks"], digits=2)
    text = f"{best} {_verb('ranks', found['best'])} best"
    by_winner: dict[str, list[str]] = {}
    for pair in found["pairs"]:
        if pair["significant"]:
            winner, other = pair["first"], pair["second"]
            if pair["effect"] < 0:
                winner, other = other, winner
            by_winner.setdefault(winner, []).append(other)
    if by_winner:
        differences = "; ".join(
            f"{winner} is significantly better than {listed(others)}"
            for winner, others in sorted(
                by_winner.items(), key=lambda item: found["ranks"][item[0]]
            )
        )
        return f"{text}. {differences}."
    if found["out_of_reach"]:
        text += f"; {found['out_of_reach']} by Wilcoxon's test"
    else:
        text += "; no two algorithms differ significantly by Wilcoxon's test"
    if found["nemenyi"]:
        text += f", but by Nemenyi's {by_nemenyi(found)}"
    return f"{text}."


def by_nemenyi(found: Mapping[str, Any]) -> str:
    """List the pairs that differ by Nemenyi's test."""
    worse: dict[str, list[str]] = {}
    for better, other in found["nemenyi"]:
        worse.setdefault(better, []).append(other)
    return "; ".join(f"{name} is better than {listed(others)}" for name, others in worse.items())


def by_probabilities(found: Mapping[str, Any]) -> str:
    """Return the result of the Bayesian tests for the best algorithm as a sentence."""
    entries = found["over_sets"] or found["on_sets"]
    if not entries:
        return ""
    reference, *others = found["ordered"]
    decided: dict[str, list[str]] = {}
    for other in others:
        decided.setdefault(between(entries, reference, other)["decided"], []).append(other)
    parts = [
        f"{words} {listed(decided[verdict])}"
        for verdict, words in (
            (FIRST, "better than"),
            (EQUIVALENT, "practically equivalent to"),
            (SECOND, "worse than"),
        )
        if verdict in decided
    ]
    if parts:
        text = f"With a probability of {LEVEL} or more, {reference} is {', '.join(parts)}."
    else:
        where = "Over the sets, no" if found["over_sets"] else "No"
        text = f"{where} comparison with {reference} is decided: no probability reaches {LEVEL}."
    return " ".join([text, *_on_single_sets(found)])


def _on_single_sets(found: Mapping[str, Any]) -> list[str]:
    """Count the verdicts on single sets for the best algorithm, if there are several sets."""
    reference, *others = found["ordered"]
    verdicts = [
        between([entry], reference, other)["decided"]
        for entry in found["on_sets"]
        for other in others
        if {entry["first"], entry["second"]} == {reference, other}
    ]
    if not found["over_sets"] or not verdicts:
        return []
    counts = [f"{verdicts.count(each)} {words}" for each, words in _VERDICTS if each in verdicts]
    return [f"Comparisons on single sets: {listed(counts)}."]


def _nothing_to_compare(summary: Mapping[str, Any]) -> str:
    if not summary["sets"]:
        return "No task has finished, so there is nothing to compare."
    if len(summary["algorithms"]) == 1:
        (name,) = summary["algorithms"]
        if summary["algorithms_without_results"]:
            return f"Only {name} has results, so there is nothing to compare it with."
        return "One algorithm was run, so there is nothing to compare it with."
    return "No set has results of all algorithms, so there is nothing to compare."


def _by_ranks(winners: Winners, n_criteria: int) -> str:
    if len(winners) == 1 and 1 < n_criteria == len(next(iter(winners.values()))):
        (names,) = winners
        return f"{listed(names)} {_verb('ranks', names)} best by every metric."
    (names, titles), *others = winners.items()
    parts = [f"{listed(names)} {_verb('ranks', names)} best on {listed(titles)}"]
    parts += [f"{listed(names)} on {listed(titles)}" for names, titles in others]
    return f"{'; '.join(parts)}."


def _by_means(sets: tuple[str, ...], compared: list[Any], n_criteria: int) -> str:
    """Compare means: ranks on few sets have little meaning."""
    winners: Winners = {}
    for each, found in compared:
        winners.setdefault(tuple(found["best_mean"]), []).append(each["title"])
    which = _which([each for each, _ in compared], len(sets))
    where = f"On {sets[0]} alone," if len(sets) == 1 else f"On {counted(len(sets), 'set')}"
    if len(winners) == 1 and 1 < n_criteria == len(compared):
        (names,) = winners
        return f"{where} {listed(names)} {_verb('has', names)} the {which} by every metric."
    (names, titles), *others = winners.items()
    parts = [f"{where} {listed(names)} {_verb('has', names)} the {which} of {listed(titles)}"]
    parts += [f"{listed(names)} of {listed(titles)}" for names, titles in others]
    return f"{'; '.join(parts)}."


def _which(criteria: list[Any], n_sets: int) -> str:
    signs = {each["greater_is_better"] for each in criteria}
    best = "best" if len(signs) > 1 else "highest" if signs == {True} else "lowest"
    return f"{best} {'value' if n_sets == 1 else 'mean'}"


def _verb(singular: str, names: Any) -> str:
    several = {"ranks": "rank", "has": "have"}
    return singular if len(names) == 1 else several[singular]


def _with_numbers(names: list[str], numbers: Mapping[str, float], digits: int) -> str:
    return listed(f"{name} ({text_of(numbers[name], digits=digits)})" for name in names)
