"""Reading columns of pandas, polars and pyarrow tables as arrays.

The same values give the same arrays, independent of the library and of the dtype. Only attributes
of the tables are used: none of the three libraries is imported, and narwhals, which scikit-learn
requires from 1.9 on only, is not needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.frames import is_frame
from pairmend._utils.typing import BoolArray, FloatArray

DAY = 86_400_000_000
"""Microseconds of a day."""


@dataclass(frozen=True)
class Column:
    """A column of a frame: `holds` is "numbers", "dates", "durations" or "strings".

    Values are floats, NaN where missing: numbers, days since 1970 (UTC) or seconds. Strings are an
    array of objects, None where missing; a string without visible characters is missing.
    `categories` are those that the dtype lists, in its order.
    """

    name: Any
    holds: str
    values: NDArray[Any]
    is_category: bool = False
    categories: tuple[str, ...] = field(default=())
    is_ordered: bool = False

    @property
    def missing(self) -> BoolArray:
        """Mask of the missing cells."""
        if self.holds == "strings":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)


def read_column(X: Any, position: int) -> Column:
    """Read a column of a pandas or polars frame or a pyarrow table, by position."""
    if hasattr(X, "iloc"):
        return _read_pandas(X.columns[position], X.iloc[:, position])
    if hasattr(X, "to_series"):
        return _read_polars(X.columns[position], X.to_series(position))
    return _read_objects(X.column_names[position], X.column(position).to_pylist())


def require_numbers(X: Any, user: str) -> None:
    """Raise an error for a frame with a column of anything but numbers."""
    if not is_frame(X):
        return
    for position in range(X.shape[1]):
        column = read_column(X, position)
        if column.holds != "numbers":
            raise ValueError(
                f"Column {column.name!r} holds {column.holds}, and {user} accepts numbers only. "
                "Encode the frame first: sklearn.pipeline.make_pipeline("
                f"pairmend.base_classifiers.DenseScaler(), {user}(...))."
            )


def category_key(value: Any) -> str | None:
    """Return the string that represents a category; equal numbers have the same string."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | np.number | np.bool_):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _read_pandas(name: Any, series: Any) -> Column:
    dtype: Any = series.dtype
    if hasattr(dtype, "categories"):
        keys = [category_key(value) for value in list(dtype.categories)]
        codes = series.cat.codes.to_numpy()
        values = np.array([*keys, None], dtype=object)[codes]  # the code -1 is a missing value
        return _categories(name, values, keys, bool(dtype.ordered))
    kind = getattr(dtype, "kind", "O")
    if kind in "biuf":
        return Column(name, "numbers", series.to_numpy(dtype=float, na_value=np.nan))
    if kind == "M":
        return Column(name, "dates", _days(series.to_numpy(dtype="datetime64[us]")))
    if kind == "m":
        return Column(name, "durations", _seconds(series.to_numpy(dtype="timedelta64[us]")))
    cells = zip(series.to_numpy(dtype=object), series.isna().to_numpy(), strict=True)
    return _read_objects(name, [None if is_missing else cell for cell, is_missing in cells])


def _read_polars(name: Any, series: Any) -> Column:
    dtype = series.dtype
    base = str(dtype.base_type())
    if base in ("Categorical", "Enum"):
        keys = [*dtype.categories] if base == "Enum" else []
        values = np.array([*series.to_list(), None], dtype=object)[:-1]
        return _categories(name, values, keys, False)
    if dtype.is_numeric() or base == "Boolean":
        return Column(name, "numbers", np.array(series.cast(float).to_numpy(), dtype=float))
    if base in ("Date", "Datetime"):
        return Column(name, "dates", _days(series.to_numpy().astype("datetime64[us]")))
    if base == "Duration":
        return Column(name, "durations", _seconds(series.to_numpy().astype("timedelta64[us]")))
    return _read_objects(name, series.to_list())


def _categories(
    name: Any, values: NDArray[Any], keys: Sequence[str | None], is_ordered: bool
) -> Column:
    listed = tuple(dict.fromkeys(key for key in keys if key is not None))
    return Column(name, "strings", values, True, listed, is_ordered)


def _read_objects(name: Any, cells: list[Any]) -> Column:
    """Read cells that are Python objects; None and NaN are missing."""
    cells = [str(cell) if isinstance(cell, np.str_) else cell for cell in cells]
    types = {type(cell) for cell in cells} - {type(None)}
    if types <= {str}:
        values = np.array([*cells, None], dtype=object)[:-1]
        blank = [value is not None and not value.strip() for value in cells]
        values[np.array(blank, dtype=bool)] = None
        return Column(name, "strings", values)
    if all(issubclass(kind, float | np.floating) for kind in types - {str}):
        # NaN among strings is a missing value.
        only_nan = all(isinstance(c, str) or c is None or np.isnan(c) for c in cells)
        if only_nan and str in types:
            return _read_objects(name, [c if isinstance(c, str) else None for c in cells])
    for classes, convert, holds in _READERS:
        if all(issubclass(kind, classes) for kind in types):
            values = np.array([np.nan if c is None else convert(c) for c in cells], dtype=float)
            return Column(name, holds, values)
    raise ValueError(_unreadable(name, cells))


def _unreadable(name: Any, cells: list[Any]) -> str:
    """Return the message for a column of several types, or of one that cannot be read."""
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if cell is not None:
            first.setdefault(type(cell).__name__, row)
    found = ", ".join(f"{kind} (first in row {row})" for kind, row in first.items())
    if len(first) == 1:
        return (
            f"Column {name!r} holds values of type {found}; expected numbers, strings, dates or "
            "durations. Convert the column, or leave it out: X.drop(columns=[...])."
        )
    return (
        f"Column {name!r} holds values of several types: {found}. Give it one: for categories "
        "X[name].astype(str), for numbers pandas.to_numeric(X[name], errors='coerce')."
    )


def _days(times: NDArray[Any]) -> FloatArray:
    """Return days since 1970 of datetime64[us], NaN for NaT."""
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def _seconds(durations: NDArray[Any]) -> FloatArray:
    """Return seconds of timedelta64[us], NaN for NaT."""
    return np.where(np.isnat(durations), np.nan, durations.astype(np.int64) / 1e6)


def days_of(value: date) -> float:
    """Return the days since 1970 of a date or time; without a time zone it is in UTC."""
    if not isinstance(value, datetime):
        return float(value.toordinal() - date(1970, 1, 1).toordinal())
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)


def _seconds_of_day(value: time) -> float:
    return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6


_READERS: list[tuple[Any, Any, str]] = [
    ((bool, int, float, Decimal, np.number, np.bool_), float, "numbers"),
    (date, days_of, "dates"),
    (timedelta, timedelta.total_seconds, "durations"),
    (time, _seconds_of_day, "durations"),
    (np.datetime64, lambda value: float(_days(np.array(value, dtype="datetime64[us]"))), "dates"),
]
"""Types of cells, the function that converts a cell to a float, and the column's `holds`."""
