"""Rows given as dicts, as a table or as a frame: the input that an estimator was fitted on."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pairmend._utils.arrays import frame_columns, is_frame
from pairmend.datasets import MultiLabelData

Columns = dict[str, Any]
"""The cells of each column; None, NaN and blank are missing."""


def has_names(rows: Any) -> bool:
    """Return whether rows are dicts, a table or a frame, and not an array."""
    dicts = isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], Mapping)
    return dicts or isinstance(rows, MultiLabelData) or is_frame(rows)


def prepared(rows: Any, names: Sequence[str], kinds: Sequence[str] | None) -> Any:
    """Return rows as an estimator needs them that was fitted on columns of these kinds.

    Arrays, and frames for an estimator that was fitted on a frame, are returned as they are. Other
    columns than those of fit are an error, or another order; keys of dicts have no order.
    """
    if not has_names(rows) or (is_frame(rows) and kinds is not None):
        return rows
    if not names:
        raise ValueError(
            "the model has no feature names; pass feature_names to save_model, or predict an array"
        )
    source = "X"
    if isinstance(rows, MultiLabelData):
        source, rows = rows.name, without_codes(rows)
        check_names(source, rows.feature_names, names)
        if kinds is None and not rows.categories:
            return rows.X
    columns = read_columns(rows, names)
    if kinds is not None:
        return _to_frame(columns, kinds, source)
    X = np.empty((len(next(iter(columns.values()))), len(names)))
    for place, (name, cells) in enumerate(columns.items()):
        X[:, place] = converted(cells, "number", f"{source}: column {name!r}")
    return X


def without_codes(data: MultiLabelData) -> MultiLabelData:
    """Return a table in which categories that equal their codes, 0, 1, ..., are numbers."""
    texts = {f: v for f, v in data.categories.items() if v != tuple(map(str, range(len(v))))}
    return replace(data, categories=texts)


def read_columns(rows: Any, names: Sequence[str]) -> Columns:
    """Return the cells of the columns `names` of dicts, a table or a frame."""
    if isinstance(rows, MultiLabelData):
        frame = rows.to_pandas()[0][list(names)]
        return {name: _cells(frame[name]) for name in names}
    if is_frame(rows):
        check_names("X", frame_columns(rows), names)
        return {name: np.asarray(rows[name]) for name in names}
    places = {name: place for place, name in enumerate(names)}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"expected a dict for each row, got a {type(row).__name__} as row {number}"
            )
        found = sorted(row, key=lambda name: places.get(name, len(names)))
        check_names(f"row {number}", found, names)
    return {name: [row[name] for row in rows] for name in names}


def _cells(column: Any) -> np.ndarray[Any, Any]:
    if column.dtype != float:
        column = column.astype(object).where(column.notna(), None)
    cells: np.ndarray[Any, Any] = column.to_numpy()
    return cells


def check_names(source: str, found: Sequence[Any], expected: Sequence[str]) -> None:
    """Raise an error for other columns than those of fit, or another order."""
    if list(found) == list(expected):
        return
    missing = [name for name in expected if name not in set(found)]
    further = [name for name in found if name not in set(expected)]
    problems = [
        f"{problem} {', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}"
        for problem, names in (("lacks", missing), ("also has", further))
        if names
    ]
    if missing and all(name == f"column_{k}" for k, name in enumerate(found, start=1)):
        problems.append("add a first line with the names of the columns")
    raise ValueError(
        f"{source} must have the columns that the model was fitted on, in the same order: "
        f"{'; '.join(problems) or 'its order is ' + ', '.join(map(repr, found[:10]))}. Expected "
        f"{', '.join(map(repr, expected[:10]))}{', ...' if len(expected) > 10 else ''}."
    )


def _to_frame(columns: Columns, kinds: Sequence[str], source: str) -> Any:
    """Return a pandas frame with the kinds of columns of fit."""
    import pandas as pd  # not needed for arrays

    made = {}
    for (name, cells), kind in zip(columns.items(), kinds, strict=True):
        values = converted(cells, kind, f"{source}: column {name!r}")
        if kind == "number":
            values = np.array(values, dtype=float)
        elif kind == "boolean":
            values = np.array(values, dtype=float if None in values else bool)
        elif kind == "date":
            # The unit of dates that pandas parses: older versions of scikit-learn compare units.
            unit = pd.to_datetime(["2024-01-01"]).dtype
            values = np.array(values, dtype="datetime64[us]").astype(unit)
        elif kind == "category":
            values = pd.Categorical(values)
        else:
            values = pd.Series([np.nan if v is None else v for v in values], dtype=object)
        made[name] = values
    return pd.DataFrame(made)


def converted(cells: Any, kind: str, described: str) -> Any:
    """Return cells of a kind; None is a missing value.

    Anything that is not of the kind is an error, which names the column, the row and the value.
    """
    if isinstance(cells, np.ndarray) and cells.dtype == float and kind == "number":
        return cells
    convert, expected = KINDS[kind]
    found = []
    for row, value in enumerate(cells.tolist() if isinstance(cells, np.ndarray) else cells):
        try:
            found.append(None if _is_missing(value) else convert(value))
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
            raise ValueError(
                f"{described}, row {row} is {value!r}; expected {expected}, as when the model was "
                "fitted"
            ) from None
    return found


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NUMBERS = (bool, int, float, np.integer, np.floating, np.bool_, Decimal)
BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


def _number(value: Any) -> float:
    if isinstance(value, NUMBERS) or PLAIN_NUMBER.fullmatch(value.strip()):
        return float(value)
    raise ValueError


def _boolean(value: Any) -> bool:
    if isinstance(value, NUMBERS):
        return {0.0: False, 1.0: True}[float(value)]
    return BOOLEANS[value.strip().lower()]


def _date(value: Any) -> Any:
    """Return a date without a time zone; one with a time zone is converted to UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    elif not isinstance(value, date | np.datetime64):
        raise TypeError
    is_local = getattr(value, "tzinfo", None) is not None
    return np.datetime64(value.astimezone(UTC).replace(tzinfo=None) if is_local else value, "us")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _unchanged(value: Any) -> Any:
    return value


KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "number": (_number, "a number, in a text with a decimal point, such as 1.5 or 2e3"),
    "boolean": (_boolean, "true or false, t or f, yes or no, y or n, 1 or 0"),
    "date": (_date, "a date, in a text in ISO 8601, such as 2024-12-31 or 2024-12-31T23:59:59"),
    "text": (_text, "a text"),
    "category": (_unchanged, ""),
    "other": (_unchanged, ""),
}
"""How a cell of each kind of column is converted, and what is expected."""
