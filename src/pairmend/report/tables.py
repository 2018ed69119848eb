"""The tables of a report, made of the numbers of its summary."""

from collections.abc import Iterator, Mapping
from typing import Any

from pairmend import published
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Mark, Table

_WHOLE = ("N", "d", "L")
_MOST_TOGETHER = 6  # up to so many algorithms, two criteria stand side by side as in the paper


def friedman_table(summary: Summary) -> Table:
    """Make the table of Friedman's tests."""
    rows = []
    for each in summary["criteria"]:
        test = summary["comparison"][each["criterion"]]["friedman"]
        if test is not None:
            rows.append(
                (
                    Cell(each["title"]),
                    Cell(test["n_sets"]),
                    Cell(test["chi_square"]),
                    Cell(test["p"]),
                    Cell(test["adjusted"], mark="best" if test["significant"] else ""),
                    Cell(test["f"]),
                    Cell(test["f_p"]),
                )
            )
    columns = (
        Column("criterion", "text"),
        Column("sets", "count"),
        Column("χ²", group="Friedman"),
        Column("p", "p", group="Friedman"),
        Column("p, Holm", "p", group="Friedman"),
        Column("F", group="Iman–Davenport"),
        Column("p", "p", group="Iman–Davenport"),
    )
    caption = "Friedman's test of each criterion, corrected for ties."
    notes = (
        f"In bold: significant at {summary['alpha']} after Holm's adjustment over the criteria.",
    )
    return Table(
        "friedman", "Do the algorithms differ?", caption, columns, tuple(rows), notes=notes
    )


def wilcoxon_tables(summary: Summary) -> Iterator[Table]:
    """Make the tables of Wilcoxon's tests, with average ranks."""
    algorithms = summary["algorithms"]
    tested = [c for c in summary["criteria"] if _comparison(summary, c)["pairs"]]
    for number, some in enumerate(_chunks(summary, tested), start=1):
        columns = [Column("algorithm", "text")]
        columns += [Column(name, "p", group=c["title"]) for c in some for name in algorithms]
        found = {
            (each["criterion"], pair["first"], pair["second"]): pair
            for each in some
            for pair in _comparison(summary, each)["pairs"]
        }
        rows = []
        for first in algorithms[:-1]:
            keys = [(each["criterion"], first, second) for each in some for second in algorithms]
            cells = [_adjusted(found[key]) if key in found else Cell("") for key in keys]
            rows.append((Cell(first), *cells))
        foot = [Cell("average rank")]
        for each in some:
            foot += _rank_cells(summary, each)
        caption = (
            f"{_titles(some)}: Wilcoxon's signed-rank test of each pair, p-values adjusted by "
            f"{_comparison(summary, some[0])['procedure']}."
        )
        notes = (f"In bold: p-values below {summary['alpha']}, and the best rank.",)
        yield Table(
            f"wilcoxon-{number}", "Which algorithms differ?", caption, tuple(columns), tuple(rows),
            (tuple(foot),), notes,
        )  # fmt: skip


def pairs_table(summary: Summary) -> Table:
    """Make the table of all pairs: counts, statistic, p-values and effect sizes."""
    rows = [
        (
            Cell(each["title"]),
            Cell(f"{pair['first']} – {pair['second']}"),
            Cell(pair["first_better"]),
            Cell(pair["ties"]),
            Cell(pair["second_better"]),
            Cell(pair["difference"]),
            Cell(pair["low"]),
            Cell(pair["high"]),
            Cell(pair["effect"]),
            Cell(pair["p"]),
            _adjusted(pair),
        )
        for each in summary["criteria"]
        for pair in _comparison(summary, each)["pairs"]
    ]
    columns = (
        Column("criterion", "text"),
        Column("pair", "text"),
        Column("first", "count", group="sets won by"),
        Column("neither", "count", group="sets won by"),
        Column("second", "count", group="sets won by"),
        Column("mean", "signed", group="difference"),
        Column("low", "signed", group="difference"),
        Column("high", "signed", group="difference"),
        Column("effect", "signed", digits=2),
        Column("raw", "p", group="p"),
        Column("adjusted", "p", group="p"),
    )
    caption = "Every pair of algorithms on every criterion."
    notes = (
        f"The difference is first minus second, with a {100 * summary['confidence']:g} % bootstrap "
        "interval over the sets. The effect is the rank-biserial correlation: +1 where the first "
        "is better on every set, −1 where the second is.",
    )
    return Table("pairs", "How far do they differ?", caption, columns, tuple(rows), notes=notes)


def results_table(summary: Summary) -> Table:
    """Make the table of all means, the best in bold, with the row of ranks."""
    algorithms = summary["algorithms"]
    columns = [*_set_columns(summary)]
    columns += [
        Column(name, group=each["title"]) for each in summary["criteria"] for name in algorithms
    ]
    rows = []
    for one in summary["sets"]:
        cells = _set_cells(summary, one)
        for each in summary["criteria"]:
            cells += _result_cells(summary, each, one["set"])
        rows.append(tuple(cells))
    foot = [Cell("average rank"), *_gap(summary)]
    for each in summary["criteria"]:
        foot += _rank_cells(summary, each)
    folds = f"{summary['folds']} folds"
    if summary["repeats"] > 1:
        folds = f"{summary['repeats']} × {folds}"
    caption = f"The mean of {folds}"
    caption += ", the best of each set in bold." if len(algorithms) > 1 else "."
    ranked = any(_comparison(summary, each)["ranks"] for each in summary["criteria"])
    return Table(
        "results", "All results.", caption, tuple(columns), tuple(rows),
        (tuple(foot),) if ranked else (), _incomplete_note(summary),
    )  # fmt: skip


def spread_tables(summary: Summary) -> Iterator[Table]:
    """Make a table for each criterion, with the spread over folds."""
    for each in summary["criteria"]:
        columns = [*_set_columns(summary)]
        columns += [Column(name, extra="sd") for name in summary["algorithms"]]
        rows = tuple(
            (*_set_cells(summary, one), *_result_cells(summary, each, one["set"], spread=True))
            for one in summary["sets"]
            if one["set"] in summary["measured"].get(each["criterion"], {})
        )
        ranks = (Cell("average rank"), *_gap(summary), *_rank_cells(summary, each))
        foot = (ranks,) if _comparison(summary, each)["ranks"] else ()
        better = "more is better" if each["greater_is_better"] else "less is better"
        caption = f"Mean ± standard deviation over the folds; {better}."
        yield Table(
            f"results-{each['slug']}", f"{each['title']}.", caption, tuple(columns), rows, foot
        )


def spearman_tables(summary: Summary) -> Iterator[Table]:
    """Make the tables of correlations."""
    tested = [c for c in summary["criteria"] if _comparison(summary, c)["spearman"]]
    for number, some in enumerate(_chunks(summary, tested), start=1):
        columns = [Column("characteristic", "text")]
        columns += [
            Column(name, group=each["title"], extra="p")
            for each in some
            for name in summary["algorithms"]
        ]
        rows = []
        for key in published.CHARACTERISTICS:
            cells = [Cell(key)]
            for each in some:
                found = _comparison(summary, each)["spearman"].get(key, {})
                for name in summary["algorithms"]:
                    one = found.get(name, {"rho": None, "p": None, "significant": False})
                    mark: Mark = "best" if one["significant"] else ""
                    cells.append(Cell(one["rho"], one["p"], mark))
            rows.append(tuple(cells))
        foot = [Cell("average rank")]
        for each in some:
            foot += _rank_cells(summary, each, bold=False)
        caption = f"{_titles(some)}: Spearman's correlation with characteristics of the sets."
        notes = (
            "Negative: the criterion falls where the characteristic grows. In bold: p below "
            f"{summary['alpha']}, not adjusted.",
        )
        yield Table(
            f"spearman-{number}", "Which sets are hard?", caption, tuple(columns), tuple(rows),
            (tuple(foot),), notes,
        )  # fmt: skip


def characteristics_table(summary: Summary) -> Table:
    """Make the table of sets, ours beside the published values."""
    known = published.sets()
    compared = any(one["number"] in known for one in summary["sets"])
    columns = [*_set_columns(summary)]
    for group in ("ours", "published") if compared else ("",):
        columns += [
            Column(key, "count" if key in _WHOLE else "number", group=group)
            for key in published.CHARACTERISTICS
        ]
    rows = []
    for one in summary["sets"]:
        printed = known[one["number"]].characteristics if one["number"] in known else {}
        cells = _set_cells(summary, one)
        for key in published.CHARACTERISTICS:
            mark: Mark = "differs" if key in one["unlike_published"] else ""
            cells.append(Cell(one["characteristics"][key], mark=mark))
        if compared:
            cells += [Cell(printed.get(key)) for key in published.CHARACTERISTICS]
        rows.append(tuple(cells))
    caption = (
        "Rows N, features and labels d, labels L, cardinality LC, density LD, mean imbalance ratio "
        "avIR, mean concurrence AVsc."
    )
    notes = ("In italics: not what the paper printed.",) if compared else ()
    return Table("characteristics", "The sets.", caption, tuple(columns), tuple(rows), notes=notes)


def _set_columns(summary: Summary) -> list[Column]:
    numbered = any(one["number"] is not None for one in summary["sets"])
    return [Column("set", "text"), *([Column("No.", "count")] if numbered else [])]


def _set_cells(summary: Summary, one: Mapping[str, Any]) -> list[Cell]:
    cells = [Cell(one["set"])]
    return cells + ([Cell(one["number"])] if len(_set_columns(summary)) > 1 else [])


def _gap(summary: Summary) -> list[Cell]:
    """Leave the columns between a set's name and its results empty."""
    return [Cell("")] * (len(_set_columns(summary)) - 1)


def _result_cells(
    summary: Summary, criterion: Mapping[str, Any], name: str, *, spread: bool = False
) -> list[Cell]:
    found = summary["measured"].get(criterion["criterion"], {}).get(name, {})
    best = summary["best"].get(criterion["criterion"], {}).get(name, [])
    cells = []
    for algorithm in summary["algorithms"]:
        entry = found.get(algorithm)
        if entry is None:
            cells.append(Cell(None))
        else:
            mark: Mark = "best" if algorithm in best else "" if entry["complete"] else "incomplete"
            cells.append(Cell(entry["mean"], entry["sd"] if spread else None, mark))
    return cells


def _rank_cells(summary: Summary, criterion: Mapping[str, Any], *, bold: bool = True) -> list[Cell]:
    found = _comparison(summary, criterion)
    return [
        Cell(
            found["ranks"].get(name),
            mark="best" if bold and name in found["best"] else "",
            style="number",
        )
        for name in summary["algorithms"]
    ]


def _adjusted(pair: Mapping[str, Any]) -> Cell:
    return Cell(pair["adjusted"], mark="best" if pair["significant"] else "")


def _incomplete_note(summary: Summary) -> tuple[str, ...]:
    notes = []
    if any(c["greater_is_better"] for c in summary["criteria"]):
        more = [c["title"] for c in summary["criteria"] if c["greater_is_better"]]
        notes.append(f"More is better for {', '.join(more)}; less for the others.")
    if summary["incomplete"]:
        notes.append(
            "In italics: the mean of a part of the folds; such sets are left out of ranks and "
            "tests."
        )
    return tuple(notes)


def _comparison(summary: Summary, criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = summary["comparison"][criterion["criterion"]]
    return found


def _chunks(summary: Summary, criteria: list[Any]) -> Iterator[list[Any]]:
    together = 2 if len(summary["algorithms"]) <= _MOST_TOGETHER else 1
    for start in range(0, len(criteria), together):
        yield criteria[start : start + together]


def _titles(criteria: list[Any]) -> str:
    return " and ".join(each["title"] for each in criteria)
