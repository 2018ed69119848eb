"""Cutting rows into chunks and pairs into blocks, so that memory stays bounded.

Neither size changes a result. Both follow scikit-learn's ``working_memory`` setting.
"""

from collections.abc import Iterator

import numpy as np
from sklearn import get_config

FLOAT_BYTES = 8
BLOCK_ARRAYS = 16
"""Arrays of the size (rows x pairs of a block) that are alive at once, at the most."""


def _budget() -> int:
    """Bytes that chunks, and blocks within a chunk, may take: half of the memory each."""
    return int(get_config()["working_memory"] * 2**20) // 2


def batches(n: int, size: int) -> Iterator[slice]:
    """Cut n things into batches of a size, the last one possibly smaller.

    Examples
    --------
    >>> list(batches(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def row_chunks(n_rows: int, row_size: int) -> Iterator[slice]:
    """Cut rows so that a chunk of `row_size` floats a row fits into memory."""
    return batches(n_rows, max(1, _budget() // (FLOAT_BYTES * max(1, row_size))))


def pair_blocks(n_labels: int, n_rows: int) -> Iterator[slice]:
    """Cut first labels of pairs so that the arrays of a block of pairs fit into memory.

    A block holds all pairs of one or more consecutive first labels. :func:`row_chunks` sees to
    it that the pairs of one label fit.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    n_rows : int
        Rows that each pair is asked about.

    Yields
    ------
    slice
        First labels of a block.
    """
    ends = np.cumsum(np.arange(n_labels - 1, 0, -1)) * (FLOAT_BYTES * BLOCK_ARRAYS * max(1, n_rows))
    start = 0
    while start < len(ends):
        spent = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, spent + _budget(), side="right")))
        yield slice(start, stop)
        start = stop
