"""``pairmend report``: write the report of a study."""

import argparse
from pathlib import Path
from typing import Any

from pairmend.cli.display import show_text


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write the report of a study",
        description="Write report.html, one file that opens without network, and a folder with "
        "its tables as LaTeX, CSV and Markdown. Works also while the study runs.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="output folder of a study")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where to write (default: the study's folder)"
    )
    parser.add_argument(
        "--algorithms",
        nargs="+",
        metavar="NAME",
        help="compare only these; write the report to another folder with --out",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from pairmend.report import write_report  # needs packages that other commands do not

    show_text(f"report: {write_report(options.folder, options.out, algorithms=options.algorithms)}")
