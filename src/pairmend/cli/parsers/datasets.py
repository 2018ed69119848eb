"""The parser of ``pairmend datasets``."""

import argparse
from pathlib import Path
from typing import Any

from pairmend.cli.limits import add_limit_options
from pairmend.cli.shared_options import add_output_options, add_quiet
from pairmend.cli.table_options import add_format_options, add_label_options


def add_datasets(commands: Any) -> None:
    """Add the command datasets and its own commands."""
    parser = commands.add_parser(
        "datasets",
        help="list, describe, fetch and convert data sets",
        description="Sets of the catalogue, and data files.",
    )
    parts = parser.add_subparsers(required=True, metavar="COMMAND")

    lists = parts.add_parser("list", help="list the sets of the catalogue")
    add_output_options(lists, "the list")
    lists.set_defaults(run="pairmend.cli.datasets.list_sets")

    info = parts.add_parser("info", help="show size, source and licence of a set of the catalogue")
    info.add_argument("name", help="name of the set, see 'pairmend datasets list'")
    add_output_options(info, "the facts")
    info.set_defaults(run="pairmend.cli.datasets.show_info")

    about = parts.add_parser("describe", help="describe a file: characteristics, labels, pairs")
    _add_input(about)
    about.add_argument("--out", type=Path, help="write the tables to this .html file")
    add_output_options(about, "the characteristics")
    about.set_defaults(run="pairmend.cli.datasets.describe_file")

    fetches = parts.add_parser("fetch", help="download sets of the catalogue into the cache")
    fetches.add_argument("names", nargs="+", metavar="NAME", help="names of sets")
    fetches.set_defaults(run="pairmend.cli.datasets.fetch_sets")

    convert = parts.add_parser(
        "convert",
        help="convert a file to another format",
        description="The suffix determines the format: .arff and .csv are read and written, others "
        "are read. ARFF is written in Meka's format, or with --out-xml in Mulan's.",
    )
    _add_input(convert)
    convert.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    convert.add_argument("--out-xml", type=Path, help="the label file to write, for Mulan")
    add_quiet(convert)
    convert.set_defaults(run="pairmend.cli.datasets.convert_file")


def _add_input(parser: argparse.ArgumentParser) -> None:
    help_text = "a text file with delimiters, an Excel, ARFF, Parquet or MATLAB file"
    parser.add_argument("data", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--xml", type=Path, help="Mulan's label file, if not in the folder of FILE")
    parser.add_argument(
        "--targets", type=int, help="the last N attributes are regression targets", metavar="N"
    )
    add_label_options(parser)
    add_format_options(parser)
    add_limit_options(parser)
