"""``pairmend report``: write the report of a study."""

import argparse

from pairmend.cli.display import show_text
from pairmend.report import write_report


def run(options: argparse.Namespace) -> None:
    """Write the report of a study."""
    show_text(f"report: {write_report(options.folder, options.out, algorithms=options.algorithms)}")
