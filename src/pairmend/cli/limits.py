"""Options --max-bytes and --max-cells, which limit the size of data files."""

import argparse
from typing import TYPE_CHECKING

from pairmend._utils.defaults import MAX_FILE_BYTES, MAX_FILE_CELLS

if TYPE_CHECKING:
    from pairmend.datasets import ReadLimits


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add --max-bytes and --max-cells."""
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=MAX_FILE_BYTES,
        metavar="N",
        help="refuse a data file that unpacks to more bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--max-cells",
        type=int,
        default=MAX_FILE_CELLS,
        metavar="N",
        help="refuse a data file with more cells; a text counts as 16, a column as 64 "
        "(default: %(default)s)",
    )


def limits_of(options: argparse.Namespace) -> "ReadLimits":
    """Return the limits that options set."""
    from pairmend.datasets import ReadLimits  # the parser does not need it

    return ReadLimits(max_bytes=options.max_bytes, max_cells=options.max_cells)
