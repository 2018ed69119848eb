"""Tables of time and memory, failures, warnings, algorithms and sources."""

from pairmend.report.summary import Summary
from pairmend.report.table import Cell, Column, Table


def costs_table(summary: Summary) -> Table:
    """Return the table of times and memory."""
    shared = any(each["shares_fit_of"] for each in summary["costs"])
    columns = (
        Column("algorithm", "text"),
        Column("tasks", "count"),
        Column("fit", "seconds", group="seconds of a task", digits=2),
        Column("predict", "seconds", group="seconds of a task", digits=2),
        Column("total seconds", "seconds", digits=1),
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
        caption.append("The total counts a shared fit once, for the algorithm that was fitted.")
    if any(each["peak_bytes"] is not None for each in summary["costs"]):
        caption.append("Peak memory is that of the whole process, libraries included.")
    return Table("costs", "Time and memory.", " ".join(caption), columns, rows)


def grouped_failures_table(summary: Summary) -> Table:
    """Return the table of failed tasks, grouped by error."""
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
    return Table("failures", "Errors.", "", columns, rows)


def failures_table(summary: Summary) -> Table:
    """Return the table of failed tasks."""
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
    return Table("failed-tasks", "Failed tasks.", "", columns, rows)


def warnings_table(summary: Summary) -> Table:
    """Return the table of warnings."""
    columns = (
        Column("algorithm", "text"),
        Column("tasks", "count"),
        Column("warning", "text"),
    )
    rows = tuple(
        (Cell(each["algorithm"]), Cell(each["tasks"]), Cell(each["warning"]))
        for each in summary["warnings"]
    )
    caption = "Warnings of each algorithm, with the number of tasks."
    return Table("warnings", "Warnings.", caption, columns, rows)


def algorithms_table(summary: Summary) -> Table:
    """Return the table of algorithms and their parameters."""
    known = any(each["about"] for each in summary["run_details"]["algorithms"])
    columns = (
        Column("algorithm", "text"),
        *([Column("description", "text")] if known else []),
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
        for each in summary["run_details"]["algorithms"]
    )
    return Table("algorithms", "Algorithms.", "", columns, rows)


def chosen_table(summary: Summary) -> Table:
    """Return the table of the parameters that searches chose."""
    columns = (
        Column("algorithm", "text"),
        Column("parameter", "text"),
        Column("value", "text"),
        Column("tasks", "count"),
    )
    rows = tuple(
        (Cell(each["algorithm"]), Cell(each["parameter"]), Cell(each["value"]), Cell(each["tasks"]))
        for each in summary["chosen"]
    )
    caption = (
        "In how many tasks the cross-validation within the training part chose each value; the "
        "test part has no influence."
    )
    return Table("chosen", "Tuned parameters.", caption, columns, rows)


def sources_table(summary: Summary) -> Table:
    """Return the table of the sources of sets, with hashes of their contents."""
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
    return Table("sources", "Sources of the sets.", "", columns, rows)
