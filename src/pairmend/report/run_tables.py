"""Tables of what a study cost, what went wrong in it, and what went into it."""

from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table


def costs_table(summary: Summary) -> Table:
    """Make the table of times and memory."""
    shared = any(each["shares_fit_of"] for each in summary["costs"])
    columns = (
        Column("algorithm", "text"),
        Column("tasks", "count"),
        Column("fit", "seconds", group="seconds of a task", digits=2),
        Column("predict", "seconds", group="seconds of a task", digits=2),
        Column("seconds in all", "seconds", digits=1),
        Column("peak memory", "bytes"),
        *([Column("uses the fit of", "text")] if shared else []),
    )
    rows = tuple(
        (
            Cell(each["algorithm"]),
            Cell(each["tasks"]),
            Cell(each["fit_seconds"]),
            Cell(each["predict_seconds"]),
            Cell(each["total_seconds"]),
            Cell(each["peak_bytes"]),
            *([Cell(", ".join(each["shares_fit_of"]))] if shared else []),
        )
        for each in summary["costs"]
    )
    caption = []
    if shared:
        caption.append("A fit that several share counts once in all, for the one that made it.")
    if any(each["peak_bytes"] is not None for each in summary["costs"]):
        caption.append("Peak memory is that of the whole process, libraries included.")
    return Table("costs", "Time and memory.", " ".join(caption), columns, rows)


def grouped_failures_table(summary: Summary) -> Table:
    """Make the table of what failed, with how many tasks failed alike."""
    columns = (
        Column("set", "text"),
        Column("algorithm", "text"),
        Column("tasks", "count"),
        Column("error", "text"),
    )
    rows = tuple(
        (Cell(each["set"]), Cell(each["algorithm"]), Cell(each["tasks"]), Cell(each["error"]))
        for each in summary["grouped_failures"]
    )
    return Table("failures", "What failed.", "", columns, rows)


def failures_table(summary: Summary) -> Table:
    """Make the table of failed tasks."""
    columns = (
        Column("set", "text"),
        Column("repeat", "count"),
        Column("fold", "count"),
        Column("algorithm", "text"),
        Column("error", "text"),
    )
    rows = tuple(
        (
            Cell(each["set"]),
            Cell(each["repeat"]),
            Cell(each["fold"]),
            Cell(each["algorithm"]),
            Cell(each["error"]),
        )
        for each in summary["failures"]
    )
    return Table("failed-tasks", "Tasks that failed.", "", columns, rows)


def warnings_table(summary: Summary) -> Table:
    """Make the table of what the algorithms warned of."""
    columns = (
        Column("algorithm", "text"),
        Column("tasks", "count"),
        Column("warning", "text"),
    )
    rows = tuple(
        (Cell(each["algorithm"]), Cell(each["tasks"]), Cell(each["warning"]))
        for each in summary["warnings"]
    )
    caption = "Each once for each algorithm, with the number of tasks that gave it."
    return Table("warnings", "Warnings.", caption, columns, rows)


def algorithms_table(summary: Summary) -> Table:
    """Make the table of algorithms and their parameters."""
    known = any(each["about"] for each in summary["conduct"]["algorithms"])
    columns = (
        Column("algorithm", "text"),
        *([Column("what it does", "text")] if known else []),
        Column("class", "code"),
        Column("parameters", "text"),
    )
    rows = tuple(
        (
            Cell(each["algorithm"]),
            *([Cell(each["about"])] if known else []),
            Cell(each["class"]),
            Cell(each["params"]),
        )
        for each in summary["conduct"]["algorithms"]
    )
    return Table("algorithms", "The algorithms.", "", columns, rows)


def sources_table(summary: Summary) -> Table:
    """Make the table of sets: where they come from, and the hashes of their contents."""
    columns = (
        Column("set", "text"),
        Column("title", "text"),
        Column("source", "text"),
        Column("SHA-256 of the contents", "code"),
    )
    rows = tuple(
        (Cell(each["set"]), Cell(each["title"]), Cell(each["source"]), Cell(each["sha256"]))
        for each in summary["sets"]
    )
    return Table("sources", "Where the sets come from.", "", columns, rows)
