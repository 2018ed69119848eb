"""Figures of a report, drawn from its summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from pairmend import plots, stats
from pairmend._utils.text import listed
from pairmend.plots.ranks import MIN_SPOKES
from pairmend.report.probabilities import (
    EQUIVALENT,
    FIRST,
    N_SAMPLES,
    SECOND,
    between,
    pairs_on_sets,
    shown_pairs,
)
from pairmend.report.published import GENERATED
from pairmend.report.summary import Summary


@dataclass(frozen=True)
class Figure:
    """A figure of a report."""

    id: str
    caption: str
    svg: str
    label: str = ""
    drawing: Any = field(default=None, compare=False, repr=False)


def radar(summary: Summary) -> Figure | None:
    """Draw the average ranks by all metrics."""
    compared = {
        each["title"]: summary["comparison"][each["criterion"]] for each in summary["criteria"]
    }
    if not all(found["ranks"] and len(found["sets"]) > 1 for found in compared.values()):
        return None
    # One bar for all axes: all metrics must be tested on the same number of sets.
    differences = {found["critical_difference"] for found in compared.values()}
    difference = differences.pop() if len(differences) == 1 else None
    is_radar = len(compared) >= MIN_SPOKES
    caption = f"Average ranks by metric; better {'further out' if is_radar else 'on the left'}."
    if difference is not None:
        end = "inner" if is_radar else "right"
        caption += (
            f" A bar is as long as Nemenyi's critical difference at {summary['alpha']} and begins "
            f"at the best rank: ranks at its {end} end or beyond differ significantly from it."
        )
    ranks = {title: found["ranks"] for title, found in compared.items()}
    return _figure("radar", caption, plots.rank_radar(ranks, difference))


def critical_differences(summary: Summary) -> list[Figure]:
    """Draw the critical-difference diagram of each metric."""
    figures = []
    for each in summary["criteria"]:
        found = summary["comparison"][each["criterion"]]
        if found["ranks"] and not found["untested_reason"]:
            drawing = plots.critical_difference(found["ranks"], found["critical_difference"])
            caption = f"{each['title']}, {len(found['sets'])} sets"
            figures.append(_figure(f"ranks-{each['slug']}", caption, drawing))
    return figures


def has_folds(summary: Summary) -> bool:
    """Return whether there are several values of a set and an algorithm."""
    return summary["folds"] * summary["repeats"] > 1


def fold_spreads(summary: Summary) -> list[Figure]:
    """Draw the folds of every set, a figure for each metric."""
    figures = []
    for each in summary["criteria"]:
        found = summary["measured"].get(each["criterion"], {})
        folds = {
            one["set"]: {
                name: found[one["set"]][name]["values"]
                for name in summary["algorithms"]
                if name in found[one["set"]]
            }
            for one in summary["sets"]
            if one["set"] in found
        }
        if folds:
            drawing = plots.fold_spread(folds, criterion=each["title"])
            better = "right" if each["greater_is_better"] else "left"
            caption = f"{each['title']} of every set; better on the {better}." + (
                " Large marks are means, small ticks are folds." if has_folds(summary) else ""
            )
            name = f"folds-{each['slug']}"
            figures.append(_figure(name, caption, drawing, each["criterion"]))
    return figures


def over_sets(summary: Summary) -> list[Figure]:
    """Draw the probabilities of the Bayesian signed-rank test, a figure for each metric."""
    figures = []
    for each in summary["criteria"]:
        compared = summary["comparison"][each["criterion"]]
        found = compared["probabilities"]
        if found["over_sets"]:
            bars = [
                plots.ProbabilityBar(first, second, _three(found["over_sets"], first, second))
                for first, second in shown_pairs(found)
            ]
            caption = f"{each['title']}: Bayesian signed-rank test on {len(compared['sets'])} sets."
            drawing = plots.probability_bars(bars)
            figures.append(_figure(f"over-sets-{each['slug']}", caption, drawing))
    return figures


def triangles(summary: Summary) -> list[Figure]:
    """Draw the posterior of the Bayesian signed-rank test of the two best algorithms."""
    figures = []
    for each in summary["criteria"]:
        compared = summary["comparison"][each["criterion"]]
        found = compared["probabilities"]
        if found["over_sets"]:
            pair = found["ordered"][:2]
            of_sets = summary["measured"][each["criterion"]]
            sign = -1.0 if each["greater_is_better"] else 1.0
            losses = [
                [sign * of_sets[name][algorithm]["mean"] for algorithm in pair]
                for name in compared["sets"]
            ]
            # As many samples as in the test, so that the shares equal its probabilities.
            samples = stats.signed_rank_posterior(losses, rope=found["rope"], n_samples=N_SAMPLES)
            caption = f"{each['title']}: the two best algorithms, posterior over sets."
            drawing = plots.probability_triangle(samples, *pair)
            figures.append(_figure(f"triangle-{each['slug']}", caption, drawing))
    return figures


def on_sets(summary: Summary) -> list[Figure]:
    """Draw the probabilities of the Bayesian correlated t-test, a figure for each metric."""
    figures = []
    for each in summary["criteria"]:
        found = summary["comparison"][each["criterion"]]["probabilities"]
        by_set: dict[str, list[Any]] = {}
        for entry in found["on_sets"]:
            by_set.setdefault(entry["set"], []).append(entry)
        if by_set:
            drawing = plots.probability_bars(_bars_of_sets(by_set, pairs_on_sets(found)))
            caption = f"{each['title']}: Bayesian correlated t-test on each set."
            figures.append(_figure(f"on-sets-{each['slug']}", caption, drawing))
    return figures


def scatter(summary: Summary) -> Figure | None:
    """Draw printed losses against measured ones."""
    paper = summary["published"]
    numbers = [each for each in paper["numbers"] if each["plausibility"] != GENERATED]
    if not numbers:
        return None
    keys = list(dict.fromkeys((n["set"], n["criterion"]) for n in numbers))
    found = {(n["set"], n["criterion"], n["algorithm"]): n for n in numbers}

    def losses(source: str) -> dict[str, list[float]]:
        return {
            name: [found.get((*key, name), {}).get(source, float("nan")) for key in keys]
            for name in paper["algorithms"]
        }

    drawing = plots.published_and_measured(
        losses("published"), losses("measured"), [name for name, _ in keys]
    )
    caption = (
        "Printed losses against measured ones, all sets and metrics. On the dashed line both are "
        "equal; sets more than 0.1 from it are named."
    )
    if paper["generated"]:
        caption += f" Without {listed(paper['generated'])}, generated sets."
    return _figure("published-and-measured", caption, drawing)


def cost_figures(summary: Summary) -> list[Figure]:
    """Draw time and memory of each algorithm."""
    timed = [
        each
        for each in summary["costs"]
        if each["fit_seconds"] is not None and each["predict_seconds"] is not None
    ]
    figures = []
    if timed:
        parts = {
            "fit": {each["algorithm"]: each["fit_seconds"] for each in timed},
            "predict": {each["algorithm"]: each["predict_seconds"] for each in timed},
        }
        figures.append(_figure("times", "Mean time of a task.", plots.bars(parts, unit="seconds")))
    peaks = {e["algorithm"]: e["peak_mebibytes"] for e in timed if e["peak_bytes"] is not None}
    if peaks:
        drawing = plots.bars({"peak memory": peaks}, unit="MiB")
        caption = "Peak memory of a task: the whole process, libraries included."
        figures.append(_figure("memory", caption, drawing))
    return figures


class Styles:
    """Collector of style attributes of drawings as CSS rules."""

    # The page's security policy allows only its own style sheet, so the style attributes that
    # matplotlib writes become rules of it.

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def extract(self, svg: str) -> str:
        """Return a drawing with classes instead of style attributes."""
        root = ElementTree.fromstring(svg)
        for element in root.iter():
            style = element.attrib.pop("style", None)
            if style:
                element.set("class", self._classes.setdefault(style, f"f{len(self._classes)}"))
        return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)

    @property
    def rules(self) -> str:
        """CSS rules of the classes."""
        return "\n".join(f".{name}{{{style}}}" for style, name in self._classes.items())


def _bars_of_sets(
    by_set: Mapping[str, Sequence[Any]], pairs: Sequence[tuple[str, str]]
) -> list[plots.ProbabilityBar]:
    """Return for each pair its names and a bar for each set; with one set, a bar for each pair."""
    if len(by_set) == 1:
        (entries,) = by_set.values()
        return [plots.ProbabilityBar(*pair, _three(entries, *pair)) for pair in pairs]
    return [
        bar
        for pair in pairs
        for bar in (
            plots.ProbabilityBar(*pair, None),
            *(plots.ProbabilityBar(n, "", _three(entries, *pair)) for n, entries in by_set.items()),
        )
    ]


def _three(
    entries: Sequence[Mapping[str, Any]], first: str, second: str
) -> tuple[float, float, float]:
    found = between(entries, first, second)
    return found[FIRST], found[EQUIVALENT], found[SECOND]


def _figure(name: str, caption: str, drawing: Any, label: str = "") -> Figure:
    svg = plots.to_svg(drawing, prefix=f"figure-{name}", title=caption)
    return Figure(name, caption, svg, label, drawing)
