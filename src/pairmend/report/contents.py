"""Sections of a report: which there are, and their order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pairmend.report import (
    figures,
    probability_tables,
    probability_texts,
    published_tables,
    run_tables,
    tables,
)
from pairmend.report.figures import Figure
from pairmend.report.summary import Summary
from pairmend.report.table import Table

MOST_ROWS = 1500
"""Maximum rows of a table on the page; longer tables are only linked."""


@dataclass(frozen=True)
class Part:
    """A part of a section: text, table, figures, fold, failures, run or linked files."""

    kind: str
    content: Any
    title: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a report."""

    id: str
    title: str
    parts: list[Part] = field(default_factory=list)


def contents(summary: Summary) -> list[Section]:
    """Return the sections of a report that have any part."""
    sections = [
        Section("ranks", "Ranks", list(_ranks(summary))),
        Section("tests", "Tests", list(_tests(summary))),
        Section("probabilities", "Bayesian tests", list(_probabilities(summary))),
        Section("results", "Results", list(_results(summary))),
        Section("published", "Published and measured", list(_published(summary))),
        Section("sets", "Sets", list(_sets(summary))),
        Section("costs", "Time and memory", list(_costs(summary))),
        Section("failures", "Failed tasks", list(_failures(summary))),
        Section("run", "Settings and runs", list(_run(summary))),
    ]
    return [section for section in sections if section.parts]


def tables_of(sections: list[Section]) -> list[Table]:
    """Return the tables of a report in order."""
    return [table for section in sections for table in _tables_in(section.parts)]


def figures_of(sections: list[Section]) -> list[Figure]:
    """Return the figures of a report in order."""
    return [figure for section in sections for figure in _figures_in(section.parts)]


def _figures_in(parts: list[Part]) -> Iterator[Figure]:
    for part in parts:
        if part.kind == "fold":
            yield from _figures_in(part.content)
        elif part.kind == "figures":
            yield from part.content


def _tables_in(parts: list[Part]) -> Iterator[Table]:
    for part in parts:
        if part.kind == "fold":
            yield from _tables_in(part.content)
        elif part.kind in ("table", "files"):
            yield part.content


def _ranks(summary: Summary) -> Iterator[Part]:
    yield from _figures(figures.radar(summary))
    diagrams = figures.critical_differences(summary)
    if diagrams:
        yield Part(
            "text",
            "Algorithms joined by a bar do not differ significantly by Nemenyi's test at "
            f"{summary['alpha']}.",
        )
        yield Part("figures", diagrams)


def _tests(summary: Summary) -> Iterator[Part]:
    # The cautions have the reason why there are no tests.
    if not any(found["pairs"] for found in summary["comparison"].values()):
        return
    if len(summary["algorithms"]) == 2:
        yield Part(
            "text",
            "Friedman's test needs three algorithms or more; for two there is Wilcoxon's test.",
        )
    for sentence in summary["finding"]["disagreement"]:
        yield Part("text", sentence)
    yield from _tables(tables.friedman_table(summary))
    yield from _tables(*tables.wilcoxon_tables(summary))
    yield from _fold("Every pair, with effect sizes", _tables(tables.pairs_table(summary)))


def _probabilities(summary: Summary) -> Iterator[Part]:
    on_sets, over_sets = figures.on_sets(summary), figures.over_sets(summary)
    if not on_sets and not over_sets:
        return
    for sentence in probability_texts.explanation(summary):
        yield Part("text", sentence)
    each_set = [
        *(Part("text", sentence) for sentence in probability_texts.on_sets(summary) if on_sets),
        *([Part("figures", on_sets)] if on_sets else []),
        *_tables(probability_tables.on_sets_table(summary)),
    ]
    if over_sets:
        yield Part("figures", over_sets)
        yield Part("figures", figures.triangles(summary))
        yield from _fold(
            "Every pair, over sets", _tables(probability_tables.over_sets_table(summary))
        )
        yield from _fold("Each set separately", each_set)
    else:
        yield from each_set


def _results(summary: Summary) -> Iterator[Part]:
    if not summary["measured"]:
        yield Part("text", "No task has finished, so there are no results.")
    yield from _tables(tables.results_table(summary))
    drawn = {figure.label: figure for figure in figures.fold_spreads(summary)}
    for table, each in zip(tables.spread_tables(summary), summary["criteria"], strict=True):
        parts = [*_figures(drawn.get(each["criterion"]))]
        if not figures.has_folds(summary):
            yield from _fold(f"{each['title']}: every set", parts)
            continue
        yield from _fold(f"{each['title']}: the spread over folds", [*parts, *_tables(table)])


def _published(summary: Summary) -> Iterator[Part]:
    paper = summary["published"]
    if not paper["numbers"]:
        return
    for sentence in summary["finding"]["printed"]:
        yield Part("text", sentence)
    yield from _tables(published_tables.conclusions_table(summary))
    yield from _tables(published_tables.distances_table(summary))
    yield from _figures(figures.scatter(summary))
    yield from _tables(published_tables.ranks_table(summary))
    yield from _tables(published_tables.shares_table(summary))
    yield from _fold("Every number", _tables(published_tables.published_table(summary)))


def _sets(summary: Summary) -> Iterator[Part]:
    yield from _tables(tables.characteristics_table(summary))
    yield from _tables(*tables.spearman_tables(summary))


def _costs(summary: Summary) -> Iterator[Part]:
    drawn = figures.cost_figures(summary)
    if drawn:
        yield Part("figures", drawn)
    yield from _tables(run_tables.costs_table(summary))


def _failures(summary: Summary) -> Iterator[Part]:
    if summary["failures"]:
        yield from _tables(run_tables.grouped_failures_table(summary))
        every = [*_tables(run_tables.failures_table(summary))]
        yield from _fold("Every failed task", every)
        yield Part("failures", summary["tracebacks"])


def _run(summary: Summary) -> Iterator[Part]:
    yield Part("run", summary["run_details"])
    yield from _fold("Warnings", _tables(run_tables.warnings_table(summary)))
    yield from _tables(run_tables.algorithms_table(summary))
    yield from _tables(run_tables.chosen_table(summary))
    yield from _tables(run_tables.sources_table(summary))


def _fold(title: str, parts: Iterable[Part]) -> Iterator[Part]:
    inner = list(parts)
    if inner:
        yield Part("fold", inner, title)


def _tables(*made: Table) -> Iterator[Part]:
    for table in made:
        if table.rows:
            yield Part("table" if len(table.rows) <= MOST_ROWS else "files", table)


def _figures(*drawn: Figure | None) -> Iterator[Part]:
    found = [figure for figure in drawn if figure is not None]
    if found:
        yield Part("figures", found)
