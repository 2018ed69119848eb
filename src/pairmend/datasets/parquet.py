"""Reading and writing Parquet files with pyarrow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.files import replaced
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits
from pairmend.datasets.table import Column, TextCodes, table_data

_BATCH_ROWS = 2**16
_TEXT_ROWS = 2**10
"""Rows of a batch of texts: with DELTA_BYTE_ARRAY each may repeat a long text stored once."""


def read_parquet(path: Path, limits: ReadLimits, texts: Sequence[str]) -> MultiLabelData:
    """Read the columns of a Parquet file; nulls are missing.

    Dates and times have the texts that text files have for them, in ISO 8601 and UTC.
    """
    parquet = require_pyarrow()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return table_data(path, _read(parquet, path, limits, texts))
    except (ReadLimitError, MemoryError):
        raise
    except Exception as error:  # pyarrow raises many kinds on damaged files
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: not a Parquet file that can be read: {reason}") from error


def _read(parquet: Any, path: Path, limits: ReadLimits, texts: Sequence[str]) -> dict[str, Column]:
    from pyarrow import types

    count = CellCount(path, limits)
    with parquet.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        names, n_rows = schema.names, max(0, metadata.num_rows)
        count.add(n_rows * len(names), columns=len(names))
        # The metadata of single columns are not read: damaged ones end the process in pyarrow.
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        limits.check_bytes(path, sum(max(0, group.total_byte_size) for group in groups))
    if not n_rows or len(set(names)) != len(names):
        raise ValueError("no rows, or two columns of the same name")
    for name, kind in zip(names, schema.types, strict=True):
        if types.is_nested(getattr(kind, "storage_type", kind)):
            raise ValueError(f"column {name!r} holds {kind}; expected numbers or texts")
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    long = [
        n for n, kind in zip(names, schema.types, strict=True) if any(is_(kind) for is_ in is_text)
    ]
    columns: dict[str, Column] = {}
    # Texts stay in the dictionary that the file stores them in: a long one is not repeated.
    with parquet.ParquetFile(
        path, read_dictionary=long, pre_buffer=False, page_checksum_verification=True
    ) as file:
        for name in names:
            size = _TEXT_ROWS if name in long else _BATCH_ROWS
            coder, blocks = TextCodes(count, frozenset({None})), []
            for batch in file.iter_batches(size, columns=[name], use_threads=False):
                batch.validate(full=True)
                numbers = None if name in texts else _numbers(batch.column(0))
                if numbers is None:
                    coder.add(_texts(batch.column(0)))
                else:
                    blocks.append(numbers)
            columns[name] = np.concatenate(blocks) if blocks else coder.column()
            if sum(map(len, blocks or coder.blocks)) != n_rows:
                raise ValueError(f"column {name!r} does not hold the {n_rows} rows of the file")
    return columns


def _numbers(cells: Any) -> Any:
    """Return cells as numbers, None for texts, dates and the like."""
    import pyarrow
    from pyarrow import types

    kind = getattr(cells.type, "value_type", cells.type)
    is_number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal,
                 types.is_null)  # fmt: skip
    if not any(is_(kind) for is_ in is_number):
        return None
    for target in (kind, pyarrow.int8() if types.is_boolean(kind) else kind, pyarrow.float64()):
        cells = cells.cast(target, safe=False)
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=float)


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
