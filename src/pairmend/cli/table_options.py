"""Options of how a table is read: labels, tags, columns, encoding, delimiter, header."""

import argparse
from typing import Any

LIST_OPTIONS = (
    "--labels", "--ignore", "--categorical", "--keep", "--trust", "--row", "--greater-is-better",
    "--sets", "--algorithms",
)  # fmt: skip
"""Options that take all words up to the next option."""


def add_label_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of which columns are labels and features."""
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="the label columns, of 0 and 1, yes and no, true and false, or x and empty cells: "
        "their names (a b c or a,b,c), the number of last columns (14), or Mulan's XML file; not "
        "needed for ARFF files of Meka, or of Mulan with the XML file in the same folder",
    )
    parser.add_argument(
        "--tags",
        metavar="COLUMN",
        help="a column that lists the tags of each row; each tag becomes a label",
    )
    parser.add_argument(
        "--separator",
        metavar="TEXT",
        help="text between the tags (default: the most frequent of ; | , / and line breaks)",
    )
    parser.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to use"
    )
    parser.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="numeric columns to treat as categorical",
    )


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the format of a text file or workbook."""
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of a text file (default: that of its byte order mark, UTF-8, or cp1252)",
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="character between the cells of a text file (default: comma, semicolon, tab or |)",
    )
    parser.add_argument(
        "--decimal",
        choices=[".", ","],
        help="decimal sign of numbers (default: the point, or the comma where it can be nothing "
        "else)",
    )
    parser.add_argument(
        "--thousands",
        metavar="SIGN",
        help="sign between the thousands of numbers: . , ' or a space (default: none, or the comma "
        "where it can be nothing else)",
    )
    parser.add_argument(
        "--header-row",
        type=int,
        metavar="N",
        help="line with the names of the columns, from 1 on; 0 if there is none (default: the "
        "first that is not empty)",
    )
    parser.add_argument(
        "--sheet", metavar="NAME", help="sheet of a workbook (default: the first with a table)"
    )


def format_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the format that options set, as arguments of load_table."""
    delimiter = "\t" if options.delimiter in ("\\t", "tab") else options.delimiter
    return {
        "encoding": options.encoding,
        "delimiter": delimiter,
        "decimal": options.decimal,
        "thousands": options.thousands,
        "header_row": options.header_row,
        "sheet": options.sheet,
    }
