"""Tables of a report: tests, losses, ranks, correlations, characteristics."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pairmend import published
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Mark, Table
from pairmend.stats.over_sets import MOST_EXACT

_WHOLE = ("N", "d", "L")


def friedman_table(summary: Summary) -> Table:
    """Return the table of Friedman's tests."""
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
        Column("metric", "text"),
        Column("sets", "count"),
        Column("χ²", group="Friedman"),
        Column("p", "p", group="Friedman"),
        Column("p, Holm", "p", group="Friedman"),
        Column("F", group="Iman–Davenport"),
        Column("p", "p", group="Iman–Davenport"),
    )
    caption = "Friedman's test of each metric, corrected for ties."
    notes = (
        f"In bold: significant at {summary['alpha']} after Holm's adjustment over the metrics.",
    )
    return Table(
        "friedman", "Do the algorithms differ?", caption, columns, tuple(rows),
        notes=notes if any(row[4].mark for row in rows) else (),
    )  # fmt: skip


def wilcoxon_tables(summary: Summary) -> Iterator[Table]:
    """Yield a table of Wilcoxon's tests for each metric, with average ranks."""
    algorithms = summary["algorithms"]
    for each in summary["criteria"]:
        compared = _comparison(summary, each)
        if not compared["pairs"]:
            continue
        found = {(pair["first"], pair["second"]): pair for pair in compared["pairs"]}
        rows = tuple(
            (
                Cell(first),
                *(
                    _adjusted(found[first, second]) if (first, second) in found else Cell("")
                    for second in algorithms
                ),
            )
            for first in algorithms[:-1]
        )
        caption = (
            f"{each['title']}: Wilcoxon's signed-rank test of each pair, p-values adjusted by "
            f"{compared['procedure']}."
        )
        yield Table(
            f"wilcoxon-{each['slug']}", "Which algorithms differ?", caption,
            (Column("algorithm", "text"), *(Column(name, "p") for name in algorithms)), rows,
            ((Cell("average rank"), *_rank_cells(summary, each)),),
            tuple(_wilcoxon_notes(summary, compared)),
        )  # fmt: skip


def _wilcoxon_notes(summary: Summary, compared: Mapping[str, Any]) -> Iterator[str]:
    n_sets, alpha = len(compared["sets"]), summary["alpha"]
    significant = any(pair["significant"] for pair in compared["pairs"])
    yield f"In bold: {f'p-values below {alpha}, and ' if significant else ''}the best rank."
    yield _method_note({pair["method"] for pair in compared["pairs"]})
    if compared["out_of_reach"]:
        yield (
            f"An algorithm that wins all {n_sets} sets has an adjusted p of "
            f"{compared['least_adjusted']:.3f}: {compared['out_of_reach']}."
        )


def _method_note(methods: set[str]) -> str:
    """Return a sentence with the method of the p-values."""
    if methods == {"exact"}:
        return "The p-values are exact."
    if methods == {"normal"}:
        return (
            f"The p-values are by the normal approximation: pairs differ on over {MOST_EXACT} sets."
        )
    return (
        f"The p-values are exact where a pair differs on at most {MOST_EXACT} sets, else by the "
        "normal approximation; the table of every pair has the method of each."
    )


def pairs_table(summary: Summary) -> Table:
    """Return the table of all pairs: counts, differences, p-values and effect sizes."""
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
            Cell(pair["method"]),
            Cell(pair["p"]),
            _adjusted(pair),
        )
        for each in summary["criteria"]
        for pair in _comparison(summary, each)["pairs"]
    ]
    columns = (
        Column("metric", "text"),
        Column("pair", "text"),
        Column("first", "count", group="sets won by"),
        Column("neither", "count", group="sets won by"),
        Column("second", "count", group="sets won by"),
        Column("mean", "signed", group="difference"),
        Column("low", "signed", group="difference"),
        Column("high", "signed", group="difference"),
        Column("effect", "signed", digits=2),
        Column("method", "text", group="p"),
        Column("raw", "p", group="p"),
        Column("adjusted", "p", group="p"),
    )
    caption = "Every pair of algorithms by every metric."
    notes = (
        f"The difference is first minus second, with a {100 * summary['confidence']:g} % bootstrap "
        "interval over the sets. The effect is the rank-biserial correlation: +1 where the first "
        "is better on every set, −1 where the second is.",
    )
    return Table("pairs", "How much do they differ?", caption, columns, tuple(rows), notes=notes)


def results_table(summary: Summary) -> Table:
    """Return the table of all means, the best in bold, with the row of ranks."""
    algorithms = summary["algorithms"]
    columns = [*set_columns(summary)]
    columns += [
        Column(name, group=each["title"]) for each in summary["criteria"] for name in algorithms
    ]
    rows = []
    for one in summary["sets"]:
        cells = set_cells(summary, one)
        for each in summary["criteria"]:
            cells += _result_cells(summary, each, one["set"])
        rows.append(tuple(cells))
    folds = f"{summary['folds']} folds"
    if summary["repeats"] > 1:
        folds = f"{summary['repeats']} × {folds}"
    n_values = summary["folds"] * summary["repeats"]
    caption = f"The mean of {folds}" if n_values > 1 else "One value for each set and algorithm"
    caption += ", the best of each set in bold." if any(_bold(row) for row in rows) else "."
    return Table(
        "results", "All results.", caption, tuple(columns), tuple(rows),
        _foot(summary, summary["criteria"]), (*_direction_note(summary), *_incomplete_note(rows)),
    )  # fmt: skip


def spread_tables(summary: Summary) -> Iterator[Table]:
    """Yield a table for each metric, with standard deviations over folds."""
    for each in summary["criteria"]:
        columns = [*set_columns(summary)]
        columns += [Column(name, extra="sd") for name in summary["algorithms"]]
        rows = tuple(
            (*set_cells(summary, one), *_result_cells(summary, each, one["set"], spread=True))
            for one in summary["sets"]
            if one["set"] in summary["measured"].get(each["criterion"], {})
        )
        better = "higher is better" if each["greater_is_better"] else "lower is better"
        caption = f"Mean ± standard deviation over the folds; {better}."
        yield Table(
            f"results-{each['slug']}", f"{each['title']}.", caption, tuple(columns), rows,
            _foot(summary, [each]), _incomplete_note(rows),
        )  # fmt: skip


def spearman_tables(summary: Summary) -> Iterator[Table]:
    """Yield a table of correlations for each metric."""
    for each in summary["criteria"]:
        found = _comparison(summary, each)["spearman"]
        if not found:
            continue
        rows = tuple(
            (
                Cell(key),
                *(
                    _correlation(found[key][name]) if key in found else Cell(None)
                    for name in summary["algorithms"]
                ),
            )
            for key in published.CHARACTERISTICS
        )
        caption = f"{each['title']}: Spearman's correlation with characteristics of the sets."
        some = any(_bold(row) for row in rows)
        notes = (
            "Negative: the metric decreases as the characteristic increases. The p-values are not "
            f"adjusted; {'those in bold are' if some else 'none is'} below "
            f"{summary['alpha']} after Holm's adjustment over the table.",
        )
        yield Table(
            f"spearman-{each['slug']}", "Which sets are hard?", caption,
            (
                Column("characteristic", "text"),
                *(Column(name, extra="p") for name in summary["algorithms"]),
            ),
            rows, notes=notes,
        )  # fmt: skip


def characteristics_table(summary: Summary) -> Table:
    """Return the table of sets, with measured and published characteristics."""
    known = published.sets() if summary["is_paper_study"] else {}
    compared = bool(known)
    columns = [*set_columns(summary)]
    for group in ("measured", "published") if compared else ("",):
        columns += [
            Column(key, "count" if key in _WHOLE else "number", group=group)
            for key in published.CHARACTERISTICS
        ]
    rows = []
    for one in summary["sets"]:
        printed = known[one["number"]].characteristics if one["number"] in known else {}
        cells = set_cells(summary, one)
        for key in published.CHARACTERISTICS:
            mark: Mark = "differs" if compared and key in one["unlike_published"] else ""
            cells.append(Cell(one["characteristics"][key], mark=mark))
        if compared:
            cells += [Cell(printed.get(key)) for key in published.CHARACTERISTICS]
        rows.append(tuple(cells))
    caption = (
        "Rows N, features and labels d, labels L, cardinality LC, density LD, mean imbalance ratio "
        "avIR, mean concurrence AVsc."
    )
    differing = compared and any(one["unlike_published"] for one in summary["sets"])
    notes = ("In italics: not what the paper printed.",) if differing else ()
    return Table("characteristics", "Sets.", caption, tuple(columns), tuple(rows), notes=notes)


def set_columns(summary: Summary) -> list[Column]:
    """Return the columns of a set's name and, in a study of the paper, its number there."""
    numbered = summary["is_paper_study"]
    return [Column("set", "text"), *([Column("No.", "count")] if numbered else [])]


def set_cells(summary: Summary, one: Mapping[str, Any]) -> list[Cell]:
    """Return the cells of a set for `set_columns`."""
    return [Cell(one["set"]), *([Cell(one["number"])] if summary["is_paper_study"] else [])]


def _gap(summary: Summary) -> list[Cell]:
    """Return empty cells for the columns between a set's name and its results."""
    return [Cell("")] * (len(set_columns(summary)) - 1)


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


def _correlation(one: Mapping[str, Any]) -> Cell:
    return Cell(one["rho"], one["p"], "best" if one["significant"] else "")


def _foot(summary: Summary, criteria: Sequence[Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    """Return the row of ranks and, with few sets, the row of means, which are compared then."""
    compared = [_comparison(summary, each) for each in criteria]
    if not any(len(found["sets"]) > 1 and found["ranks"] for found in compared):
        return ()
    means: list[Cell] = [Cell("mean"), *_gap(summary)]
    ranks: list[Cell] = [Cell("average rank"), *_gap(summary)]
    for each, found in zip(criteria, compared, strict=True):
        means += [
            Cell(found["means"].get(name), mark="best" if name in found["best_mean"] else "")
            for name in summary["algorithms"]
        ]
        ranks += _rank_cells(summary, each, bold=not found["few_sets"])
    return (tuple(means), tuple(ranks)) if any(c["few_sets"] for c in compared) else (tuple(ranks),)


def _direction_note(summary: Summary) -> tuple[str, ...]:
    more = [c["title"] for c in summary["criteria"] if c["greater_is_better"]]
    if not more:
        return ()
    others = "; lower for the others" if len(more) < len(summary["criteria"]) else ""
    return (f"Higher is better for {', '.join(more)}{others}.",)


def _incomplete_note(rows: Sequence[tuple[Cell, ...]]) -> tuple[str, ...]:
    if not any(cell.mark == "incomplete" for row in rows for cell in row):
        return ()
    return (
        "In italics: the mean of a part of the folds; such sets are left out of ranks and tests.",
    )


def _bold(row: Sequence[Cell]) -> bool:
    return any(cell.mark == "best" for cell in row)


def _comparison(summary: Summary, criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = summary["comparison"][criterion["criterion"]]
    return found
