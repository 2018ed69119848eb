"""Reading and writing Parquet files with pyarrow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.files import replaced
from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.columns import Column, TextCodes
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits
from pairmend.datasets.text_files import Header

_BATCH_ROWS = 2**16
_TEXT_ROWS = 2**10
"""Rows of a batch of texts: with DELTA_BYTE_ARRAY each may repeat a long text stored once."""


def read_parquet(
    path: Path, limits: ReadLimits, texts: Sequence[str]
) -> tuple[Header, dict[str, Column]]:
    """Read the columns of a Parquet file; nulls are missing.

    Dates and times have the texts that text files have for them, in ISO 8601 and UTC.
    """
    parquet = require_pyarrow()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return _read(parquet, path, limits, texts)
    except (_TableError, ReadLimitError):
        raise
    except Exception as error:  # pyarrow raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: not a Parquet file that can be read: {reason}") from error


class _TableError(ValueError):
    """A Parquet file whose columns cannot be read."""


def _read(
    parquet: Any, path: Path, limits: ReadLimits, texts: Sequence[str]
) -> tuple[Header, dict[str, Column]]:
    from pyarrow import types

    count = CellCount(path, limits)
    with parquet.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        names, n_rows = schema.names, metadata.num_rows
        count.add_columns(len(names))
        count.add(max(0, n_rows) * len(names))
        # The metadata of single columns are not read: damaged ones end the process in pyarrow.
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        limits.check_bytes(path, sum(max(0, group.total_byte_size) for group in groups))
    if len(set(names)) != len(names):
        raise _TableError(f"{path}: two columns have the same name, of {names}")
    if n_rows <= 0 or not names:
        raise _TableError(f"{path}: no rows")
    for name, kind in zip(names, schema.types, strict=True):
        if types.is_nested(getattr(kind, "storage_type", kind)):
            raise _TableError(f"{path}: column {name!r} holds {kind}; expected numbers or texts")
    written = [n for n, kind in zip(names, schema.types, strict=True) if _is_text(kind)]
    columns: dict[str, Column] = {}
    # Texts stay in the dictionary that the file stores them in: a long one is not repeated.
    with parquet.ParquetFile(
        path, read_dictionary=written, pre_buffer=False, page_checksum_verification=True
    ) as file:
        for name in names:
            size = _TEXT_ROWS if name in written else _BATCH_ROWS
            coder, blocks = TextCodes(count, frozenset({None})), []
            for batch in file.iter_batches(size, columns=[name], use_threads=False):
                batch.validate(full=True)
                cells = batch.column(0)
                if name in texts or not _is_number(cells.type):
                    coder.add(_texts(cells))
                else:
                    blocks.append(_numbers(cells))
            columns[name] = np.concatenate(blocks) if blocks else coder.column()
            if sum(map(len, blocks or coder.blocks)) != n_rows:
                rows = counted(n_rows, "row")
                raise _TableError(f"{path}: column {name!r} does not hold the {rows} of the file")
    return Header(path, names, is_header=True), columns


def _is_text(kind: Any) -> bool:
    from pyarrow import types as kinds

    return any(
        check(kind)
        for check in (kinds.is_string, kinds.is_large_string, kinds.is_binary,
                      kinds.is_large_binary)
    )  # fmt: skip


def _is_number(kind: Any) -> bool:
    from pyarrow import types as kinds

    kind = getattr(kind, "value_type", kind)
    return any(
        check(kind)
        for check in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal,
                      kinds.is_null)
    )  # fmt: skip


def _numbers(cells: Any) -> FloatArray:
    import pyarrow

    if pyarrow.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pyarrow.types.is_boolean(cells.type):
        cells = cells.cast(pyarrow.int8())
    floats = cells.cast(pyarrow.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=float)


def _texts(cells: Any) -> list[str | None]:
    """Return cells as texts, None where they are missing; equal ones are one object."""
    import pyarrow

    kind = getattr(cells.type, "value_type", cells.type)
    if is_date := pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind):
        cells = cells.cast(pyarrow.timestamp("us"), safe=False)  # in UTC, from any time zone
    if not pyarrow.types.is_dictionary(cells.type):
        cells = cells.cast(pyarrow.string()).dictionary_encode()
    places = cells.indices.to_numpy(zero_copy_only=False)
    used = np.unique(places[~np.isnan(places)]).astype(int)  # the dictionary may be much larger
    texts = cells.dictionary.take(pyarrow.array(used)).cast(pyarrow.string()).to_pylist()
    if is_date:
        texts = [text.removesuffix(".000000").removesuffix(" 00:00:00") for text in texts]
    text_at = dict(zip(used.tolist(), texts, strict=True))
    return [text_at.get(place) for place in places.tolist()]


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
