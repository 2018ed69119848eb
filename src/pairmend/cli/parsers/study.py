"""The parsers of ``pairmend study``, ``report`` and ``compare``."""

import argparse
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES
from pairmend.cli.limits import add_limit_options
from pairmend.cli.shared_options import add_output_options, at_least

DESCRIPTION = """\
Cross-validate algorithms on sets, and write a report. Without a study file it is the experiment
of the paper, on those of its sets that are available. An interrupted study continues when it is
started again with the same --out."""


def add_study(commands: Any) -> None:
    """Add the command study."""
    parser = commands.add_parser(
        "study",
        help="compare algorithms on many sets, and write a report",
        description=DESCRIPTION,
        epilog="A study file names code to import: run only those you trust. See docs/study.md. "
        "Exit status: 0 if all tasks succeeded, 1 if some failed, 2 if the study could not run.",
    )
    parser.add_argument(
        "file", type=Path, nargs="?", help=f"a study file (TOML), or {' or '.join(SHIPPED_STUDIES)}"
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="NAME", help="only these sets, of the study or the catalogue"
    )
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="only these algorithms")
    parser.add_argument(
        "--folds", type=at_least(2), help="folds of a cross-validation (the study's, or 10)"
    )
    parser.add_argument(
        "--repeats", type=at_least(1), help="repeats of the cross-validation (the study's, or 1)"
    )
    parser.add_argument(
        "--seed", type=at_least(0), help="seed of random numbers (the study's, or 0)"
    )
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help="a task that takes longer has failed (default: the study's, or no limit)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=at_least(1),
        help="number of worker processes (default: one for each processor)",
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="run on the Dask cluster with this scheduler"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder with the sets' files, directly or in sub-folders named after the sets",
    )
    parser.add_argument("--download", action="store_true", help="download missing sets")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="output folder (default: pairmend- and the study's name)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the study in --out with its sets, algorithms, folds, repeats and seed",
    )
    parser.add_argument(
        "--rerun",
        nargs="+",
        default=(),
        metavar="NAME",
        help="compute these sets and algorithms again; all other results are kept",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="keep results although code, versions of packages or data files have changed since",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would run, without running it"
    )
    add_output_options(parser, "the plan or the failed tasks, and the path of the report,")
    parser.set_defaults(run="pairmend.cli.study.run")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text}")
    return seconds


def add_report(commands: Any) -> None:
    """Add the command report."""
    parser = commands.add_parser(
        "report",
        help="write the report of a study",
        description="Write report.html, one file that opens without network, and folders with "
        "its tables as LaTeX, CSV and Markdown and its figures as SVG and PDF. Works also while "
        "the study runs.",
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
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="report the results although files of the sets have changed since",
    )
    add_output_options(parser, "the findings and comparisons")
    parser.set_defaults(run="pairmend.cli.report.run")


COMPARE = """\
Compare algorithms by results that come from elsewhere: ranks, tests, tables and figures. FILE is a
CSV or Parquet file. Long: a row for each value, with the columns set, algorithm, value and perhaps
criterion, fold and repeat. Wide: a row for each set, with its name in the first column and its
values in a column for each algorithm."""


def add_compare(commands: Any) -> None:
    """Add the command compare."""
    parser = commands.add_parser(
        "compare",
        help="compare algorithms by a file of losses, without a study",
        description=COMPARE,
        epilog="example: pairmend compare losses.csv --out comparison",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the losses; - for standard input")
    parser.add_argument(
        "--greater-is-better",
        nargs="*",
        metavar="METRIC",
        help="metrics whose greater values are better; without names, all (default: none)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("pairmend-compare"),
        metavar="FOLDER",
        help="where to write (default: %(default)s)",
    )
    parser.add_argument("--title", default="", help="title of the page")
    add_limit_options(parser)
    add_output_options(parser, "the findings and comparisons")
    parser.set_defaults(run="pairmend.cli.compare.run")
