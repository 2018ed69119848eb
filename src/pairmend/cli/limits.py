"""Options --max-bytes and --max-cells, which limit the size of data files."""

import argparse

from pairmend.datasets import ReadLimits

_DEFAULTS = ReadLimits()


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add --max-bytes and --max-cells."""
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=_DEFAULTS.max_bytes,
        metavar="N",
        help="refuse a data file that unpacks to more bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--max-cells",
        type=int,
        default=_DEFAULTS.max_cells,
        metavar="N",
        help="refuse a data file with more cells; a text counts as 16, a column as 64 "
        "(default: %(default)s)",
    )


def limits_of(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that options set."""
    return ReadLimits(max_bytes=options.max_bytes, max_cells=options.max_cells)
