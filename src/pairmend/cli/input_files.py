"""Reading the data and model files of commands; an input file must not be overwritten."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pairmend.cli.display import progress, warnings_as_notes
from pairmend.cli.limits import limits_of
from pairmend.cli.shared_options import split_names
from pairmend.cli.standard_streams import STANDARD, data_file
from pairmend.cli.table_options import format_of
from pairmend.datasets import MultiLabelData, load_file, load_table
from pairmend.datasets.assembly import column_values
from pairmend.datasets.data import check_finite, source_name
from pairmend.datasets.preparation import drop_features
from pairmend.datasets.tag_column import guess_separator, matching_separator, take_tags
from pairmend.persistence import SavedModel, UntrustedTypesError, load_model
from pairmend.persistence.saved import TagColumn


def read_training(options: argparse.Namespace) -> MultiLabelData:
    """Read data with labels."""
    task = f"reading {options.data.name}"
    categorical, ignored = split_names(options.categorical), split_names(options.ignore)
    with (
        progress(task) as update,
        data_file(options.data, limits_of(options)) as path,
        warnings_as_notes(),
    ):
        reading: dict[str, Any] = {
            "progress": lambda share: update(share, task),
            "limits": limits_of(options),
        }
        is_arff = ".arff" in map(str.lower, path.suffixes)
        if options.labels is None and options.tags is None and is_arff:
            data = load_file(path, xml=getattr(options, "xml", None),
                             targets=getattr(options, "targets", None), **reading)  # fmt: skip
            check_finite(data)
        else:
            tags = [] if options.tags is None else [options.tags]
            data = load_table(path, _labels(options), categorical=[*categorical, *tags],
                              **format_of(options), **reading)  # fmt: skip
            if tags:
                # The model file keeps a guess, for further rows.
                options.separator = options.separator or guess_separator(data, options.tags)
                data = take_tags(data, options.tags, options.separator, limits_of(options))
        if not data.label_names:
            raise ValueError(
                f"{path}: no label columns are given; name them: --labels NAME NAME ..., or give "
                "the column that lists the tags of each row: --tags NAME"
            )
        typed = {data.feature_names[f] for f in data.categories}
        if numeric := [name for name in dict.fromkeys(categorical) if name not in typed]:
            raise ValueError(f"{path}: --categorical names {numeric}, which are not columns of it")
        data = drop_features(data, ignored) if ignored else data
    return replace(data, name="data", source=()) if options.data == STANDARD else data


def _labels(options: argparse.Namespace) -> list[str] | int | Path:
    words = options.labels or []
    if getattr(options, "xml", None) is not None:
        return Path(options.xml)
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    if len(words) == 1 and ".xml" in Path(words[0]).suffixes:
        return Path(words[0])
    return split_names(words)


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
    data = _read_columns(options, model, keep=keep)
    return data, _prepared(model, data, keep)


def read_labelled_rows(
    options: argparse.Namespace, model: SavedModel
) -> tuple[MultiLabelData, Any]:
    """Read data with the labels of a model; return them and X as the model needs it."""
    tags = model.tags
    if options.tags is not None:
        tags = TagColumn(options.tags, options.separator or (tags.separator if tags else None))
    elif options.separator is not None:
        if tags is None:
            raise ValueError("--separator is for a column of tags; name it: --tags COLUMN")
        tags = TagColumn(tags.column, options.separator)
    data = _read_columns(options, model, () if tags else model.label_names, tags=tags)
    return data, _prepared(model, data)


def _read_columns(
    options: argparse.Namespace,
    model: SavedModel,
    labels: Sequence[str] = (),
    *,
    keep: Sequence[str] = (),
    tags: TagColumn | None = None,
) -> MultiLabelData:
    """Read the columns of a model, its labels, and columns to keep."""
    task = f"reading {options.data.name}"
    texts = [*model.text_columns(), *keep]
    with progress(task) as update, data_file(options.data, limits_of(options)) as path:
        data = load_table(
            path,
            labels,
            categorical=texts if tags is None else [*texts, tags.column],
            progress=lambda share: update(share, task),
            limits=limits_of(options),
            **format_of(options),
        )
        if tags is not None:
            if tags.column not in data.feature_names:
                raise ValueError(
                    f"{path} has no column {tags.column!r} of tags; name the column that lists the "
                    "tags of each row: --tags COLUMN"
                )
            separator = options.separator or matching_separator(
                data, tags.column, model.label_names, tags.separator
            )
            data = take_tags(data, tags.column, separator, limits_of(options), model.label_names)
    return replace(data, name="data", source=()) if options.data == STANDARD else data


def _prepared(model: SavedModel, data: MultiLabelData, keep: Sequence[str] = ()) -> Any:
    """Return rows as the model needs them, without columns that are known not to be features."""
    known = {*keep, *model.label_names, *model.left_out} - set(model.feature_names)
    known |= set() if model.tags is None else {model.tags.column}
    unused = [name for name in data.feature_names if name in known]
    return model.prepare(drop_features(data, unused) if unused else data)


def column_texts(data: MultiLabelData, name: str) -> list[str | None]:
    """Return a column of data as texts; None where a value is missing."""
    place = data.feature_names.index(name)
    values = data.categories.get(place)
    return [
        None if np.isnan(x) else f"{x:.17g}" if values is None else values[int(x)]
        for x in column_values(data.X, place).tolist()
    ]


def missing_columns(option: str, missing: Sequence[str], data: MultiLabelData) -> str:
    """Return the message for columns that an option names and data lack."""
    more = ", ..." if len(data.feature_names) > 10 else ""
    return (
        f"{source_name(data)} has no column named {', '.join(map(repr, missing))}, which {option} "
        f"names; it has {', '.join(map(repr, data.feature_names[:10]))}{more}"
    )


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Raise an error if the output file is also an input file."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out} is input and output; choose another output file")
