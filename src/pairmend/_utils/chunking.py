"""Chunks of rows and blocks of pairs that keep memory below scikit-learn's working_memory.

Neither size changes a result. Both follow scikit-learn's ``working_memory`` setting.
"""

from collections.abc import Iterator

import numpy as np
from sklearn import get_config

from pairmend._utils.typing import FloatArray

FLOAT_BYTES = 8
CACHED_CELLS = 2**16
"""Number of cells of a chunk of rows that stays in the cache of a processor."""
BLOCK_ARRAYS = 16
"""Largest number of arrays of shape (rows, pairs of a block) in memory at once."""


def _budget() -> int:
    """Return the bytes for the arrays of a chunk, or of a block: half of the working memory."""
    return int(get_config()["working_memory"] * 2**20) // 2


def batches(n: int, size: int) -> Iterator[slice]:
    """Cut n items into batches of a size, the last one possibly smaller."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def row_chunks(n_rows: int, row_size: int, max_bytes: int | None = None) -> Iterator[slice]:
    """Cut rows so that a chunk of `row_size` floats a row fits into memory."""
    budget = max_bytes or _budget()
    return batches(n_rows, max(1, budget // (FLOAT_BYTES * max(1, row_size))))


def pair_blocks(
    n_labels: int, n_rows: int, pair_size: int = 0, max_bytes: int | None = None
) -> Iterator[slice]:
    """Cut the first labels of pairs so that the arrays of a block of pairs fit into memory.

    A block holds all pairs of one or more consecutive first labels. A pair needs `pair_size` floats
    beside those of its rows.
    """
    size = BLOCK_ARRAYS * max(1, n_rows) + pair_size
    ends = np.cumsum(np.arange(n_labels - 1, 0, -1)) * (FLOAT_BYTES * size)
    budget = max_bytes or _budget()
    start = 0
    while start < len(ends):
        spent = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, spent + budget, side="right")))
        yield slice(start, stop)
        start = stop


def join_blocks(blocks: list[FloatArray], n_rows: int, n_columns: int) -> FloatArray:
    """Move blocks of rows into one array; each block is freed as soon as it is copied."""
    cells = np.empty((n_rows, n_columns))
    while blocks:
        block = blocks.pop()
        cells[n_rows - len(block) : n_rows] = block
        n_rows -= len(block)
    return cells
