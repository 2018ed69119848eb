"""Tables of what was published beside what was measured."""

from typing import Any

from pairmend import published
from pairmend.report.conclusions import NOT_CONTRADICTED
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table


def conclusions_table(summary: Summary) -> Table:
    """Make the table of the paper's conclusions and whether they hold."""
    rows = tuple(
        (Cell(each["paper"]), Cell(each["ours"]), Cell(each["verdict"]))
        for each in summary["conclusions"]
    )
    columns = (
        Column("the paper found", "text"),
        Column("here", "text"),
        Column("verdict", "text"),
    )
    caption = f"Judged at {summary['alpha']}, the paper's level, on the sets at hand; it had 29."
    notes = (
        f"“{NOT_CONTRADICTED}”: the paper saw no difference and we see none either, which does not "
        "show that there is none; on few sets it is nearly certain to be so.",
    )
    shown = any(each["verdict"] == NOT_CONTRADICTED for each in summary["conclusions"])
    return Table(
        "conclusions", "Do the paper's conclusions hold?", caption, columns, rows,
        notes=notes if shown else (),
    )  # fmt: skip


def distances_table(summary: Summary) -> Table:
    """Make the table of mean distances between printed and measured losses."""
    beside = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = (
        Column("algorithm", "text"),
        Column("sets", "text"),
        *(Column(titles[criterion]) for criterion in beside["criteria"]),
        Column("all criteria"),
    )
    heaps = {"all": "all"}
    if any(each["unexplained"] is not None for each in beside["distances"]):
        heaps |= {"explained": "explained by the method", "unexplained": "not explained"}
    found = {(each["algorithm"], each["criterion"]): each for each in beside["distances"]}
    rows = tuple(
        (
            Cell(name),
            Cell(told),
            *(Cell(found[name, criterion][heap]) for criterion in (*beside["criteria"], None)),
        )
        for heap, told in heaps.items()
        for name in beside["algorithms"]
        if beside["numbers"]
    )
    caption = "Mean absolute difference over sets."
    return Table("distances", "How far from the printed losses?", caption, columns, rows)


def ranks_table(summary: Summary) -> Table:
    """Make the table of average ranks, printed and measured, on the same sets."""
    beside = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = [Column("criterion", "text"), Column("sets", "count")]
    columns += [
        Column(name, group=f"{source}")
        for source in ("published", "measured")
        for name in beside["algorithms"]
    ]
    rows = tuple(
        (
            Cell(titles[criterion]),
            Cell(found["n_sets"]),
            *(
                Cell(
                    found[source][name],
                    mark="best" if name in found["best"][source] else "",
                )
                for source in ("published", "measured")
                for name in beside["algorithms"]
            ),
        )
        for criterion, found in beside["ranks"].items()
    )
    caption = "Average ranks by the printed losses and by ours, on the same sets."
    return Table("published-ranks", "Is the order the same?", caption, tuple(columns), rows)


def shares_table(summary: Summary) -> Table:
    """Make the table of how many labels are predicted, by the printed losses and by ours."""
    beside = summary["published"]
    columns = [
        Column("set", "text"),
        Column("No.", "count"),
        Column("LD", digits=3),
        *(
            Column(name, group=source, digits=2)
            for source in ("published", "measured")
            for name in beside["algorithms"]
        ),
    ]
    sets = list(dict.fromkeys((s["set"], s["number"], s["density"]) for s in beside["shares"]))
    found = {(each["set"], each["algorithm"]): each for each in beside["shares"]}
    rows = tuple(
        (
            Cell(name),
            Cell(number),
            Cell(density),
            *(
                Cell(
                    found[name, algorithm][source],
                    mark="differs"
                    if source == "published" and name in beside["unexplained"]
                    else "",
                )
                for source in ("published", "measured")
                for algorithm in beside["algorithms"]
            ),
        )
        for name, number, density in sets
    )
    caption = (
        "The share of labels predicted, as Hamming loss H, micro F1 loss M and density LD tell it: "
        "H / M − LD."
    )
    notes = (
        "In italics: far too few for the described method, whose threshold of one half accepts "
        "about half of the labels.",
    )
    return Table("shares", "How many labels?", caption, tuple(columns), rows, notes=notes)


def published_table(summary: Summary) -> Table:
    """Make the table that puts each printed loss beside ours."""
    beside = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = [Column("set", "text"), Column("No.", "count"), Column("criterion", "text")]
    for name in beside["algorithms"]:
        columns += [
            Column("published", group=name),
            Column("measured", group=name),
            Column("difference", "signed", group=name),
        ]
    columns.append(Column("explained", "text"))
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in beside["numbers"]:
        key = (each["set"], each["number"], each["criterion"], each["explained"])
        lines.setdefault(key, {})[each["algorithm"]] = each
    rows = []
    for (name, number, criterion, explained), found in lines.items():
        cells = [Cell(name), Cell(number), Cell(titles[criterion])]
        for algorithm in beside["algorithms"]:
            one = found.get(algorithm, {})
            cells += [Cell(one.get(key)) for key in ("published", "measured", "difference")]
        rows.append(
            (*cells, Cell("yes" if explained else "no", mark="" if explained else "differs"))
        )
    caption = (
        "Printed losses beside ours, the difference ours minus the printed, and whether the method "
        "as it is described explains the printed ones."
    )
    notes = (f"Source: {published.SOURCE}.",)
    return Table("published", "Every number.", caption, tuple(columns), tuple(rows), notes=notes)
