"""Reading the data and model files of commands; an input file must not be overwritten."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pairmend.cli.display import progress, show_note
from pairmend.cli.limits import limits_of
from pairmend.cli.shared_options import split_names
from pairmend.datasets import MultiLabelData, drop_features, load_file, load_table
from pairmend.persistence import SavedModel, UntrustedTypesError, load_model

MANY_TEXTS = 20
"""Number of different texts from which a column may be an identifier of rows."""


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


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Raise an error if the output file is also an input file."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out} is input and output; choose another output file")
