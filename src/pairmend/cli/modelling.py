"""What the commands about models share: options, and reading of data and models."""

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
from pairmend.persistence.saving import MAX_BYTES

DEFAULT_METHOD = next(iter(METHODS))
DATA_HELP = "a CSV, ARFF or Parquet file"
MANY_TEXTS = 20
"""Different texts from which on a column is asked whether it names rows."""


def at_least(minimum: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are not too small."""

    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is to be learnt, and how."""
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="the columns that are labels, of 0 and 1: their names (a b c or a,b,c), how many of "
        "the last columns (14), or Mulan's XML file; not needed for ARFF files of Meka, or of "
        "Mulan with the XML file beside",
    )
    parser.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to use"
    )
    parser.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns whose numbers are only names; columns of text are anyway",
    )
    about = "; ".join(f"{name}: {method.about}" for name, method in METHODS.items())
    parser.add_argument(
        "--method",
        choices=METHODS,
        help=f"how to learn (default: {DEFAULT_METHOD}); {about}",
    )
    parser.add_argument(
        "--base", choices=BASES, help=f"the classifier underneath (default: {next(iter(BASES))})"
    )
    parser.add_argument(
        "--criterion", choices=LOSSES, help="what to be good at, for methods with the choice"
    )
    parser.add_argument("--seed", type=at_least(0), help="seed of all randomness (default: 0)")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the data file, and the options on how much of it is read."""
    parser.add_argument("data", type=Path, metavar="DATA", help=DATA_HELP)
    add_limit_options(parser)


def chosen_classifier(options: argparse.Namespace) -> Any:
    """Return the unfitted classifier that options ask for."""
    return make_classifier(
        options.method or DEFAULT_METHOD,
        options.base,
        criterion=options.criterion,
        seed=options.seed or 0,
    )


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Refuse to write over a file that is read."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out}: would be written over, and it is to be read")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which model to use, and whom to trust."""
    parser.add_argument(
        "--trust",
        nargs="+",
        default=[],
        metavar="TYPE",
        help="types in the model file to trust, beyond those known to be harmless",
    )
    parser.add_argument(
        "--max-model-bytes",
        type=at_least(1),
        default=MAX_BYTES,
        metavar="N",
        help="bytes of memory that the model may take (default: 4 GiB)",
    )
    parser.add_argument(
        "--sha256", metavar="HEX", help="refuse a model that is not the one 'fit' told this of"
    )


def read_training(options: argparse.Namespace) -> MultiLabelData:
    """Read data with labels."""
    path: Path = options.data
    task = f"reading {path.name}"
    with progress(task) as tell:
        told: dict[str, Any] = {
            "progress": lambda share: tell(share, task),
            "limits": limits_of(options),
        }
        if options.labels is None and ".arff" in map(str.lower, path.suffixes):
            data = load_file(path, **told)
        else:
            labels = _labels(options.labels or [])
            data = load_table(path, labels, categorical=_split(options.categorical), **told)
    if not data.label_names:
        raise ValueError(f"{path}: say which columns are labels: --labels NAME NAME ...")
    names = dict.fromkeys(_split(options.categorical))
    typed = {data.feature_names[f] for f in data.categories}
    if numeric := [name for name in names if name not in typed]:
        raise ValueError(f"{path}: --categorical names {numeric}, which are no columns of text")
    if options.ignore:
        data = drop_features(data, _split(options.ignore))
    _check(data)
    return data


def _labels(words: Sequence[str]) -> list[str] | int | Path:
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    if len(words) == 1 and ".xml" in Path(words[0]).suffixes:
        return Path(words[0])
    return _split(words)


def _split(words: Sequence[str]) -> list[str]:
    return [name for word in words for name in word.split(",") if name]


def _check(data: MultiLabelData) -> None:
    for f, values in data.categories.items():
        if len(values) > max(MANY_TEXTS, len(data.Y) / 2):
            name = data.feature_names[f]
            raise ValueError(
                f"{data.name}: column {name!r} has {len(values)} different texts in {len(data.Y)} "
                "rows, so it names rows and tells nothing of new ones; leave it out: "
                f"--ignore {name}"
            )


def read_model(path: Path, options: argparse.Namespace) -> SavedModel:
    """Load the model that a command is given."""
    try:
        model = load_model(
            path, options.trust, sha256=options.sha256, max_bytes=options.max_model_bytes
        )
    except UntrustedTypesError as error:
        raise ValueError(f"{error} To trust it: --trust {' '.join(error.types)}") from error
    if not model.feature_names:
        raise ValueError(
            f"{path}: the model does not know the names of its features; give them to save_model"
        )
    return model


def read_rows(
    options: argparse.Namespace, model: SavedModel, keep: Sequence[str] = ()
) -> tuple[MultiLabelData, Any]:
    """Read data to be predicted.

    Parameters
    ----------
    options : Namespace
        Its `data` is the file.
    model : SavedModel
        Says which columns are needed.
    keep : sequence of str
        Columns that are wanted as texts.

    Returns
    -------
    data : MultiLabelData
        The file, all of its columns features.
    X : ndarray, CSR or DataFrame
        The rows as the model takes them.
    """
    path: Path = options.data
    task = f"reading {path.name}"
    with progress(task) as tell:
        data = load_table(
            path,
            categorical=[*model.text_columns(), *keep],
            progress=lambda share: tell(share, task),
            limits=limits_of(options),
        )
    X, notes = model.prepare(data, ignore=keep)
    for note in notes:
        show_note(note)
    return data, X
