"""Options that several commands have: data, method, criterion, output, model files."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import LOSS_NAMES, MAX_MODEL_BYTES
from pairmend.cli.limits import add_limit_options
from pairmend.cli.methods import BASES, DEFAULT_BASE, METHODS, make_classifier
from pairmend.cli.table_options import add_format_options, add_label_options

DEFAULT_METHOD = next(iter(METHODS))
DATA_HELP = "a text file with delimiters, an Excel, ARFF or Parquet file, or - for standard input"


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
    add_label_options(parser)
    about = "; ".join(f"{name}: {method.about}" for name, method in METHODS.items())
    parser.add_argument(
        "--method",
        choices=METHODS,
        help=f"multi-label method (default: {DEFAULT_METHOD}); {about}",
    )
    parser.add_argument(
        "--base",
        choices=BASES,
        help="base classifier (default: auto for mended, which compares a logistic regression, "
        f"a forest and a kernel ridge regression; {DEFAULT_BASE} for others)",
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
    """Add the argument DATA and the options of its format and size."""
    parser.add_argument("data", type=Path, metavar="DATA", help=DATA_HELP)
    add_format_options(parser)
    add_limit_options(parser)


def add_output_options(parser: argparse.ArgumentParser, content: str) -> None:
    """Add --json and --quiet."""
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=f"write {content} as JSON to this file; - for standard output, in place of tables",
    )
    add_quiet(parser)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add --quiet."""
    parser.add_argument(
        "--quiet", action="store_true", help="print results and errors only: no notes, no progress"
    )


def chosen_classifier(options: argparse.Namespace, *, for_frames: bool) -> Any:
    """Return the unfitted classifier of the options, for frames or for arrays."""
    return make_classifier(
        options.method or DEFAULT_METHOD,
        options.base,
        criterion=options.criterion,
        seed=options.seed or 0,
        for_frames=for_frames,
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
