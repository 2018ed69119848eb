"""Converting frames, tables and dicts to the rows that a model was fitted on."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.columns import NUMBER_TEXT, FrameColumns, column_kind, frame_library
from pairmend._utils.number_texts import PLAIN_NUMBERS, number_formats
from pairmend._utils.typing import FloatArray
from pairmend.datasets import MultiLabelData
from pairmend.datasets.assembly import column_values

Columns = dict[str, NDArray[Any]]
"""Arrays by name: of float, bool or datetime64, or of objects where None is a missing value."""


def read_columns(rows: Any) -> Columns | None:
    """Return the columns of a frame, a table or a list of dicts; None for arrays.

    A value that a dict lacks is missing.
    """
    if isinstance(rows, MultiLabelData):
        return {name: _table_column(rows, place) for place, name in enumerate(rows.feature_names)}
    if frame_library(rows) is not None:
        names = [str(name) for name in rows.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"two columns have the same name, of {names[:20]}")
        arrays = (
            [rows.iloc[:, place] for place in range(len(names))]
            if hasattr(rows, "iloc")
            else rows.get_columns()
        )
        return dict(zip(names, map(_frame_column, arrays), strict=True))
    if isinstance(rows, list | tuple) and rows and isinstance(rows[0], Mapping):
        if not all(isinstance(row, Mapping) for row in rows):
            raise ValueError("expected a dict for each row, got a list with other objects")
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        return {name: _array([row.get(name) for row in rows]) for name in names}
    return None


def _table_column(data: MultiLabelData, place: int) -> NDArray[Any]:
    numbers, values = column_values(data.X, place), data.categories.get(place)
    if values is None:
        return numbers
    return _objects([None if np.isnan(code) else values[int(code)] for code in numbers.tolist()])


def _frame_column(column: Any) -> NDArray[Any]:
    if column_kind(column) == "date":
        if hasattr(column, "iloc"):
            import pandas as pd

            column = pd.to_datetime(column)
            if column.dt.tz is not None:
                column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return np.asarray(column.to_numpy()).astype("datetime64[us]")
    return _array(column.tolist() if hasattr(column, "iloc") else column.to_list())


def _array(values: list[Any]) -> NDArray[Any]:
    """Return values as numbers or bools if all that are not missing are, else as objects."""
    present = [value for value in values if not _is_missing(value)]
    if present and all(isinstance(value, bool | np.bool_) for value in present):
        if len(present) == len(values):
            return np.array(values, dtype=bool)
        return _objects([None if _is_missing(value) else bool(value) for value in values])
    if all(isinstance(value, int | float | np.number) for value in present):
        return np.array([np.nan if _is_missing(value) else float(value) for value in values])
    return _objects([None if _is_missing(value) else value for value in values])


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def to_table(columns: Columns, name: str, categorical: Sequence[str]) -> MultiLabelData:
    """Make a table without labels; dates become seconds since 1970.

    Columns in `categorical` are categorical even if they hold numbers or bools.
    """
    n_rows = len(next(iter(columns.values()))) if columns else 0
    X, categories = np.empty((n_rows, len(columns))), {}
    for place, (column, values) in enumerate(columns.items()):
        if values.dtype == object or (values.dtype == bool and column in categorical):
            X[:, place], categories[place] = _codes(as_texts(values))
        else:
            X[:, place] = as_numbers(values, name, column)
    nothing = np.empty((n_rows, 0), dtype=np.int64)
    return MultiLabelData(X, nothing, tuple(columns), (), categories, name, ())


def _codes(texts: list[str | None]) -> tuple[FloatArray, tuple[str, ...]]:
    values = tuple(sorted({text for text in texts if text is not None}))
    place: dict[str | None, float] = {value: float(code) for code, value in enumerate(values)}
    return np.array([place.get(text, np.nan) for text in texts]), values


def as_texts(values: NDArray[Any]) -> list[str | None]:
    """Return values as texts: integers without a point, None for missing ones."""
    return [None if _is_missing(value) else plain_text(value) for value in values.tolist()]


def plain_text(value: Any) -> str:
    """Return a value as a text: an integer without a point."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    return str(value)


def as_numbers(values: NDArray[Any], source: str, name: str) -> FloatArray:
    """Return a column as numbers; texts are parsed. `source` and `name` are for messages."""
    if values.dtype.kind == "M":
        seconds: FloatArray = values.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.where(np.isnat(values), np.nan, seconds)
    if values.dtype != object:
        return values.astype(float)
    cells = values.tolist()
    formats = number_formats(cell for cell in cells if isinstance(cell, str))
    # Without other texts, whether 1,500 is 1500 or 1.5 is not known.
    parse = formats[0].parse if len(formats) == 1 else PLAIN_NUMBERS.parse
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(cells):
        try:
            if value is not None:
                numbers[row] = _parsed(value, parse)
        except (TypeError, ValueError):
            advice = ""
            if len(formats) > 1:
                advice = "; write it without separators of thousands, and decimals with a point"
            raise ValueError(
                f"{source}: column {name!r} must hold numbers, as when the model was fitted, but "
                f"is {value!r} in row {row}{advice}"
            ) from None
    return numbers


def _parsed(value: Any, parse: Callable[[str], float]) -> float:
    if not isinstance(value, str):
        return float(value)
    try:
        return parse(value)
    except ValueError:
        return float(value)  # whole numbers with a leading zero


def find_value(values: Sequence[Any]) -> Callable[[Any], int | None]:
    """Return a function that returns the position of a text or number among values, or None.

    A text that is a number also matches another text of the same number: ``"3.0"`` finds ``"3"``.
    """
    places = {value if isinstance(value, str) else plain_text(value): place
              for place, value in enumerate(values)}  # fmt: skip
    numbers: dict[float, list[int]] = {}
    for text, place in places.items():
        if (number := _number(text)) is not None:
            numbers.setdefault(number, []).append(place)

    def find(value: Any) -> int | None:
        text = value if isinstance(value, str) else plain_text(value)
        if text in places:
            return places[text]
        number = _number(text)
        same = numbers.get(number, []) if number is not None else []
        return same[0] if len(same) == 1 else None

    return find


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def to_frame(
    rows: Any, columns: Columns, names: Sequence[str], described: FrameColumns, source: str
) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Make a frame with the column types of fit, and return values that did not occur in fit.

    Columns of a frame `rows` that have the right type are used unchanged.
    """
    library = described.library
    own = frame_library(rows) == library
    made: dict[str, Any] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    for name, kind, values in zip(names, described.kinds, described.values, strict=True):
        if values is not None:
            find = find_value(values)
            texts = dict.fromkeys(text for text in as_texts(columns[name]) if text is not None)
            if new_texts := tuple(text for text in texts if find(text) is None):
                unknown[name] = new_texts
        same = own and column_kind(rows[name]) in (kind, *_ACCEPTED_INSTEAD.get(kind, ()))
        if kind == "other" or same:
            made[name] = rows[name] if own else columns[name]
        else:
            made[name] = _make_series(library, name, columns[name], kind, values, source)
    if library == "polars":
        import polars as pl

        return pl.DataFrame([pl.Series(name, column) for name, column in made.items()]), unknown
    import pandas as pd

    index = rows.index if frame_library(rows) == "pandas" else None
    made = {
        name: column.set_axis(index) if isinstance(column, pd.Series) and index is not None
        else column
        for name, column in made.items()
    }  # fmt: skip
    return pd.DataFrame(made, index=index), unknown


_ACCEPTED_INSTEAD = {"number": ("boolean",), NUMBER_TEXT: ("text", "number")}
"""Kinds of columns that are accepted in place of others."""


def _make_series(
    library: str,
    name: str,
    column: NDArray[Any],
    kind: str,
    values: tuple[str | float, ...] | None,
    source: str,
) -> Any:
    """Make a series of a kind: number, boolean, date, text, number text or category."""
    if kind == "number":
        cells: Any = as_numbers(column, source, name)
    elif kind == "boolean":
        cells = [
            None if text is None else text.lower() in ("true", "1") for text in as_texts(column)
        ]
    elif kind == "date":
        cells = _as_dates(column, source, name)
    elif kind == NUMBER_TEXT:
        kind, cells = "text", list(map(_number_text, as_texts(column), column.tolist()))
    else:
        cells = as_texts(column)
        if values is not None:
            find = find_value(values)
            places = {text: None if text is None else find(text) for text in set(cells)}
            cells = [
                text if places[text] is None else values[places[text]]  # type: ignore[index]
                for text in cells
            ]
    if library == "polars":
        import polars as pl

        if kind == "category":
            return pl.Series(
                name, [c if c is None else str(c) for c in cells], dtype=pl.String
            ).cast(pl.Categorical)
        dtype = {"text": pl.String, "boolean": pl.Boolean}.get(kind)
        return pl.Series(name, cells, dtype=dtype, nan_to_null=kind == "number")
    import pandas as pd

    if kind == "category":
        further = dict.fromkeys(c for c in cells if c is not None and c not in set(values or ()))
        return pd.Series(pd.Categorical(cells, categories=[*(values or ()), *further]), name=name)
    if kind == "boolean" and None in cells:
        cells = [np.nan if cell is None else float(cell) for cell in cells]
    if kind == "text":
        cells = [np.nan if cell is None else cell for cell in cells]
    if kind == "date":
        # The unit of dates that pandas parses: older versions of scikit-learn compare units, too.
        cells = cells.astype(pd.to_datetime(["2024-01-01"]).dtype)
    return pd.Series(cells, name=name)


def _number_text(text: str | None, value: Any) -> str | None:
    """Return the text of a number; a further zero keeps 1.125 from being 1125."""
    if isinstance(value, str) or text is None or "." not in text:
        return text
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}0{e}{exponent}"


def _as_dates(column: NDArray[Any], source: str, name: str) -> NDArray[Any]:
    if column.dtype.kind == "M":
        return column
    if column.dtype.kind in "iuf":  # seconds since 1970
        seconds = np.where(np.isnan(column), 0.0, column)
        dates = (seconds * 1e6).astype(np.int64).astype("datetime64[us]")
        return np.where(np.isnan(column), np.datetime64("NaT"), dates)
    dates = np.full(len(column), np.datetime64("NaT"), dtype="datetime64[us]")
    for row, value in enumerate(column.tolist()):
        try:
            if value is not None:
                dates[row] = _date(str(value))
        except ValueError:
            raise ValueError(
                f"{source}: column {name!r} must hold dates, as when the model was fitted, but is "
                f"{value!r} in row {row}; write them as 2024-12-31 or 2024-12-31T23:59:59"
            ) from None
    return dates


def _date(text: str) -> datetime:
    """Parse a date without a time zone; one with a time zone is converted to UTC."""
    date = datetime.fromisoformat(text)
    return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)
