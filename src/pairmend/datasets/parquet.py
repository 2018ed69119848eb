"""Reading and writing Parquet files with pyarrow."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.files import replaced
from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.assembly import set_name
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.limits import DEFAULT_LIMITS, CellCount, ReadLimitError, ReadLimits
from pairmend.datasets.text_codes import TextCodes

_BATCH_ROWS = 2**16
_TEXT_ROWS = 2**10
"""Rows of a batch of texts: with DELTA_BYTE_ARRAY each may repeat a long text stored once."""


def read_parquet_table(
    path: str | Path, *, categorical: Sequence[str] = (), limits: ReadLimits = DEFAULT_LIMITS
) -> MultiLabelData:
    """Read a Parquet file, all of its columns features.

    Texts and dictionaries are categorical, their values sorted; nulls become NaN. Dates and times
    become texts in ISO 8601, in UTC, as text files have them. Names in `categorical` that are not
    in the file are ignored.
    """
    parquet = require_pyarrow()
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    with _errors_named(path), parquet.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        names = tuple(schema.names)
        n_rows, n_columns = metadata.num_rows, len(names)
        count = CellCount(path, limits)
        count.add_columns(n_columns)
        if len(set(names)) != len(names):
            raise _TableError(f"two columns have the same name, of {list(names)}")
        if n_rows <= 0 or n_columns == 0:
            raise _TableError("no rows")
        for name, kind in zip(names, schema.types, strict=True):
            if _is_nested(kind):
                raise _TableError(f"column {name!r} holds {kind}; expected numbers or texts")
        count.add(n_rows * n_columns)
        limits.check_bytes(path, _unpacked_bytes(metadata))
        X = np.empty((n_rows, n_columns))
        categories = {}
        texts = {name for name, kind in zip(names, schema.types, strict=True) if _is_text(kind)}
    # Texts stay in the dictionary that the file stores them in: a long one is not repeated.
    with (
        _errors_named(path),
        parquet.ParquetFile(
            path, read_dictionary=sorted(texts), pre_buffer=False, page_checksum_verification=True
        ) as file,
    ):
        for place, name in enumerate(names):
            codes = None
            end = 0
            for column in _batches(file, name, _TEXT_ROWS if name in texts else _BATCH_ROWS):
                start, end = end, end + len(column)
                if end > n_rows:
                    break
                numbers = None if name in categorical else _numbers(column)
                if numbers is None:
                    codes = codes or TextCodes(count, missing={None})
                    numbers = _encode(codes, name, column)
                X[start:end, place] = numbers
            if end != n_rows:
                raise _TableError(
                    f"column {name!r} does not hold the {counted(n_rows, 'row')} of the file"
                )
            if codes is not None:
                X[:, place], categories[place] = codes.sort(X[:, place])
    nothing = np.empty((len(X), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, names, (), categories, set_name(path), (path,))


class _TableError(Exception):
    """A Parquet file whose columns cannot be read; the message does not name the file."""


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Turn the errors of damaged files into a ValueError that names the file."""
    try:
        yield
    except ReadLimitError:
        raise
    except _TableError as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # pyarrow raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: not a Parquet file that can be read: {reason}") from error


def write_parquet(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Write columns, arrays or lists by name, as a Parquet file."""
    parquet = require_pyarrow()
    import pyarrow

    with replaced(path) as temporary:
        parquet.write_table(pyarrow.table(dict(columns)), temporary)


def require_pyarrow() -> Any:
    """Return pyarrow.parquet, or raise an ImportError with the command that installs it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'pairmend[parquet]'"
        ) from error
    return parquet


def _unpacked_bytes(metadata: Any) -> int:
    """Return the size of the unpacked row groups, as the file states it.

    The metadata of single columns are not read: damaged ones end the process in pyarrow.
    """
    groups = range(metadata.num_row_groups)
    return sum(max(0, metadata.row_group(group).total_byte_size) for group in groups)


def _batches(file: Any, name: str, n_rows: int) -> Iterator[Any]:
    """Yield the values of a column, a batch of rows at a time, checked in full."""
    for batch in file.iter_batches(batch_size=n_rows, columns=[name], use_threads=False):
        batch.validate(full=True)
        yield batch.column(batch.schema.get_field_index(name))


def _is_nested(kind: Any) -> bool:
    import pyarrow

    return pyarrow.types.is_nested(getattr(kind, "storage_type", kind))


def _is_text(kind: Any) -> bool:
    import pyarrow

    kinds = pyarrow.types
    return any(
        is_kind(kind)
        for is_kind in (kinds.is_string, kinds.is_large_string, kinds.is_binary,
                        kinds.is_large_binary)
    )  # fmt: skip


def _numbers(column: Any) -> FloatArray | None:
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_dictionary(column.type):
        if _is_text(column.type.value_type):
            return None
        column = column.cast(column.type.value_type)
    if kinds.is_null(column.type):
        return np.full(len(column), np.nan)
    numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
    if not any(is_kind(column.type) for is_kind in numeric):
        return None
    if kinds.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    return _as_floats(column)


def _as_floats(column: Any) -> FloatArray:
    import pyarrow

    floats = column.cast(pyarrow.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=float)


def _encode(codes: TextCodes, name: str, column: Any) -> FloatArray:
    """Return the codes of a batch; only texts that occur in it are made Python objects."""
    import pyarrow

    try:
        if is_date := pyarrow.types.is_date(column.type) or pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.timestamp("us"), safe=False)  # in UTC, from any time zone
        if not pyarrow.types.is_dictionary(column.type):
            column = column.cast(pyarrow.string()).dictionary_encode()
        indices = column.indices.cast(pyarrow.int64()).fill_null(-1)
        used, place = np.unique(indices.to_numpy(zero_copy_only=False), return_inverse=True)
        present = used[used >= 0]
        texts = column.dictionary.take(pyarrow.array(present)).cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException as error:
        kind = getattr(column.type, "value_type", column.type)
        raise _TableError(f"column {name!r} holds {kind}; expected numbers or texts") from error
    if is_date:
        texts = [text.removesuffix(".000000").removesuffix(" 00:00:00") for text in texts]
    code_of_used = codes.encode([None] * (len(used) - len(present)) + texts)
    return code_of_used[place.reshape(-1)]
