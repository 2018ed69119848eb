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


def run(options: argparse.Namespace) -> None:
    """Write the report of a study."""
    record = read_study(options.folder)
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
