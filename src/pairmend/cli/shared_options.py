"""Options and reading of files shared by fit, predict, evaluate and explain."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairmend.cli.display import progress, show_note
from pairmend.cli.limits import add_limit_options, limits_of
from pairmend.cli.methods import BASES, METHODS, make_classifier
from pairmend.datasets import MultiLabelData, drop_features, load_file, load_table
from pairmend.metrics import LOSSES
from pairmend.persistence import SavedModel, UntrustedTypesError, load_model
from pairmend.persistence.save_load import MAX_BYTES

DEFAULT_METHOD = next(iter(METHODS))
DATA_HELP = "a CSV, ARFF or Parquet file"
MANY_TEXTS = 20
"""Number of different texts from which a column may be an identifier of rows."""


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
        "--base", choices=BASES, help=f"base classifier (default: {next(iter(BASES))})"
    )
    parser.add_argument(
        "--criterion", choices=LOSSES, help="metric to optimise, for methods that have the option"
    )
    parser.add_argument("--seed", type=at_least(0), help="seed of random numbers (default: 0)")


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


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Raise an error if the output file is also an input file."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out} is input and output; choose another output file")


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
        default=MAX_BYTES,
        metavar="N",
        help="refuse a model that needs more bytes of memory (default: 4 GiB)",
    )
    parser.add_argument(
        "--sha256",
        metavar="HEX",
        help="refuse a model file with another SHA-256 than 'fit' printed",
    )


def read_training(options: argparse.Namespace) -> MultiLabelData:
    """Read data with labels."""
    path: Path = options.data
    task = f"reading {path.name}"
    with progress(task) as update:
        reading: dict[str, Any] = {
            "progress": lambda share: update(share, task),
            "limits": limits_of(options),
        }
        if options.labels is None and ".arff" in map(str.lower, path.suffixes):
            data = load_file(path, **reading)
        else:
            labels = _labels(options.labels or [])
            data = load_table(path, labels, categorical=split_names(options.categorical), **reading)
    if not data.label_names:
        raise ValueError(f"{path}: no label columns are given; name them: --labels NAME NAME ...")
    names = dict.fromkeys(split_names(options.categorical))
    typed = {data.feature_names[f] for f in data.categories}
    if numeric := [name for name in names if name not in typed]:
        raise ValueError(f"{path}: --categorical names {numeric}, which are not columns of text")
    if options.ignore:
        data = drop_features(data, split_names(options.ignore))
    _check(data)
    return data


def _labels(words: Sequence[str]) -> list[str] | int | Path:
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    if len(words) == 1 and ".xml" in Path(words[0]).suffixes:
        return Path(words[0])
    return split_names(words)


def split_names(words: Sequence[str]) -> list[str]:
    """Split names that are joined by commas."""
    return [name for word in words for name in word.split(",") if name]


def _check(data: MultiLabelData) -> None:
    for f, values in data.categories.items():
        if len(values) > max(MANY_TEXTS, len(data.Y) / 2):
            name = data.feature_names[f]
            raise ValueError(
                f"{data.name}: column {name!r} has {len(values)} different texts in {len(data.Y)} "
                "rows: it identifies rows and cannot be used for new ones. Leave it out: "
                f"--ignore {name}"
            )


def read_model(path: Path, options: argparse.Namespace) -> SavedModel:
    """Load the model file of a command."""
    try:
        model = load_model(
            path, options.trust, sha256=options.sha256, max_bytes=options.max_model_bytes
        )
    except UntrustedTypesError as error:
        raise ValueError(f"{error} To trust it: --trust {' '.join(error.types)}") from error
    if not model.feature_names:
        raise ValueError(
            f"{path}: the model has no names of features; give feature_names to save_model"
        )
    return model


def read_rows(
    options: argparse.Namespace, model: SavedModel, keep: Sequence[str] = ()
) -> tuple[MultiLabelData, Any]:
    """Read data to predict; return them and X as the model needs it."""
    path: Path = options.data
    task = f"reading {path.name}"
    with progress(task) as update:
        data = load_table(
            path,
            categorical=[*model.text_columns(), *keep],
            progress=lambda share: update(share, task),
            limits=limits_of(options),
        )
    X, notes = model.prepare(data, ignore=keep)
    for note in notes:
        show_note(note)
    return data, X
