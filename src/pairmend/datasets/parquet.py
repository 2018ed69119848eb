"""Parquet files, by pyarrow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._typing import FloatArray
from pairmend.datasets.assembly import set_name
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.files import replaced


def read_parquet_table(path: str | Path, *, categorical: Sequence[str] = ()) -> MultiLabelData:
    """Read a Parquet file, all of its columns features.

    Parameters
    ----------
    path : path
        The file.
    categorical : sequence of str, default=()
        Names of columns whose values are only names; those that are not there do not matter.

    Returns
    -------
    MultiLabelData
        Without labels. Texts and dictionaries are categorical, their values sorted; numbers and
        bools are numbers, dates and times the seconds since 1970; nulls are missing.
    """
    parquet = require_pyarrow()
    from pyarrow import ArrowException

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        table = parquet.read_table(path)
    except (ArrowException, ValueError, OSError) as error:
        raise ValueError(f"{path}: not a Parquet file that can be read: {error}") from error
    if len(set(table.column_names)) != len(table.column_names):
        raise ValueError(f"{path}: two columns have the same name, of {table.column_names}")
    if table.num_rows == 0:
        raise ValueError(f"{path}: no rows")
    X = np.empty((table.num_rows, table.num_columns))
    categories = {}
    for place, name in enumerate(table.column_names):
        numbers = None if name in categorical else _numbers(table.column(place))
        if numbers is None:
            numbers, categories[place] = _codes(path, name, table.column(place))
        X[:, place] = numbers
    nothing = np.empty((len(X), 0), dtype=np.int64)
    names = tuple(table.column_names)
    return MultiLabelData(X, nothing, names, (), categories, set_name(path), (path,))


def write_parquet(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Write columns as a Parquet file, which is there whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    columns : mapping
        An array or a list of values by name.
    """
    parquet = require_pyarrow()
    import pyarrow

    with replaced(path) as temporary:
        parquet.write_table(pyarrow.table(dict(columns)), temporary)


def require_pyarrow() -> Any:
    """Return pyarrow's reader and writer, or name the cure."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'pairmend[parquet]'"
        ) from error
    return parquet


def _numbers(column: Any) -> FloatArray | None:
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kinds.is_date(column.type) or kinds.is_timestamp(column.type):
        seconds = column.cast(pyarrow.timestamp("us")).cast(pyarrow.int64())
        return np.asarray(seconds.cast(pyarrow.float64(), safe=False).to_numpy()) / 1e6
    if kinds.is_null(column.type):
        return np.full(len(column), np.nan)
    numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
    if not any(is_kind(column.type) for is_kind in numeric):
        return None
    if kinds.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=float)


def _codes(path: Path, name: str, column: Any) -> tuple[FloatArray, tuple[str, ...]]:
    import pyarrow

    try:
        texts = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException as error:
        raise ValueError(
            f"{path}: column {name!r} holds {column.type}; expected numbers or texts"
        ) from error
    values = tuple(sorted({text for text in texts if text is not None}))
    place = {value: float(code) for code, value in enumerate(values)}
    return np.array([place.get(text, np.nan) for text in texts]), values
