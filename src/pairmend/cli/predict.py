"""``pairmend predict``: predictions of a model file as a CSV or Parquet file."""

import argparse
import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from pairmend._utils.files import OPENERS, written
from pairmend._utils.predictions import predicted_labels, predicted_scores
from pairmend._utils.text import counted
from pairmend.cli.display import progress, show_status, warnings_as_notes
from pairmend.cli.input_files import (
    column_texts,
    missing_columns,
    read_model,
    read_rows,
    refuse_overwriting,
)
from pairmend.cli.standard_streams import STANDARD, utf8_output
from pairmend.datasets import MultiLabelData
from pairmend.datasets.parquet import require_pyarrow, write_parquet
from pairmend.persistence import SavedModel

MIN_CHUNK_ROWS = 1000
"""Minimum number of rows that are predicted at once."""


def run(options: argparse.Namespace) -> None:
    """Predict rows and write a file."""
    write = _writer(options.out)  # before the predictions, which may take long
    refuse_overwriting(options.out, options.model, options.data)
    with warnings_as_notes():
        model = read_model(options.model, options)
        data, X = read_rows(options, model, options.keep)
        columns = _kept(data, options.keep, model)
        predicted = predict_rows(model, X, proba=options.proba)
    columns |= dict(zip(label_names(model, predicted.shape[1]), predicted.T, strict=True))
    write(options.out, columns)
    if options.out != STANDARD:
        size = f"{counted(X.shape[0], 'row')}, {counted(predicted.shape[1], 'label')}"
        show_status(f"wrote {options.out}: {size}")


def label_names(model: SavedModel, n_labels: int) -> tuple[str, ...]:
    """Return the names of a model's labels, or their numbers."""
    return model.label_names or tuple(map(str, range(n_labels)))


def predict_rows(model: SavedModel, X: Any, *, proba: bool = False) -> np.ndarray[Any, Any]:
    """Predict labels or scores of rows, and show the progress."""
    n_rows = X.shape[0]
    n_labels = len(model.label_names) or np.shape(model.estimator.predict(X[:1]))[1]
    predict = predicted_scores if proba else predicted_labels
    parts = []
    size = max(MIN_CHUNK_ROWS, n_rows // 20)
    with progress("predicting", lines=n_rows > size) as update:
        for start in range(0, n_rows, size):
            parts.append(predict(model.estimator, X[start : start + size], n_labels))
            update(min(1.0, (start + size) / n_rows), "predicting")
    return np.concatenate(parts)


def _kept(data: MultiLabelData, keep: list[str], model: SavedModel) -> dict[str, Any]:
    """Return columns of the data as texts; None where a value is missing."""
    if missing := [name for name in keep if name not in data.feature_names]:
        raise ValueError(missing_columns("--keep", missing, data))
    if shared := set(keep) & set(model.label_names):
        raise ValueError(f"--keep names labels, which are always written: {sorted(shared)}")
    return {name: column_texts(data, name) for name in keep}


def _writer(path: Path) -> Callable[[Path, Mapping[str, Any]], None]:
    if path == STANDARD:
        return lambda _, columns: _write_to_standard_output(columns)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in OPENERS
    match suffixes[-2:-1] if packed else suffixes[-1:]:
        case [".csv"]:
            return _write_csv
        case [".parquet"] if not packed:
            require_pyarrow()
            return write_parquet
    raise ValueError(
        f"cannot write {path}: expected .csv, which may be followed by .gz, .bz2 or "
        ".xz, .parquet, or - for standard output"
    )


def _write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    with written(path) as file:
        _write_cells(file, columns)


def _write_to_standard_output(columns: Mapping[str, Any]) -> None:
    with utf8_output() as file:
        _write_cells(file, columns)


def _write_cells(file: IO[str], columns: Mapping[str, Any]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    cells = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()]
    writer.writerows(zip(*cells, strict=True))
