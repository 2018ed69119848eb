"""Training data of a command: rows for the classifier, and how the columns were read."""

import argparse
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend.cli.display import show_note, show_status, show_table
from pairmend.cli.shared_options import DEFAULT_METHOD
from pairmend.cli.standard_streams import shown
from pairmend.datasets import MultiLabelData, one_hot
from pairmend.datasets.data import source_name
from pairmend.datasets.preparation import drop_features
from pairmend.frames.kinds import MAX_CATEGORIES, ColumnSummary, summarise_columns

MAX_SHOWN = 40
"""Columns of the report; of wider tables, those of numbers without remarks are left out."""
MANY_VALUES = 20


@dataclass(frozen=True)
class Training:
    """Training data without columns that are left out, rows for the classifier, and a report."""

    data: MultiLabelData
    X: Any
    columns: list[dict[str, Any]]

    @property
    def is_frame(self) -> bool:
        """Whether the rows are a frame."""
        return hasattr(self.X, "columns")


def prepare_training(data: MultiLabelData, categorical: Collection[str]) -> Training:
    """Return rows for the classifier, without identifiers and empty columns.

    Show how columns were read, and notes about labels.
    """
    X = classifier_rows(data, categorical)
    columns = describe_columns(data, X)
    show_columns(columns)
    note_constant_labels(data)
    left_out = [each["name"] for each in columns if each["taken as"] in ("identifier", "empty")]
    if len(left_out) == len(columns):
        raise ValueError(
            f"{source_name(data)} has no column to learn from: "
            f"{', '.join(map(repr, left_out[:10]))}{', ...' if len(left_out) > 10 else ''} hold "
            "identifiers or nothing; write numbers in them, name columns of codes after "
            "--categorical, or add columns"
        )
    if left_out:
        data = drop_features(data, left_out)
        X = classifier_rows(data, categorical)
    return Training(data, X, columns)


def refuse_few_rows(
    classifier: Any, n_rows: int, options: argparse.Namespace, n_folds: int | None = None
) -> None:
    """Raise an error if there are fewer rows than folds, of `evaluate` or of a method's own."""
    has = f"{shown(options.data)} has {counted(n_rows, 'row')}"
    n_training = n_rows
    if n_folds is not None:
        if n_folds > n_rows:
            raise ValueError(f"{n_folds} folds need at least {n_folds} rows, but {has}; add rows, "
                             f"or choose fewer folds: --folds N")  # fmt: skip
        n_training = n_rows - -(-n_rows // n_folds)
        has += f", {n_training} without those of a fold"
    last = classifier[-1] if hasattr(classifier, "steps") else classifier
    own = [getattr(last, name, None) for name in ("cv", "validation")]
    needed = max((each for each in own if isinstance(each, int)), default=1)
    if n_training < needed:
        raise ValueError(
            f"the method {options.method or DEFAULT_METHOD!r} needs at least {needed} rows for its "
            f"out-of-fold predictions, but {has}; add rows, or choose a method that needs none: "
            "--method binary-relevance"
        )


def classifier_rows(data: MultiLabelData, categorical: Collection[str]) -> Any:
    """Return the features: a frame if some are texts or categories, else an array of numbers."""
    if sparse.issparse(data.X) or not data.categories:
        return one_hot(data).X
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "columns that are not numbers need pandas, which is not installed: "
            "pip install 'pairmend[cli]'"
        ) from error
    is_arff = any(".arff" in path.suffixes for path in data.source)
    columns: dict[int, Any] = {}
    for place, name in enumerate(data.feature_names):
        values, column = data.categories.get(place), data.X[:, place]
        if values is None:
            columns[place] = column
            continue
        codes = np.where(np.isnan(column), -1, column).astype(int)
        # ARFF files declare categories; strings, which they can also hold, have more values.
        is_declared = is_arff and len(values) <= max(MANY_VALUES, len(column) / 2)
        if name in categorical or is_declared:
            columns[place] = pd.Categorical.from_codes(codes, categories=list(values))
        else:
            columns[place] = pd.Series(np.array([*values, None], dtype=object)[codes], dtype=object)
    frame = pd.DataFrame(columns)
    frame.columns = list(data.feature_names)
    return frame


def describe_columns(data: MultiLabelData, X: Any) -> list[dict[str, Any]]:
    """Return name, kind, distinct and missing values, an example and remarks of each column."""
    if hasattr(X, "columns"):
        summaries = summarise_columns(X)
    else:
        summaries = [(_of_numbers(data, place), "") for place in range(len(data.feature_names))]
    return [
        {
            "name": str(summary.name),
            "taken as": summary.kind,
            "distinct": summary.n_distinct,
            "missing": summary.n_missing,
            "example": _example(data, place),
            "remarks": "; ".join(_remarks(data, place, summary, note)),
        }
        for place, (summary, note) in enumerate(summaries)
    ]


def show_columns(columns: Sequence[dict[str, Any]]) -> None:
    """Show the report of columns."""
    listed = list(columns)
    if len(listed) > MAX_SHOWN:
        listed = [c for c in columns if c["remarks"] or c["taken as"] != "number"][:MAX_SHOWN]
    if listed:
        headings = [key for key in listed[0] if key != "remarks"]
        rows = [[_shortened(str(column[key]), key) for key in headings] for column in listed]
        show_table("Columns", headings, rows, numbers=(2, 3), is_result=False)
        for column in listed:
            if column["remarks"]:
                show_status(f"{column['name']}: {column['remarks']}")
    if len(listed) < len(columns):
        n_hidden = len(columns) - len(listed)
        show_note(f"not shown: {counted(n_hidden, 'further column')}, mostly of numbers")


def note_constant_labels(data: MultiLabelData) -> None:
    """Note labels that all rows have, or none."""
    for name, count in zip(data.label_names, data.Y.sum(axis=0), strict=True):
        if count in (0, len(data.Y)):
            which = "no row" if count == 0 else "every row"
            show_note(f"label {name!r} occurs in {which}, so that nothing can be learnt about it")


def _shortened(text: str, key: str) -> str:
    return f"{text[:23]}…" if key in ("name", "example") and len(text) > 24 else text


def _present(data: MultiLabelData, place: int) -> Any:
    """Return the numbers or codes of a column without missing ones."""
    column = data.X[:, [place]]
    values = column.toarray().ravel() if sparse.issparse(column) else column.ravel()
    return values[~np.isnan(values)]


def _example(data: MultiLabelData, place: int) -> str:
    """Return the first value of a column as a text."""
    present, texts = _present(data, place), data.categories.get(place)
    if not len(present):
        return ""
    return f"{present[0]:g}" if texts is None else texts[int(present[0])]


def _of_numbers(data: MultiLabelData, place: int) -> ColumnSummary:
    present = _present(data, place)
    is_number = data.categories.get(place) is None
    kind = "empty" if not len(present) else "number" if is_number else "category"
    n_missing = len(data.Y) - len(present)
    return ColumnSummary(data.feature_names[place], kind, len(np.unique(present)), n_missing)


def _remarks(data: MultiLabelData, place: int, summary: ColumnSummary, note: str) -> list[str]:
    """Return what is unusual about a column."""
    remarks = [note] if note else []
    if summary.n_distinct == 1:
        remarks.append("the same value in every row")
    if summary.n_missing > len(data.Y) / 2 and summary.kind != "empty":
        remarks.append("missing in most rows")
    values = data.categories.get(place)
    if values is None:
        if not sparse.issparse(data.X) and _counts_rows(data.X[:, place]):
            remarks.append(
                f"a different whole number in every row; if it is an identifier, leave it out: "
                f"--ignore {summary.name}"
            )
    elif summary.kind in ("category", "identifier"):
        remarks += _remarks_of_categories(values, summary.kind)
    return remarks


def _counts_rows(column: Any) -> bool:
    """Return whether a column holds consecutive whole numbers, in any order."""
    if len(column) < MANY_VALUES or np.isnan(column).any():
        return False
    ordered = np.sort(column)
    return bool((np.diff(ordered) == 1).all() and ordered[0] == np.floor(ordered[0]))


def _remarks_of_categories(values: Sequence[str], kind: str) -> list[str]:
    remarks: list[str] = []
    if kind == "identifier":
        return remarks
    spellings = defaultdict(list)
    for value in values:
        spellings[" ".join(value.lower().split())].append(value)
    if several := [each for each in spellings.values() if len(each) > 1]:
        remarks.append(f"{' and '.join(map(repr, several[0]))} are different values")
    if len(values) > MAX_CATEGORIES:
        remarks.append(f"the {MAX_CATEGORIES} most frequent values are distinguished")
    return remarks
