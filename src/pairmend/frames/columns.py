"""Columns of pandas, polars and pyarrow, read as arrays.

The same values give the same arrays, independent of the library and of the dtype. Only attributes
of the tables are used: none of the three libraries is imported, and narwhals, which scikit-learn
requires from 1.9 on only, is not needed.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.arrays import is_frame
from pairmend._utils.text import is_missing
from pairmend._utils.typing import BoolArray, FloatArray

DAY = 86_400_000_000
"""Microseconds of a day."""


@dataclass(frozen=True)
class Column:
    """A column of a frame: `holds` is "numbers", "booleans", "dates" or "strings".

    Values are floats, NaN where missing: numbers (durations in seconds), 0 or 1, or days since 1970
    (UTC). Strings are an array of objects, None where missing; a string without visible characters
    is missing. `is_category` if the dtype is categorical; `categories` are those that it lists.
    """

    name: Any
    holds: str
    values: NDArray[Any]
    is_category: bool = False
    categories: tuple[str, ...] = ()

    @property
    def missing(self) -> BoolArray:
        """Mask of the missing cells."""
        if self.holds == "strings":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)

    @property
    def keys(self) -> list[str | None]:
        """Return the cells as strings that represent categories, None where missing."""
        if self.holds == "strings":
            return list(self.values)
        return [None if np.isnan(value) else category_key(value) for value in self.values.tolist()]

    def as_numbers(
        self, holds: Container[str], parse: Callable[[str], float], expected: str
    ) -> FloatArray:
        """Return numbers, NaN where missing; other values than `expected` are an error.

        Columns of `holds` are numbers as they are. Of strings, each different one is parsed once;
        `parse` raises a ValueError.
        """
        if self.holds in holds:
            return self.values
        if self.missing.all():
            return np.full(len(self.values), np.nan)
        if self.holds != "strings":
            raise self.unexpected(expected)
        numbers: dict[str | None, float] = {}
        for key in dict.fromkeys(self.keys):
            try:
                numbers[key] = np.nan if key is None else parse(key)
            except ValueError:
                raise self.unexpected(expected, f" such as {key!r}") from None
        return np.array([numbers[key] for key in self.keys], dtype=float)

    def unexpected(self, expected: str, example: str = "") -> ValueError:
        """Return the error for a column that holds other values than in fit."""
        return ValueError(
            f"Column {self.name!r} holds {self.holds}{example}; expected {expected}. Convert the "
            "column, or fit again with the column unchanged."
        )


def read_column(X: Any, position: int) -> Column:
    """Read a column of a pandas or polars frame or a pyarrow table, by position."""
    if hasattr(X, "iloc"):
        return _read_pandas(X.columns[position], X.iloc[:, position])
    if not hasattr(X, "to_series"):
        return _read_objects(X.column_names[position], X.column(position).to_pylist())
    series = X.to_series(position)
    column, dtype = _read_array(series.name, series.to_numpy()), str(series.dtype.base_type())
    listed = tuple(series.dtype.categories) if dtype == "Enum" else ()
    return replace(column, is_category=dtype in ("Categorical", "Enum"), categories=listed)


def column_kinds(X: Any) -> tuple[str, ...] | None:
    """Return the kinds of the columns of a frame, None for anything else.

    A kind is "number", "boolean", "date", "text", "category" or "other".
    """
    return tuple(_kind_of(X, place) for place in range(X.shape[1])) if is_frame(X) else None


def hint_of_encoder(X: Any) -> str:
    """Return a note on errors of classifiers of frames with columns that are not numbers."""
    others = [kind for kind in column_kinds(X) or () if kind not in ("number", "boolean")]
    return ENCODER_HINT if others else ""


ENCODER_HINT = (
    "X has columns that are not numbers. A classifier that takes numbers only needs an encoder: "
    "make_pipeline(pairmend.frames.FrameEncoder(), classifier)."
)


def _kind_of(X: Any, position: int) -> str:
    try:
        column = read_column(X, position)
    except ValueError:
        return "other"
    return "category" if column.is_category else _KIND_OF.get(column.holds, "other")


_KIND_OF = {"numbers": "number", "booleans": "boolean", "dates": "date", "strings": "text"}


def require_numbers(X: Any, user: str) -> None:
    """Raise an error for a frame with a column of anything but numbers."""
    for position in range(X.shape[1] if is_frame(X) else 0):
        column = read_column(X, position)
        if column.holds not in ("numbers", "booleans"):
            raise ValueError(
                f"Column {column.name!r} holds {column.holds}, and {user} accepts numbers only. "
                "Encode the frame first, for example with sklearn.compose.ColumnTransformer."
            )


def category_key(value: Any) -> str:
    """Return the string that represents a category; equal numbers have the same string."""
    if isinstance(value, bool | int | float | np.number | np.bool_):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _read_pandas(name: Any, series: Any) -> Column:
    dtype: Any = series.dtype
    if hasattr(dtype, "categories"):
        listed = tuple(map(category_key, dtype.categories))
        keys = np.array([*listed, None], dtype=object)[series.cat.codes]  # -1 is a missing value
        return replace(_read_array(name, keys), is_category=True, categories=listed)
    kind = getattr(dtype, "kind", "O")
    if kind in "iuf":
        return _read_array(name, series.to_numpy(dtype=float, na_value=np.nan))
    return _read_array(name, series.to_numpy(dtype=f"{kind}8[us]" if kind in "mM" else None))


def _read_array(name: Any, array: NDArray[Any]) -> Column:
    kind = array.dtype.kind
    if kind not in "biufmM":
        return _read_objects(name, array.tolist())
    if kind in "biuf":
        return Column(name, "booleans" if kind == "b" else "numbers", np.array(array, dtype=float))
    counts = array.astype(f"{kind}8[us]")
    values = counts.astype(np.int64) / (DAY if kind == "M" else 1e6)
    return Column(
        name, "dates" if kind == "M" else "numbers", np.where(np.isnat(counts), np.nan, values)
    )


def _read_objects(name: Any, cells: list[Any]) -> Column:
    """Read cells that are Python objects."""
    cells = [cell if type(cell) is str or not is_missing(cell) else None for cell in cells]
    types = set(map(type, cells)) - {type(None)}
    if all(issubclass(kind, str) for kind in types):
        blank = {cell for cell in set(cells) - {None} if not cell.strip()}
        strings = [None if cell in blank else cell for cell in cells] if blank else cells
        return Column(name, "strings", np.array(strings, dtype=object))
    for classes, convert, holds in _READERS:
        if all(issubclass(kind, classes) for kind in types):
            values = [np.nan if cell is None else convert(cell) for cell in cells]
            return Column(name, holds, np.array(values))
    names = sorted(kind.__name__ for kind in types)
    raise ValueError(
        f"Column {name!r} holds values of type {' and '.join(names)}; expected numbers, strings, "
        "dates or durations. Convert it, for categories by X[name].astype(str), for numbers by "
        "pandas.to_numeric(X[name]), or leave it out: X.drop(columns=[...])."
    )


def days_of(value: Any) -> float:
    """Return the days since 1970 of a date or time; without a time zone it is in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float(np.datetime64(value, "us").astype(np.int64) / DAY)


_READERS: list[tuple[Any, Callable[[Any], float], str]] = [
    ((bool, np.bool_), float, "booleans"),
    ((bool, int, float, Decimal, np.number, np.bool_), float, "numbers"),
    ((date, np.datetime64), days_of, "dates"),
    (timedelta, timedelta.total_seconds, "numbers"),
]
"""Types of cells, the function that converts a cell, and the column's `holds`."""
