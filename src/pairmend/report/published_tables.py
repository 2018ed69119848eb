"""Tables of what was published beside what was measured."""

from typing import Any

from pairmend import published
from pairmend._utils.text import listed
from pairmend.report.conclusions import NOT_CONTRADICTED
from pairmend.report.published import GENERATED, IMPOSSIBLE, POSSIBLE
from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table
from pairmend.report.tables import set_cells, set_columns

HEAPS = {
    POSSIBLE: "could come from the method",
    IMPOSSIBLE: "cannot come from the method",
    GENERATED: "generated anew",
}
"""What is said of the heaps of sets."""


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
    found = {(each["algorithm"], each["criterion"]): each for each in beside["distances"]}
    present = {each["heap"] for each in beside["numbers"]}
    heaps = {"all": "all"} if present - {GENERATED} else {}
    if GENERATED in present and heaps:
        heaps["all"] = "all but generated"
    heaps |= {
        heap: told
        for heap, told in HEAPS.items()
        if heap in present and (heap == GENERATED or {POSSIBLE, IMPOSSIBLE} <= present)
    }
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
    notes = []
    if POSSIBLE in heaps:
        notes.append(
            "Whether printed losses could come from the method as it is described goes by how "
            "many labels they imply; it does not say why ours differ from them."
        )
    if GENERATED in heaps:
        notes.append(_generated_note(summary))
    return Table(
        "distances", "How far from the printed losses?", caption, columns, rows, notes=tuple(notes)
    )


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
    if beside["generated"]:
        caption += f" Without {listed(beside['generated'])}, generated anew."
    return Table("published-ranks", "Is the order the same?", caption, tuple(columns), rows)


def shares_table(summary: Summary) -> Table:
    """Make the table of how many labels are predicted, by the printed losses and by ours."""
    beside = summary["published"]
    columns = [
        *set_columns(summary),
        Column("LD", digits=3),
        *(
            Column(name, group=source, digits=2)
            for source in ("published", "measured")
            for name in beside["algorithms"]
        ),
    ]
    densities = {each["set"]: each["density"] for each in beside["shares"]}
    found = {(each["set"], each["algorithm"]): each for each in beside["shares"]}
    rows = tuple(
        (
            *set_cells(summary, one),
            Cell(densities[one["set"]]),
            *(
                Cell(
                    found[one["set"], algorithm][source],
                    mark="differs"
                    if source == "published" and one["set"] in beside["impossible"]
                    else "",
                )
                for source in ("published", "measured")
                for algorithm in beside["algorithms"]
            ),
        )
        for one in summary["sets"]
        if one["set"] in densities
    )
    caption = (
        "The share of labels predicted, as Hamming loss H, micro F1 loss M and density LD tell it: "
        "H / M − LD."
    )
    notes = (
        "In italics: far too few for the described method, whose threshold of one half accepts "
        "about half of the labels.",
    )
    return Table(
        "shares", "How many labels?", caption, tuple(columns), rows,
        notes=notes if beside["impossible"] else (),
    )  # fmt: skip


def published_table(summary: Summary) -> Table:
    """Make the table that puts each printed loss beside ours."""
    beside = summary["published"]
    titles = {c["criterion"]: c["title"] for c in summary["criteria"]}
    columns = [*set_columns(summary), Column("criterion", "text")]
    for name in beside["algorithms"]:
        columns += [
            Column("published", group=name),
            Column("measured", group=name),
            Column("difference", "signed", group=name),
        ]
    columns.append(Column("printed losses", "text"))
    sets = {one["set"]: one for one in summary["sets"]}
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in beside["numbers"]:
        key = (each["set"], each["criterion"], each["heap"])
        lines.setdefault(key, {})[each["algorithm"]] = each
    rows = []
    for (name, criterion, heap), found in lines.items():
        cells = [*set_cells(summary, sets[name]), Cell(titles[criterion])]
        for algorithm in beside["algorithms"]:
            one = found.get(algorithm, {})
            cells += [Cell(one.get(key)) for key in ("published", "measured", "difference")]
        rows.append((*cells, Cell(HEAPS[heap], mark="differs" if heap == IMPOSSIBLE else "")))
    caption = (
        "Printed losses beside ours, the difference ours minus the printed, and whether the "
        "printed ones could come from the method as it is described."
    )
    notes = [_generated_note(summary)] if beside["generated"] else []
    notes.append(f"Source: {published.SOURCE}.")
    return Table(
        "published", "Every number.", caption, tuple(columns), tuple(rows), notes=tuple(notes)
    )


def _generated_note(summary: Summary) -> str:
    return (
        f"Generated anew: {listed(summary['published']['generated'])}. The paper does not say how "
        "its own were drawn, so a difference tells nothing."
    )
