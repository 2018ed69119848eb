"""Rows given as dicts, as a table or as a frame: the input that an estimator was fitted on."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.frames import category_key, frame_columns, is_frame
from pairmend.datasets import MultiLabelData
from pairmend.datasets.data import column_values

Columns = dict[str, Any]
"""The cells of each column: an array of floats, or a list; None, NaN and blank are missing."""


def has_names(rows: Any) -> bool:
    """Return whether rows are dicts, a table or a frame, and not an array."""
    dicts = isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], Mapping)
    return dicts or isinstance(rows, MultiLabelData) or is_frame(rows)


def read_columns(rows: Any, names: Sequence[str]) -> Columns:
    """Return the cells of dicts, a table or a frame with the columns `names`.

    Other names are an error. Keys of dicts have no order.
    """
    if isinstance(rows, MultiLabelData):
        check_names(rows.name, rows.feature_names, names)
        return {name: cells_of(rows, place) for place, name in enumerate(names)}
    if is_frame(rows):
        check_names("X", frame_columns(rows), names)
        return {name: _listed(rows[name]) for name in names}
    places = {name: place for place, name in enumerate(names)}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"expected a dict for each row, got a {type(row).__name__} as row {number}"
            )
        found = sorted(row, key=lambda name: places.get(name, len(names)))
        check_names(f"row {number}", found, names)
    return {name: [row[name] for row in rows] for name in names}


def cells_of(data: MultiLabelData, place: int) -> Any:
    """Return the cells of a column of a table."""
    numbers, values = column_values(data.X, place), data.categories.get(place)
    if values is None:
        return numbers
    return [None if np.isnan(code) else values[int(code)] for code in numbers.tolist()]


def _listed(column: Any) -> list[Any]:
    names = (name for name in ("tolist", "to_list", "to_pylist") if hasattr(column, name))
    listed: list[Any] = getattr(column, next(names))()
    return listed


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


def to_frame(columns: Columns, kinds: Sequence[str], source: str) -> Any:
    """Return a pandas frame with the kinds of columns of fit."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "rows given as dicts or read from files need pandas, which is not installed: "
            "pip install pandas"
        ) from error
    made = {}
    for (name, cells), kind in zip(columns.items(), kinds, strict=True):
        values = converted(cells, kind, f"{source}: column {name!r}")
        missing = [value is None for value in values] if isinstance(values, list) else []
        if kind == "number":
            values = np.array(values, dtype=float)
        elif kind == "boolean":
            values = np.array(values, dtype=float if any(missing) else bool)
        elif kind == "date":
            # The unit of dates that pandas parses: older versions of scikit-learn compare units.
            unit = pd.to_datetime(["2024-01-01"]).dtype
            values = np.array(values, dtype="datetime64[us]").astype(unit)
        elif kind == "category":
            values = pd.Categorical(values)
        else:
            values = pd.Series(values, dtype=object).where(~np.array(missing, dtype=bool), np.nan)
        made[name] = values
    return pd.DataFrame(made)


def to_array(
    columns: Columns, categories: Mapping[int, Sequence[str]], source: str
) -> np.ndarray[Any, Any]:
    """Return numbers, and codes of categories, for an estimator that was fitted on an array."""
    X = np.empty((len(next(iter(columns.values()))), len(columns)))
    for place, (name, cells) in enumerate(columns.items()):
        listed = categories.get(place)
        described = f"{source}: column {name!r}"
        X[:, place] = converted(cells, "number" if listed is None else listed, described)
    return X


def same_categories(data: MultiLabelData, categories: Mapping[int, Sequence[str]]) -> bool:
    """Return whether the codes of a table are those of a model; other sparse ones are an error."""
    same = {f: tuple(values) for f, values in categories.items()} == data.categories
    if sparse.issparse(data.X) and not same:
        raise ValueError(
            f"{data.name} must declare the same categories, in the same order, as the data that "
            "the model was fitted on"
        )
    return same


def converted(cells: Any, kind: str | Sequence[str], described: str) -> Any:
    """Return cells of a kind, or codes of listed categories; None is a missing value.

    Anything that is not of the kind is an error, which names the column, the row and the value.
    """
    if isinstance(cells, np.ndarray) and kind == "number":
        return cells
    if isinstance(kind, str):
        convert, expected = KINDS.get(kind, (_unchanged, ""))
    else:
        codes: dict[Any, float] = {value: float(code) for code, value in enumerate(kind)}
        convert, expected = (lambda value: codes[category_key(value)]), f"one of {list(kind)[:10]}"
    found = []
    for row, value in enumerate(cells):
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
}
"""How a cell of each kind of column is converted, and what is expected."""
