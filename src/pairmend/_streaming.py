"""Cutting rows into chunks and pairs into blocks, so that memory stays bounded.

Neither size changes a result. Both follow scikit-learn's ``working_memory`` setting.
"""

from collections.abc import Iterator

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from pairmend._typing import IntArray

FLOAT_BYTES = 8
BLOCK_ARRAYS = 16
"""Arrays of the size (rows x pairs of a block) that are alive at once, at the most."""
ENTRY_BYTES = 128
"""What an entry of :class:`~pairmend._pairs.PairRows` takes while sums are made of it."""


def _budget() -> int:
    """Bytes that chunks, and blocks within a chunk, may take: half of the memory each."""
    return int(get_config()["working_memory"] * 2**20) // 2


def row_chunks(n_rows: int, row_size: int) -> Iterator[slice]:
    """Cut rows so that a chunk of `row_size` floats a row fits into memory."""
    yield from gen_batches(n_rows, max(1, _budget() // (FLOAT_BYTES * max(1, row_size))))


def pair_blocks(n_pairs: int, n_rows: int, indptr: IntArray | None = None) -> Iterator[slice]:
    """Cut pairs so that the arrays of a block fit into memory.

    Parameters
    ----------
    n_pairs : int
        Number of pairs.
    n_rows : int
        Rows that each pair is asked about.
    indptr : ndarray of shape (n_pairs + 1,), default=None
        Where the entries of each pair begin, if entries are worked on, too.
    """
    ends = np.arange(1, n_pairs + 1) * (FLOAT_BYTES * BLOCK_ARRAYS * max(1, n_rows))
    if indptr is not None:
        ends = ends + ENTRY_BYTES * (indptr[1:] - indptr[0])
    start = 0
    while start < n_pairs:
        spent = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, spent + _budget(), side="right")))
        yield slice(start, stop)
        start = stop
