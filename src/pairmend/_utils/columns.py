"""Kinds of the columns of a pandas or polars frame."""

from typing import Any

from pairmend._utils.frames import is_frame


def column_kinds(X: Any) -> tuple[str, ...] | None:
    """Return the kinds of the columns of a frame, None for anything else.

    A kind is "number", "boolean", "date", "text", "category" or "other".
    """
    if not is_frame(X):
        return None
    if hasattr(X, "iloc"):
        return tuple(column_kind(X.iloc[:, place]) for place in range(X.shape[1]))
    if hasattr(X, "get_columns"):
        return tuple(map(column_kind, X.get_columns()))
    return X.shape[1] * ("other",)


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
