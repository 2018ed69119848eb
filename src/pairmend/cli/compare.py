"""``pairmend compare``: tests and figures of results that come from elsewhere."""

import argparse

from pairmend.cli.display import show_text, warnings_as_notes
from pairmend.cli.limits import limits_of
from pairmend.cli.standard_streams import data_file
from pairmend.report import summarise
from pairmend.report.losses_table import SECTIONS, losses_record
from pairmend.report.writing import write_record


def run(options: argparse.Namespace) -> None:
    """Print which algorithm is best, and write page, tables and figures."""
    greater = options.greater_is_better
    limits = limits_of(options)
    with data_file(options.file, limits) as path, warnings_as_notes():
        record = losses_record(
            path, greater or greater is not None, title=options.title, limits=limits
        )
    finding = summarise(record)["finding"]
    show_text(finding["lead"])
    for point in finding["points"]:
        show_text(f"{point['title']}: {point['text']}")
    for caution in finding["cautions"]:
        show_text(caution)
    show_text(f"report: {write_record(record, options.out, sections=SECTIONS)}")
