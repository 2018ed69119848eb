"""Options that several commands have: labels, columns, method, criterion, model files."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import LOSS_NAMES, MAX_MODEL_BYTES
from pairmend.cli.limits import add_limit_options
from pairmend.cli.methods import BASES, DEFAULT_BASE, METHODS, make_classifier

DEFAULT_METHOD = next(iter(METHODS))
DATA_HELP = "a CSV, ARFF or Parquet file"


def at_least(minimum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers with a minimum."""

    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of labels, columns and classifier."""
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="the label columns, of 0 and 1: their names (a b c or a,b,c), the number of last "
        "columns (14), or Mulan's XML file; not needed for ARFF files of Meka, or of Mulan with "
        "the XML file in the same folder",
    )
    parser.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to use"
    )
    parser.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="numeric columns to treat as categorical; columns of text always are",
    )
    about = "; ".join(f"{name}: {method.about}" for name, method in METHODS.items())
    parser.add_argument(
        "--method",
        choices=METHODS,
        help=f"multi-label method (default: {DEFAULT_METHOD}); {about}",
    )
    parser.add_argument(
        "--base",
        choices=BASES,
        help="base classifier (default: auto for mended, which compares a logistic regression and "
        f"a forest; {DEFAULT_BASE} for others)",
    )
    parser.add_argument(
        "--criterion",
        choices=LOSS_NAMES,
        help="metric to optimise, for methods that have the option",
    )
    parser.add_argument("--seed", type=at_least(0), help="seed of random numbers (default: 0)")
    parser.add_argument(
        "--verbose",
        action="store_true",
        default=None,
        help="print the steps of fitting, each as a line, to standard error (default: a terminal "
        "shows the current step)",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the argument DATA and the options that limit its size."""
    parser.add_argument("data", type=Path, metavar="DATA", help=DATA_HELP)
    add_limit_options(parser)


def chosen_classifier(options: argparse.Namespace) -> Any:
    """Return the unfitted classifier of the options."""
    return make_classifier(
        options.method or DEFAULT_METHOD,
        options.base,
        criterion=options.criterion,
        seed=options.seed or 0,
    )


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading a model file."""
    parser.add_argument(
        "--trust",
        nargs="+",
        default=[],
        metavar="TYPE",
        help="further types in the model file to trust",
    )
    parser.add_argument(
        "--max-model-bytes",
        type=at_least(1),
        default=MAX_MODEL_BYTES,
        metavar="N",
        help="refuse a model that needs more bytes of memory (default: 4 GiB)",
    )
    parser.add_argument(
        "--sha256",
        metavar="HEX",
        help="refuse a model file with another SHA-256 than 'fit' printed",
    )


def split_names(words: Sequence[str]) -> list[str]:
    """Split names that are joined by commas."""
    return [name for word in words for name in word.split(",") if name]
