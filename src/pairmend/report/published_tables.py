"""Tables that compare published with measured losses."""

from typing import Any

from pairmend import published
from pairmend._utils.text import listed
from pairmend.report.conclusions import NOT_CONTRADICTED
from pairmend.report.published import GENERATED, IMPOSSIBLE, POSSIBLE
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table
from pairmend.report.tables import set_cells, set_columns

PLAUSIBILITY_TITLES = {
    POSSIBLE: "possible",
    IMPOSSIBLE: "impossible",
    GENERATED: "generated set",
}


def conclusions_table(summary: Summary) -> Table:
    """Return the table of the paper's conclusions and whether they hold."""
    rows = tuple(
        (Cell(each["paper"]), Cell(each["ours"]), Cell(each["verdict"]))
        for each in summary["conclusions"]
    )
    columns = (
        Column("the paper found", "text"),
        Column("here", "text"),
        Column("verdict", "text"),
    )
    caption = (
        f"Tested at {summary['alpha']}, the paper's level, on the {len(summary['sets'])} sets of "
        "this study; the paper had 29."
    )
    notes = (
        f"“{NOT_CONTRADICTED}”: neither the paper nor this study found a difference, which does "
        "not show that there is none; with few sets this is nearly certain.",
    )
    shown = any(each["verdict"] == NOT_CONTRADICTED for each in summary["conclusions"])
    return Table(
        "conclusions", "Do the paper's conclusions hold?", caption, columns, rows,
        notes=notes if shown else (),
    )  # fmt: skip


def distances_table(summary: Summary) -> Table:
    """Return the table of mean distances between printed and measured losses."""
    paper = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = (
        Column("algorithm", "text"),
        Column("sets", "text"),
        *(Column(titles[criterion]) for criterion in paper["criteria"]),
        Column("all metrics"),
    )
    found = {(each["algorithm"], each["criterion"]): each for each in paper["distances"]}
    present = {each["plausibility"] for each in paper["numbers"]}
    plausibilities = {"all": "all"} if present - {GENERATED} else {}
    if GENERATED in present and plausibilities:
        plausibilities["all"] = "all but generated"
    plausibilities |= {
        plausibility: title
        for plausibility, title in PLAUSIBILITY_TITLES.items()
        if plausibility in present
        and (plausibility == GENERATED or {POSSIBLE, IMPOSSIBLE} <= present)
    }
    rows = tuple(
        (
            Cell(name),
            Cell(title),
            *(
                Cell(found[name, criterion][plausibility])
                for criterion in (*paper["criteria"], None)
            ),
        )
        for plausibility, title in plausibilities.items()
        for name in paper["algorithms"]
        if paper["numbers"]
    )
    caption = "Mean absolute difference over sets."
    notes = []
    if POSSIBLE in plausibilities:
        notes.append(
            "Printed losses are possible for the method as described if they imply enough "
            "predicted labels."
        )
    if GENERATED in plausibilities:
        notes.append(_generated_note(summary))
    return Table(
        "distances", "How large are the differences?", caption, columns, rows, notes=tuple(notes)
    )


def ranks_table(summary: Summary) -> Table:
    """Return the table of average ranks by printed and measured losses on the same sets."""
    paper = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = [Column("metric", "text"), Column("sets", "count")]
    columns += [
        Column(name, group=f"{source}")
        for source in ("published", "measured")
        for name in paper["algorithms"]
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
                for name in paper["algorithms"]
            ),
        )
        for criterion, found in paper["ranks"].items()
    )
    caption = "Average ranks by printed and by measured losses on the same sets."
    if paper["generated"]:
        caption += f" Without {listed(paper['generated'])}, generated sets."
    return Table("published-ranks", "Is the order the same?", caption, tuple(columns), rows)


def shares_table(summary: Summary) -> Table:
    """Return the table of shares of predicted labels, by printed and by measured losses."""
    paper = summary["published"]
    columns = [
        *set_columns(summary),
        Column("LD", digits=3),
        *(
            Column(name, group=source, digits=2)
            for source in ("published", "measured")
            for name in paper["algorithms"]
        ),
    ]
    densities = {each["set"]: each["density"] for each in paper["shares"]}
    found = {(each["set"], each["algorithm"]): each for each in paper["shares"]}
    rows = tuple(
        (
            *set_cells(summary, one),
            Cell(densities[one["set"]]),
            *(
                Cell(
                    found[one["set"], algorithm][source],
                    mark="differs"
                    if source == "published" and one["set"] in paper["impossible"]
                    else "",
                )
                for source in ("published", "measured")
                for algorithm in paper["algorithms"]
            ),
        )
        for one in summary["sets"]
        if one["set"] in densities
    )
    caption = (
        "The share of predicted labels, computed from Hamming loss H, micro F1 loss M and density "
        "LD as H / M − LD."
    )
    notes = (
        "In italics: impossible for the described method, whose threshold of one half predicts "
        "about half of the labels.",
    )
    return Table(
        "shares", "How many labels?", caption, tuple(columns), rows,
        notes=notes if paper["impossible"] else (),
    )  # fmt: skip


def published_table(summary: Summary) -> Table:
    """Return the table of all printed and measured losses."""
    paper = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = [*set_columns(summary), Column("metric", "text")]
    for name in paper["algorithms"]:
        columns += [
            Column("published", group=name),
            Column("measured", group=name),
            Column("difference", "signed", group=name),
        ]
    columns.append(Column("printed losses", "text"))
    sets = {one["set"]: one for one in summary["sets"]}
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in paper["numbers"]:
        key = (each["set"], each["criterion"], each["plausibility"])
        lines.setdefault(key, {})[each["algorithm"]] = each
    rows = []
    for (name, criterion, plausibility), found in lines.items():
        cells = [*set_cells(summary, sets[name]), Cell(titles[criterion])]
        for algorithm in paper["algorithms"]:
            one = found.get(algorithm, {})
            cells += [Cell(one.get(key)) for key in ("published", "measured", "difference")]
        rows.append(
            (
                *cells,
                Cell(
                    PLAUSIBILITY_TITLES[plausibility],
                    mark="differs" if plausibility == IMPOSSIBLE else "",
                ),
            )
        )
    caption = (
        "Printed and measured losses, the difference measured minus printed, and whether the "
        "printed losses are possible for the method as described."
    )
    notes = [_generated_note(summary)] if paper["generated"] else []
    notes.append(f"Source: {published.SOURCE}.")
    return Table(
        "published", "Every number.", caption, tuple(columns), tuple(rows), notes=tuple(notes)
    )


def _generated_note(summary: Summary) -> str:
    return (
        f"Generated sets: {listed(summary['published']['generated'])}. The paper does not specify "
        "how it generated them, so their losses cannot be compared."
    )
