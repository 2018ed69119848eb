"""Names and kinds of the columns of a pandas or polars frame, as plain data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

MANY_VALUES = 1000
"""Largest number of distinct texts of a column that are stored."""


NUMBER_TEXT = "number text"


@dataclass(frozen=True)
class FrameColumns:
    """The library of a frame, and kinds and values of its columns.

    A kind is "number", "boolean", "date", "text", "category", "other", or "number text": texts that
    a FrameEncoder reads as numbers. Values are those of a column of texts or categories, None if
    there are too many.
    """

    library: str
    kinds: tuple[str, ...]
    values: tuple[tuple[str | float, ...] | None, ...]


def frame_library(X: Any) -> str | None:
    """Return "pandas" or "polars" for a frame, None for anything else."""
    module = type(X).__module__.partition(".")[0]
    is_frame = hasattr(X, "columns") and hasattr(X, "shape")
    return module if is_frame and module in ("pandas", "polars") else None


def describe_frame(X: Any) -> FrameColumns | None:
    """Return the types of the columns of a frame, None for anything else."""
    library = frame_library(X)
    if library is None:
        return None
    if library == "pandas":
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
    else:
        columns = X.get_columns()
    kinds = tuple(map(column_kind, columns))
    values = tuple(map(_values, columns, kinds))
    return FrameColumns(library, kinds, values)


def column_kind(column: Any) -> str:
    """Return the kind of a column of a frame."""
    return _pandas_kind(column) if hasattr(column, "iloc") else _polars_kind(column.dtype)


def _pandas_kind(column: Any) -> str:
    if hasattr(column.dtype, "categories"):
        return "category"
    kind = getattr(column.dtype, "kind", "O")
    if kind != "O":
        return {"i": "number", "u": "number", "f": "number", "b": "boolean", "M": "date"}.get(
            kind, "text" if kind in "UTS" else "other"
        )
    import pandas as pd

    found = pd.api.types.infer_dtype(column, skipna=True)
    return {
        "string": "text",
        "empty": "text",
        "integer": "number",
        "floating": "number",
        "mixed-integer-float": "number",
        "decimal": "number",
        "boolean": "boolean",
        "datetime": "date",
        "datetime64": "date",
        "date": "date",
    }.get(found, "other")


def _polars_kind(dtype: Any) -> str:
    name = str(dtype)
    if dtype.is_numeric():
        return "number"
    if name.startswith(("Date", "Datetime")):
        return "date"
    if name.startswith(("Categorical", "Enum")):
        return "category"
    return {"String": "text", "Utf8": "text", "Boolean": "boolean"}.get(name, "other")


def _values(column: Any, kind: str) -> tuple[str | float, ...] | None:
    if kind not in ("text", "category"):
        return None
    if not hasattr(column, "iloc"):
        found = column.drop_nulls().unique().sort().cast(str).to_list()
    elif kind == "category":
        found = column.cat.categories.tolist()
    else:
        found = sorted(column.dropna().unique().tolist())
    if kind == "text" and len(found) > MANY_VALUES:
        return None
    if all(isinstance(value, int | float | np.number) for value in found):
        return tuple(map(float, found))
    return tuple(map(str, found))
