"""``pairmend report``: write the report of a study."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairmend.cli.display import show_status
from pairmend.cli.standard_streams import write_json
from pairmend.report import summarise
from pairmend.report.writing import write_summary
from pairmend.study import read_study
from pairmend.study.plan import changed_sets


def run(options: argparse.Namespace) -> None:
    """Write the report of a study."""
    record = read_study(options.folder)
    if not options.accept_changes and (changes := changed_sets(options.folder)):
        raise ValueError(
            f"the results in {options.folder} are not those of the data as they are now:\n  "
            + "\n  ".join(changes)
            + "\nCompute the sets again (pairmend study --rerun NAME), undo the changes, or report "
            "the results as they are (--accept-changes)."
        )
    if options.algorithms is not None:
        record = record.narrowed(options.algorithms)
    summary = summarise(record)
    page = write_summary(summary, options.folder if options.out is None else options.out)
    show_status(f"report: {page}")
    write_json(options.json, content_of(summary, page))


def content_of(summary: Mapping[str, Any], page: Path) -> dict[str, Any]:
    """Return the page, its first sentences, and the comparison for each metric."""
    finding = summary["finding"]
    return {
        "report": str(page),
        "finding": {key: finding[key] for key in ("lead", "points", "cautions")},
        "comparison": summary["comparison"],
    }
