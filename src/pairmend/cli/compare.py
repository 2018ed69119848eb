"""``pairmend compare``: tests and figures of results that come from elsewhere."""

import argparse

from pairmend._utils.text import counted
from pairmend.cli.display import show_status, show_text, warnings_as_notes
from pairmend.cli.limits import limits_of
from pairmend.cli.report import content_of
from pairmend.cli.standard_streams import data_file, shown, write_json
from pairmend.report import summarise
from pairmend.report.losses_table import SECTIONS, losses_record
from pairmend.report.writing import write_summary


def run(options: argparse.Namespace) -> None:
    """Print which algorithm is best, and write page, tables and figures."""
    greater = options.greater_is_better
    limits = limits_of(options)
    with data_file(options.file, limits) as path, warnings_as_notes():
        record = losses_record(
            path, greater or greater is not None, title=options.title, limits=limits
        )
    sizes = ((len(record.definition[key]), thing) for key, thing in (
        ("sets", "set"), ("algorithms", "algorithm"), ("criteria", "metric")
    ))  # fmt: skip
    read = ", ".join(counted(number, thing) for number, thing in sizes)
    show_status(f"{shown(options.file)}: {counted(len(record.results), 'value')}, {read}")
    summary = summarise(record)
    finding = summary["finding"]
    if len(finding["points"]) != 1:  # the sentence of a single metric has the same content
        show_text(finding["lead"])
    for point in finding["points"]:
        show_text(f"{point['title']}: {point['text']}")
    for caution in finding["cautions"]:
        show_text(caution)
    page = write_summary(summary, options.out, sections=SECTIONS)
    show_status(f"report: {page}")
    write_json(options.json, content_of(summary, page))
