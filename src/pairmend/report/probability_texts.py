"""Sentences that explain the Bayesian tests."""

from collections.abc import Iterator
from typing import Any

from pairmend._utils.text import listed
from pairmend.report.probabilities import LEVEL, MOST_PAIRS, pairs_on_sets, shown_pairs
from pairmend.report.summary import Summary
from pairmend.stats.bayesian import ROPE


def explanation(summary: Summary) -> Iterator[str]:
    """Explain the bars, the region of practical equivalence, and when the tests are valid."""
    yield (
        "A bar has three probabilities: that the left algorithm is better, that both are "
        "practically equivalent, and that the right one is better."
    )
    yield (
        f"Two algorithms are practically equivalent if they differ by at most {ROPE}. The interval "
        f"from −{ROPE} to {ROPE} is called the region of practical equivalence, or rope. {ROPE} is "
        f"the default for losses between 0 and 1{_other_ropes(summary)}."
    )
    text = (
        "These tests are valid on few sets, where Friedman's and Wilcoxon's tests are not. A "
        f"comparison is decided if one of its probabilities is {LEVEL} or more."
    )
    if any(found["over_sets"] for found in _found(summary)):
        text += (
            " Over sets, the Bayesian signed-rank test (Benavoli, Corani, Demšar and Zaffalon, "
            "2017) compares the means of sets; it treats the sets as a random sample."
        )
    yield text
    if any(len(shown_pairs(found)) < _n_pairs(found) for found in _found(summary)):
        yield (
            f"There are more than {MOST_PAIRS} pairs: the figures show the best algorithm of each "
            "metric with each other one, the tables show all pairs."
        )


def on_sets(summary: Summary) -> Iterator[str]:
    """Explain the tests over the folds of a set."""
    yield (
        "On a set, the folds are compared by the Bayesian correlated t-test, and in the table also "
        "by the corrected resampled t-test (Nadeau and Bengio, 2003). Both correct for the rows "
        "that the training sets of the folds share."
    )
    if any(len(pairs_on_sets(found)) < len(shown_pairs(found)) for found in _found(summary)):
        yield "The figures show the two best algorithms of each metric, the table all pairs."


def _other_ropes(summary: Summary) -> str:
    others = [
        f"{each['title']} it is {found['rope']:.3g}"
        for each, found in zip(summary["criteria"], _found(summary), strict=True)
        if found["rope"] != ROPE
    ]
    return f"; for {listed(others)}, a hundredth of the largest value" if others else ""


def _found(summary: Summary) -> list[dict[str, Any]]:
    return [
        summary["comparison"][each["criterion"]]["probabilities"] for each in summary["criteria"]
    ]


def _n_pairs(found: dict[str, Any]) -> int:
    n_algorithms = len(found["ordered"])
    return n_algorithms * (n_algorithms - 1) // 2
