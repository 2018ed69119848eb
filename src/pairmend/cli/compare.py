"""``pairmend compare``: tests and figures of results that come from elsewhere."""

import argparse

from pairmend.cli.display import show_text
from pairmend.cli.limits import limits_of
from pairmend.report import summarise
from pairmend.report.losses_table import SECTIONS, losses_record
from pairmend.report.writing import write_record


def run(options: argparse.Namespace) -> None:
    """Print which algorithm is best, and write page, tables and figures."""
    greater = options.greater_is_better
    record = losses_record(
        options.file, greater or greater is not None, title=options.title, limits=limits_of(options)
    )
    finding = summarise(record)["finding"]
    show_text(finding["lead"])
    for point in finding["points"]:
        show_text(f"{point['title']}: {point['text']}")
    for caution in finding["cautions"]:
        show_text(caution)
    show_text(f"report: {write_record(record, options.out, sections=SECTIONS)}")
