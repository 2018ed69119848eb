"""Tables of the Bayesian tests."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pairmend.report.probabilities import EQUIVALENT, FIRST, LEVEL, N_SAMPLES, SECOND
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table


def over_sets_table(summary: Summary) -> Table:
    """Return the table of the Bayesian signed-rank test of all pairs."""
    rows = [
        (
            Cell(each["title"]),
            Cell(_pair(entry)),
            Cell(len(summary["comparison"][each["criterion"]]["sets"])),
            Cell(entry["difference"]),
            *_probabilities(entry),
            Cell(found["rope"]),
        )
        for each, found in _found(summary)
        for entry in found["over_sets"]
    ]
    columns = (
        Column("metric", "text"),
        Column("pair", "text"),
        Column("sets", "count"),
        Column("difference", "signed"),
        *_columns("probability"),
        Column("rope", digits=2),
    )
    caption = "Bayesian signed-rank test of every pair by every metric."
    notes = (
        f"{_bold(rows)}The difference is first minus second. The probabilities are estimated from "
        f"{N_SAMPLES:,} samples, with a standard error of 0.0036 at most; the prior has the weight "
        "of half a set.",
    )
    return Table("bayesian-sets", "All sets.", caption, columns, tuple(rows), notes=notes)


def on_sets_table(summary: Summary) -> Table:
    """Return the table of the tests over folds of all pairs on each set."""
    rows = [
        (
            Cell(each["title"]),
            Cell(entry["set"]),
            Cell(_pair(entry)),
            Cell(entry["difference"]),
            Cell(entry["t"]),
            Cell(entry["p"]),
            *_probabilities(entry),
            Cell(found["rope"]),
        )
        for each, found in _found(summary)
        for entry in found["on_sets"]
    ]
    columns = (
        Column("metric", "text"),
        Column("set", "text"),
        Column("pair", "text"),
        Column("difference", "signed"),
        Column("t", "signed", group="corrected t-test", digits=2),
        Column("p", "p", group="corrected t-test"),
        *_columns("probability"),
        Column("rope", digits=2),
    )
    caption = "Corrected resampled t-test and Bayesian correlated t-test of every pair over folds."
    notes = (
        f"{_bold(rows)}The difference is first minus second. The p-values are not adjusted for "
        "the number of comparisons.",
    )
    return Table("bayesian-folds", "Each set.", caption, columns, tuple(rows), notes=notes)


def _found(summary: Summary) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for each in summary["criteria"]:
        yield each, summary["comparison"][each["criterion"]]["probabilities"]


def _bold(rows: Iterable[tuple[Cell, ...]]) -> str:
    decided = any(cell.mark == "best" for row in rows for cell in row)
    return f"In bold: probabilities of {LEVEL} or more. " if decided else ""


def _pair(entry: Mapping[str, Any]) -> str:
    return f"{entry['first']} – {entry['second']}"


def _probabilities(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    return tuple(
        Cell(entry[name], mark="best" if entry["decided"] == name else "")
        for name in (FIRST, EQUIVALENT, SECOND)
    )


def _columns(group: str) -> tuple[Column, ...]:
    titles = ("first better", "equivalent", "second better")
    return tuple(Column(title, group=group, digits=2) for title in titles)
