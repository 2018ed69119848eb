"""``pairmend fit``: fit a classifier to a file and save a model file."""

import argparse
from pathlib import Path
from typing import Any

from pairmend.cli.display import show_text, waiting, warnings_as_notes
from pairmend.cli.input_files import read_training, refuse_overwriting
from pairmend.cli.shared_options import (
    DEFAULT_METHOD,
    add_data,
    add_training_options,
    chosen_classifier,
)
from pairmend.datasets import one_hot
from pairmend.persistence import save_model
from pairmend.persistence.save_load import require_skops

DESCRIPTION = """\
Fit a classifier that predicts labels from the other columns of a file, and save it as a model file.
Columns of text become categories, missing values are filled with means. The model file has no code
and can be used on other machines."""


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "fit",
        help="fit a classifier to a file, and save a model",
        description=DESCRIPTION,
        epilog="example: pairmend fit photos.csv --labels sea sun --model photos.model",
    )
    add_data(parser)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="the model file to write"
    )
    add_training_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    require_skops()  # before the fit, which may take long
    if not options.model.parent.is_dir():
        raise FileNotFoundError(f"cannot write {options.model}: there is no such folder")
    refuse_overwriting(options.model, options.data)
    data = read_training(options)
    X = one_hot(data).X
    classifier = chosen_classifier(options)
    size = f"{len(data.Y)} rows, {len(data.feature_names)} columns, {len(data.label_names)} labels"
    with warnings_as_notes(), waiting(f"fitting {size}"):
        classifier.fit(X, data.Y)
    digest = save_model(
        classifier,
        options.model,
        feature_names=data.feature_names,
        label_names=data.label_names,
        categories=data.categories,
    )
    show_text(f"wrote {options.model}: {options.method or DEFAULT_METHOD}, {size}")
    show_text(f"SHA-256: {digest}")
