"""Reading the data and model files of commands, and how columns were read."""

import argparse
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend.cli.output import progress, show_note, show_status, show_table
from pairmend.datasets import MultiLabelData, ReadLimits, load_file
from pairmend.datasets.data import column_values, drop_features
from pairmend.frames.kinds import summarise_columns
from pairmend.persistence import SavedModel, load_model
from pairmend.persistence.rows import without_codes

MAX_SHOWN = 40
"""Columns of the report; of wider tables, those of numbers without remarks are left out."""
MANY_VALUES = 20

Columns = list[dict[str, Any]]
"""Name, kind, distinct and missing values of each column, and remarks."""


def split_names(words: Sequence[str] | None) -> list[str]:
    """Split names that are joined by commas."""
    return [name for word in words or () for name in word.split(",") if name]


def size_of(data: MultiLabelData) -> str:
    """Return the numbers of rows, features and labels as a text."""
    sizes = (len(data.Y), "row"), (data.X.shape[1], "feature"), (data.Y.shape[1], "label")
    return ", ".join(counted(number, thing) for number, thing in sizes if number)


def check_output(out: Path, *inputs: Path) -> None:
    """Raise an error if an output file has no folder, or is also an input file."""
    if not out.parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}")
    if out.exists() and any(path.exists() and out.samefile(path) for path in inputs):
        raise ValueError(f"{out} is input and output; choose another output file")


def _read(options: argparse.Namespace, labels: Any = (), **more: Any) -> MultiLabelData:
    """Read the data of a command; labels of None are those that the file itself names."""
    names = ("encoding", "delimiter", "decimal", "thousands", "header_row", "sheet")
    form = {name: getattr(options, name) for name in names}
    limits = ReadLimits(options.max_bytes, options.max_cells)
    with progress(f"reading {options.data.name}"):
        return load_file(options.data, labels, limits=limits, **form, **more)


def read_labelled(options: argparse.Namespace) -> MultiLabelData:
    """Read data with labels."""
    categorical, labels = split_names(options.categorical), options.labels or []
    chosen: Any = split_names(labels)
    if len(labels) == 1 and labels[0].isdigit():
        chosen = int(labels[0])
    elif len(labels) == 1 and labels[0].endswith(".xml"):
        chosen = Path(labels[0])
    elif ".arff" in options.data.suffixes and not (labels or options.tags):
        chosen = None
    tags = {"tags": options.tags, "separator": options.separator}
    data = _read(options, chosen, categorical=categorical, **tags)
    if not data.label_names:
        raise ValueError(f"{data.name}: no labels are given; name them: --labels, or --tags")
    if unknown := set(categorical) - {data.feature_names[f] for f in data.categories}:
        raise ValueError(
            f"--categorical names {sorted(unknown)}, which are no feature columns of {data.name}"
        )
    return drop_features(data, ignored) if (ignored := split_names(options.ignore)) else data


def read_model(options: argparse.Namespace) -> SavedModel:
    """Load the model file of a command."""
    checks = {"sha256": options.sha256, "max_bytes": options.max_model_bytes}
    return load_model(options.model, options.trust or (), **checks)


def read_rows(
    options: argparse.Namespace, model: SavedModel, keep: Sequence[str] = (), labels: bool = False
) -> tuple[MultiLabelData, dict[str, Any]]:
    """Read the features that a model needs, and the texts of those columns to keep that exist.

    With `labels`, the labels are those of the model. Columns that are known not to be features
    are left out.
    """
    texts = [*model.text_columns(), *keep]
    tags = getattr(options, "tags", None) or (model.tags and model.tags[0])
    if labels and tags is not None:
        data = _read(options, tags=tags, separator=options.separator, categorical=texts)
        data = _with_labels(data, model.label_names)
    else:
        data = _read(options, model.label_names if labels else (), categorical=texts)
    places = {name: place for place, name in enumerate(data.feature_names)}
    kept = {name: _texts(data, places[name]) for name in keep if name in places}
    known = {*keep, *model.label_names, *model.left_out, tags} - set(model.feature_names)
    unused = [name for name in data.feature_names if name in known]
    return drop_features(data, unused) if unused else data, kept


def _with_labels(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Return data with the labels of a model, of which the tags of its rows may lack some."""
    if unknown := sorted(set(data.label_names) - set(names)):
        show_note(f"{data.name}: tags without a label in the model are ignored: {unknown[:5]}")
    _, Y = data.to_pandas()
    Y = Y.reindex(columns=list(names), fill_value=0).to_numpy()
    return replace(data, Y=Y, label_names=tuple(names))


def _texts(data: MultiLabelData, place: int) -> list[str | None]:
    """Return a column as texts; None where a value is missing."""
    values = data.categories.get(place)
    return [
        None if np.isnan(x) else f"{x:.17g}" if values is None else values[int(x)]
        for x in column_values(data.X, place).tolist()
    ]


def read_training(options: argparse.Namespace) -> tuple[MultiLabelData, Any, Columns]:
    """Read data to fit; return them, X for the classifier, and a report of the columns, shown.

    Columns of identifiers and without values are left out.
    """
    import pandas as pd

    data, categorical = read_labelled(options), split_names(options.categorical)
    X = _classifier_rows(data, categorical)
    if sparse.issparse(X):
        return data, X, []
    frame = X if hasattr(X, "columns") else pd.DataFrame(X, columns=list(data.feature_names))
    columns = [{**asdict(found), "remarks": note} for found, note in summarise_columns(frame)]
    unusual = [each for each in columns if each["remarks"] or each["kind"] != "number"]
    shown = columns if len(columns) <= MAX_SHOWN else unusual[:MAX_SHOWN]
    table = [{fact: each[fact] for fact in each if fact != "remarks"} for each in shown]
    show_table(f"{len(shown)} of {counted(len(columns), 'column')}", table, is_result=False)
    for each in unusual:
        if each["remarks"]:
            show_status(f"{each['name']}: {each['remarks']}")
    if left_out := [each["name"] for each in columns if each["kind"] in ("identifier", "empty")]:
        data = drop_features(data, left_out)
        X = _classifier_rows(data, categorical)
    return data, X, columns


def _classifier_rows(data: MultiLabelData, categorical: Collection[str]) -> Any:
    """Return the features: a frame if some are texts or categories, else an array of numbers."""
    if sparse.issparse(data.X):
        data = without_codes(data)
    if not data.categories:
        return data.X
    is_arff = any(".arff" in path.suffixes for path in data.source)
    frame, _ = data.to_pandas()
    for place, values in data.categories.items():
        # ARFF files declare categories; strings, which they can also hold, have more values.
        is_declared = is_arff and len(values) <= max(MANY_VALUES, len(frame) / 2)
        if data.feature_names[place] not in categorical and not is_declared:
            texts = frame.iloc[:, place].astype(object)
            frame.isetitem(place, texts.where(texts.notna(), None))
    return frame
