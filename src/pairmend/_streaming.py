"""Cutting rows into chunks and pairs into blocks, so that memory stays bounded.

Neither size changes a result. Both follow scikit-learn's ``working_memory`` setting.
"""

from collections.abc import Iterator

from sklearn import get_config
from sklearn.utils import gen_batches

FLOAT_BYTES = 8
BLOCK_ARRAYS = 16
"""Arrays of the size (rows x pairs of a block) that are alive at once, at the most."""


def _budget() -> int:
    """Bytes that chunks, and blocks within a chunk, may take: half of the memory each."""
    return int(get_config()["working_memory"] * 2**20) // 2


def row_chunks(n_rows: int, row_size: int) -> Iterator[slice]:
    """Cut rows so that a chunk of `row_size` floats a row fits into memory."""
    yield from gen_batches(n_rows, max(1, _budget() // (FLOAT_BYTES * max(1, row_size))))


def pair_blocks(n_pairs: int, n_rows: int) -> Iterator[slice]:
    """Cut pairs so that the arrays of a block over `n_rows` rows fit into memory."""
    pair_size = FLOAT_BYTES * BLOCK_ARRAYS * max(1, n_rows)
    yield from gen_batches(n_pairs, max(1, _budget() // pair_size))
