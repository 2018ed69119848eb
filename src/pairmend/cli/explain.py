"""``pairmend explain``: explanations of rows as text, as a figure, or as an HTML page."""

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.files import replaced, written
from pairmend._utils.text import counted
from pairmend._utils.validation import take_rows
from pairmend.cli.display import show_status, show_text, warnings_as_notes
from pairmend.cli.input_files import (
    column_texts,
    missing_columns,
    read_model,
    read_rows,
    refuse_overwriting,
)
from pairmend.cli.standard_streams import shown, write_json
from pairmend.datasets import MultiLabelData
from pairmend.persistence import SavedModel
from pairmend.persistence.saved import explain_prepared

MOST_ROWS = 1000
"""Largest number of rows on one page: each takes about 15 kB."""
MOST_PROBLEMS = 20
"""Number of problems that are explained for each row of a page."""


def run(options: argparse.Namespace) -> None:
    """Explain the predictions for rows."""
    _check(options)
    with warnings_as_notes():
        model = read_model(options.model, options)
        if not hasattr(_classifier(model), "explain"):
            raise ValueError(
                f"{options.model} is a {type(_classifier(model)).__name__}, which has no "
                "explanations; fit a model with --method mended or --method corrected"
            )
        keep = [] if options.name is None else [options.name]
        data, X = read_rows(options, model, keep)
        rows = _chosen(options, X.shape[0])
        training, X_training = None, None
        if options.training is not None:
            given = argparse.Namespace(**{**vars(options), "data": options.training})
            training, X_training = read_rows(given, model, keep)
        explained = explain_prepared(
            model, take_rows(X, np.array(rows)),
            replace(data, X=data.X[rows], Y=data.Y[rows]), X_training, training,
            n_neighbors=options.neighbors,
            n_problems=None if options.html is None and options.json is None else MOST_PROBLEMS,
        )  # fmt: skip
        explained[:] = [replace(each, row=row) for each, row in zip(explained, rows, strict=True)]
        if options.name is not None:
            _add_names(explained, data, training, options.name)
        if options.figure is not None:
            _draw(explained[0], options.figure)
        page = None
        if options.html is not None:
            page = explained.to_html(title=f"{options.model.name}: {options.data.name}")
    if page is not None:
        with written(options.html) as file:
            file.write(page)
        show_status(f"wrote {options.html}: {counted(len(rows), 'row')}")
    elif options.row is not None:
        show_text("\n\n".join(each.text() for each in explained))
    if options.figure is not None:
        show_status(f"wrote {options.figure}")
    write_json(options.json, [asdict(each) for each in explained])


def _check(options: argparse.Namespace) -> None:
    """Raise an error for options that do not fit together."""
    if options.row is None and options.html is None and options.json is None:
        raise ValueError("give --row N, or --html FILE or --json FILE for all rows")
    if options.figure is not None and len(options.row or []) != 1:
        raise ValueError("--figure draws one row; give --row N with one number")
    if options.html is None:
        return
    if options.html.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{options.html}: a page is written to a .html file")
    inputs = [options.model, options.data, *([options.training] if options.training else [])]
    refuse_overwriting(options.html, *inputs)


def _classifier(model: SavedModel) -> Any:
    """Return the classifier of a model, which may be the last step of a pipeline."""
    estimator = model.estimator
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def _chosen(options: argparse.Namespace, n_rows: int) -> list[int]:
    rows = list(range(n_rows)) if options.row is None else list(dict.fromkeys(options.row))
    for row in rows:
        if row >= n_rows:
            numbers = "row 0 only" if n_rows == 1 else f"the rows 0 to {n_rows - 1}"
            raise ValueError(f"--row is {row}, but {shown(options.data)} has {numbers}")
    if options.html is not None and len(rows) > MOST_ROWS:
        raise ValueError(
            f"{shown(options.data)} has {n_rows:,} rows, but a page has at most {MOST_ROWS:,}; "
            "choose rows: --row N N ..."
        )
    return rows


def _add_names(
    explained: list[Any], data: MultiLabelData, training: MultiLabelData | None, column: str
) -> None:
    """Set the index of rows, and of training rows if their file has the column, by a column."""
    names = _names(data, column)
    if names is None:
        raise ValueError(missing_columns("--name", [column], data))
    known = None if training is None else _names(training, column)
    for place, each in enumerate(explained):
        neighbours = each.training_rows
        if known is not None:
            neighbours = tuple(replace(row, index=known[row.row]) for row in neighbours)
        explained[place] = replace(each, index=names[each.row], training_rows=neighbours)


def _names(data: MultiLabelData, column: str) -> list[str | None] | None:
    return column_texts(data, column) if column in data.feature_names else None


def _draw(explanation: Any, path: Path) -> None:
    from pairmend.plots import plot_explanation  # matplotlib is not needed by other commands

    figure = plot_explanation(explanation)
    with replaced(path) as temporary:
        figure.savefig(temporary)
