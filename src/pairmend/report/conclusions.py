"""Comparison of the paper's conclusions with the results of a study."""

from collections.abc import Iterator, Mapping
from typing import Any

from pairmend import published
from pairmend.report.best import best_of
from pairmend.report.table import text_of

HOLDS, TENDS, FAILS, UNTESTED = "holds", "same direction", "does not hold", "not tested"
NOT_CONTRADICTED = "not contradicted"
"""Verdict if neither the paper nor the study finds a difference, which is likely on few sets."""

BETTER_THAN_LPW, DIFFERENCE, AMONG_CORRECTED, PLACE = (
    "better-than-lpw",
    "difference",
    "among",
    "place",
)
"""Kinds of conclusions."""

_FEW = "too few sets"
_CORRECTED = ("FCM", "FCM-W", "FCM-O")
# Printed, after adjustment, in the paper's tables of Friedman's and Wilcoxon's tests.
_FRIEDMAN = {"hamming": 0.063, "macro_f1": 0.911, "micro_f1": 0.911, "zero_one": 0.008}
_BETTER_THAN_LPW = [
    ("hamming", "FCM", 0.063),
    ("zero_one", "FCM", 0.054),
    ("zero_one", "FCM-W", 0.040),
    ("zero_one", "FCM-O", 0.054),
]
_PLACES = [
    ("macro_f1", "FCM", "worst"),
    ("micro_f1", "FCM-O", "best"),
    ("zero_one", "FCM-O", "best"),
]


def conclusions(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Compare each of the paper's conclusions with the study's results."""
    if not set(published.ALGORITHMS) <= set(summary["algorithms"]):
        return []
    titles = {
        each["criterion"]: each["title"]
        for each in summary["criteria"]
        if not each["greater_is_better"]
    }
    found = {name: summary["comparison"][name] for name in titles if name in published.METRICS}
    return [
        *_better_than_lpw(found, titles),
        *_differences(found, titles),
        *_among_corrected(found, titles),
        *_ranks(found, titles),
    ]


def _better_than_lpw(
    found: Mapping[str, Any], titles: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    for criterion, name, printed in _BETTER_THAN_LPW:
        if criterion not in found:
            continue
        paper = f"{name} is better than LPW in {titles[criterion]} (p = {printed:.3f})"
        ranks = found[criterion]["ranks"]
        pair = _pair(found[criterion], "LPW", name)
        if pair is None or found[criterion]["out_of_reach"]:
            text = f"ranks {ranks[name]:.2f} and {ranks['LPW']:.2f}" if ranks else "no ranks"
            why = found[criterion]["out_of_reach"] or _FEW
            yield _claim(BETTER_THAN_LPW, paper, f"{text}, {why}", UNTESTED)
            continue
        ahead = pair["effect"] > 0
        yield _claim(
            BETTER_THAN_LPW,
            paper,
            f"ranks {ranks[name]:.2f} and {ranks['LPW']:.2f}, {_p(pair['adjusted'])}",
            HOLDS if ahead and pair["significant"] else TENDS if ahead else FAILS,
        )


def _differences(found: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for criterion, printed in _FRIEDMAN.items():
        if criterion not in found:
            continue
        differ = printed < 0.1
        paper = (
            f"the algorithms {'differ' if differ else 'do not differ significantly'} in "
            f"{titles[criterion]} (p = {printed:.3f})"
        )
        test = found[criterion]["friedman"]
        if test is None:
            yield _claim(DIFFERENCE, paper, _FEW, UNTESTED)
        else:
            # A test that is not significant does not show that there is no difference.
            same = HOLDS if differ else NOT_CONTRADICTED
            verdict = same if test["significant"] == differ else FAILS
            yield _claim(DIFFERENCE, paper, _p(test["adjusted"]), verdict)


def _among_corrected(
    found: Mapping[str, Any], titles: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    if "hamming" not in found:
        return
    paper = f"of the corrected methods only FCM and FCM-O differ, in {titles['hamming']}"
    out_of_reach = [each["out_of_reach"] for each in found.values() if each["out_of_reach"]]
    if out_of_reach or not all(each["pairs"] for each in found.values()):
        yield _claim(AMONG_CORRECTED, paper, (*out_of_reach, _FEW)[0], UNTESTED)
        return
    differing = [
        (criterion, pair["first"], pair["second"])
        for criterion, each in found.items()
        for pair in each["pairs"]
        if pair["significant"] and {pair["first"], pair["second"]} <= set(_CORRECTED)
    ]
    alike = {(c, frozenset((a, b))) for c, a, b in differing} == {
        ("hamming", frozenset(("FCM", "FCM-O")))
    }
    text = "; ".join(f"{a} and {b} in {titles[c]}" for c, a, b in differing)
    text = text or "none of them differ significantly"
    yield _claim(AMONG_CORRECTED, paper, text, HOLDS if alike else FAILS)


def _ranks(found: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for criterion, name, place in _PLACES:
        ranks = found.get(criterion, {}).get("ranks")
        if not ranks:
            continue
        ours = {each: ranks[each] for each in published.ALGORITHMS}
        there = best_of(ours, greater_is_better=place == "worst")
        text = f"{' and '.join(there)} with {text_of(ours[there[0]], digits=2)}"
        verdict = HOLDS if name in there else FAILS
        if found[criterion]["few_sets"]:
            text, verdict = f"{text}, {_FEW}", UNTESTED
        yield _claim(PLACE, f"{name} has the {place} rank in {titles[criterion]}", text, verdict)


def _claim(claim: str, paper: str, ours: str, verdict: str) -> dict[str, str]:
    return {"claim": claim, "paper": paper, "ours": ours, "verdict": verdict}


def _pair(found: Mapping[str, Any], first: str, second: str) -> dict[str, Any] | None:
    """Return the test of a pair, stored in either order; a positive effect favours the second."""
    for pair in found["pairs"]:
        if (pair["first"], pair["second"]) == (first, second):
            return {**pair, "effect": -pair["effect"]}
        if (pair["first"], pair["second"]) == (second, first):
            return dict(pair)
    return None


def _p(value: float) -> str:
    written = text_of(value, "p")
    return f"p {written}" if written.startswith("<") else f"p = {written}"
