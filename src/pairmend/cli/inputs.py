"""Reading the data and model files of commands, and how columns were read."""

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend.cli.output import (
    STANDARD,
    progress,
    rename_in_messages,
    show_note,
    show_status,
    show_table,
)
from pairmend.datasets import MultiLabelData, ReadLimits, load_file, load_table
from pairmend.datasets.data import check_finite, column_values, drop_features, source_name
from pairmend.datasets.tag_column import guess_separator, matching_separator, take_tags
from pairmend.frames.kinds import summarise_columns
from pairmend.persistence import SavedModel, UntrustedTypesError, load_model
from pairmend.persistence.rows import without_codes

MAX_SHOWN = 40
"""Columns of the report; of wider tables, those of numbers without remarks are left out."""
MANY_VALUES = 20
_STANDARD_INPUT = "standard input"
_SUFFIXES = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"\x1f\x8b": ".csv.gz"}
_BLOCK = 2**20


def split_names(words: Sequence[str] | None) -> list[str]:
    """Split names that are joined by commas."""
    return [name for word in words or () for name in word.split(",") if name]


def shown(path: Path) -> str:
    """Return the name of a data file for messages."""
    return _STANDARD_INPUT if path == STANDARD else str(path)


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Raise an error if the output file is also an input file."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out} is input and output; choose another output file")


def limits_of(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that options set."""
    return ReadLimits(max_bytes=options.max_bytes, max_cells=options.max_cells)


@contextmanager
def data_file(path: Path, limits: ReadLimits) -> Iterator[Path]:
    """Return the path of a data file; for ``-``, of a temporary copy of standard input.

    The readers open a file several times. Messages name standard input, not the copy.
    """
    if path != STANDARD:
        yield path
        return
    # Windows does not remove a file that a reader has left open.
    with tempfile.TemporaryDirectory(prefix="pairmend-", ignore_cleanup_errors=True) as folder:
        block = sys.stdin.buffer.read(_BLOCK)
        suffix = next((s for magic, s in _SUFFIXES.items() if block.startswith(magic)), ".csv")
        if block[:4096].lstrip().lower().startswith((b"@relation", b"%")):
            suffix = ".arff"
        copy = Path(folder, f"data{suffix}")
        rename_in_messages(str(copy), _STANDARD_INPUT)
        n_bytes = 0
        with copy.open("wb") as file:
            while block:
                n_bytes += len(block)
                limits.check_bytes(copy, n_bytes)
                file.write(block)
                block = sys.stdin.buffer.read(_BLOCK)
        yield copy


@contextmanager
def _reading(options: argparse.Namespace) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """Yield the path of the data, arguments of each reader, and those of tables only."""
    task = f"reading {options.data.name}"
    limits = limits_of(options)
    with progress(task) as update, data_file(options.data, limits) as path:
        yield (
            path,
            {"limits": limits, "progress": lambda share: update(task, share)},
            {
                "encoding": options.encoding,
                "delimiter": "\t" if options.delimiter in ("\\t", "tab") else options.delimiter,
                "decimal": options.decimal,
                "thousands": options.thousands,
                "header_row": options.header_row,
                "sheet": options.sheet,
            },
        )


def _named(data: MultiLabelData, options: argparse.Namespace) -> MultiLabelData:
    return replace(data, name="data", source=()) if options.data == STANDARD else data


def read_labelled(options: argparse.Namespace) -> MultiLabelData:
    """Read data with labels."""
    categorical, ignored = split_names(options.categorical), split_names(options.ignore)
    with _reading(options) as (path, reading, form):
        suffixes = set(map(str.lower, path.suffixes))
        if suffixes & {".arff", ".mat"} and options.labels is None and options.tags is None:
            targets = getattr(options, "targets", None)
            data = load_file(path, targets=targets, **reading)
            check_finite(data)
        else:
            tags = [] if options.tags is None else [options.tags]
            data = load_table(
                path, _labels(options), categorical=[*categorical, *tags], **form, **reading
            )
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
    return _named(drop_features(data, ignored) if ignored else data, options)


def _labels(options: argparse.Namespace) -> list[str] | int | Path:
    match options.labels or []:
        case [word] if word.isdigit():
            return int(word)
        case [word] if ".xml" in Path(word).suffixes:
            return Path(word)
        case words:
            return split_names(words)


def read_model(options: argparse.Namespace) -> SavedModel:
    """Load the model file of a command."""
    path = options.model
    try:
        model = load_model(
            path, options.trust or (), sha256=options.sha256, max_bytes=options.max_model_bytes
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
    with _reading(options) as (path, reading, form):
        texts = [*model.text_columns(), *keep]
        data = load_table(path, categorical=texts, **form, **reading)
    return _prepared(options, model, data, keep)


def read_labelled_rows(
    options: argparse.Namespace, model: SavedModel
) -> tuple[MultiLabelData, Any]:
    """Read data with the labels of a model; return them and X as the model needs it."""
    known = (None, None) if model.tags is None else (model.tags.column, model.tags.separator)
    column = options.tags or known[0]
    if options.separator is not None and column is None:
        raise ValueError("--separator is for a column of tags; name it: --tags COLUMN")
    with _reading(options) as (path, reading, form):
        if column is None:
            texts = model.text_columns()
            data = load_table(path, model.label_names, categorical=texts, **form, **reading)
        else:
            data = load_table(path, categorical=[*model.text_columns(), column], **form, **reading)
            if column not in data.feature_names:
                raise ValueError(
                    f"{path} has no column {column!r} of tags; name the column that lists the "
                    "tags of each row: --tags COLUMN"
                )
            separator = options.separator or matching_separator(
                data, column, model.label_names, known[1]
            )
            data = take_tags(data, column, separator, limits_of(options), model.label_names)
    return _prepared(options, model, data)


def _prepared(
    options: argparse.Namespace, model: SavedModel, data: MultiLabelData, keep: Sequence[str] = ()
) -> tuple[MultiLabelData, Any]:
    """Return data, and X without columns that are known not to be features."""
    data = _named(data, options)
    known = {*keep, *model.label_names, *model.left_out} - set(model.feature_names)
    if model.tags is not None:
        known.add(model.tags.column)
    unused = [name for name in data.feature_names if name in known]
    return data, model.prepare(drop_features(data, unused) if unused else data)


def column_texts(data: MultiLabelData, name: str, option: str) -> list[str | None]:
    """Return a column of data, named by an option, as texts; None where a value is missing."""
    if name not in data.feature_names:
        more = ", ..." if len(data.feature_names) > 10 else ""
        raise ValueError(
            f"{source_name(data)} has no column named {name!r}, which {option} names; it has "
            f"{', '.join(map(repr, data.feature_names[:10]))}{more}"
        )
    place = data.feature_names.index(name)
    values = data.categories.get(place)
    return [
        None if np.isnan(x) else f"{x:.17g}" if values is None else values[int(x)]
        for x in column_values(data.X, place).tolist()
    ]


def read_training(
    options: argparse.Namespace,
) -> tuple[MultiLabelData, Any, list[dict[str, Any]]]:
    """Read data to fit; return them, X for the classifier, and a report of the columns, shown.

    Columns of identifiers and without values are left out.
    """
    data, categorical = read_labelled(options), split_names(options.categorical)
    X = _classifier_rows(data, categorical)
    columns = [] if sparse.issparse(X) else _describe_columns(data, X)
    _show_columns(columns)
    for name, count in zip(data.label_names, data.Y.sum(axis=0), strict=True):
        if count in (0, len(data.Y)):
            which = "no row" if count == 0 else "every row"
            show_note(f"label {name!r} occurs in {which}, so that nothing can be learnt about it")
    left_out = [each["name"] for each in columns if each["taken as"] in ("identifier", "empty")]
    if left_out and len(left_out) == len(columns):
        raise ValueError(
            f"{source_name(data)} has no column to learn from: "
            f"{', '.join(map(repr, left_out[:10]))}{', ...' if len(left_out) > 10 else ''} hold "
            "identifiers or nothing; write numbers in them, name columns of codes after "
            "--categorical, or add columns"
        )
    if left_out:
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


def _describe_columns(data: MultiLabelData, X: Any) -> list[dict[str, Any]]:
    """Return name, kind, distinct and missing values, an example and remarks of each column."""
    import pandas as pd

    frame = X if hasattr(X, "columns") else pd.DataFrame(X, columns=list(data.feature_names))
    columns = []
    for place, (summary, note) in enumerate(summarise_columns(frame)):
        present = frame.iloc[:, place].dropna()
        example = "" if present.empty else present.iloc[0]
        columns.append(
            {
                "name": str(summary.name),
                "taken as": summary.kind,
                "distinct": summary.n_distinct,
                "missing": summary.n_missing,
                "example": example if isinstance(example, str) else f"{example:g}",
                "remarks": "; ".join(_remarks(summary, note, present, len(frame))),
            }
        )
    return columns


def _remarks(summary: Any, note: str, present: Any, n_rows: int) -> Iterator[str]:
    """Yield what is unusual about a column."""
    if note:
        yield note
    if summary.n_distinct == 1:
        yield "the same value in every row"
    if summary.n_missing > n_rows / 2 and summary.kind != "empty":
        yield "missing in most rows"
    if present.dtype == float and len(present) == n_rows >= MANY_VALUES:
        ordered = np.sort(present)
        if (np.diff(ordered) == 1).all() and ordered[0] == np.floor(ordered[0]):
            yield (
                "a different whole number in every row; if it is an identifier, leave it out: "
                f"--ignore {summary.name}"
            )
    if summary.kind == "category":
        values = present.astype(str).drop_duplicates()
        spellings = values.groupby(values.str.lower().str.split().str.join(" ")).unique()
        several = [each for each in spellings if len(each) > 1]
        if several:
            yield f"{' and '.join(map(repr, several[0]))} are different values"


def _show_columns(columns: Sequence[dict[str, Any]]) -> None:
    """Show the report of columns."""
    listed = list(columns)
    if len(listed) > MAX_SHOWN:
        listed = [c for c in columns if c["remarks"] or c["taken as"] != "number"][:MAX_SHOWN]
    rows = [
        {
            key: f"{value[:23]}…" if isinstance(value, str) and len(value) > 24 else value
            for key, value in column.items()
            if key != "remarks"
        }
        for column in listed
    ]
    show_table("Columns", rows, is_result=False)
    for column in listed:
        if column["remarks"]:
            show_status(f"{column['name']}: {column['remarks']}")
    if hidden := len(columns) - len(listed):
        show_note(f"not shown: {counted(hidden, 'further column')}, mostly of numbers")
