"""Cutting rows into chunks and pairs into blocks, so that memory stays bounded.

Neither size changes a result. Both follow scikit-learn's ``working_memory`` setting.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import numpy as np
from sklearn import get_config

FLOAT_BYTES = 8
BLOCK_ARRAYS = 16
"""Arrays of the size (rows x pairs of a block) that are alive at once, at the most."""


def _budget() -> int:
    """Bytes that chunks, and blocks within a chunk, may take: half of the memory each."""
    return int(get_config()["working_memory"] * 2**20) // 2


@cache
def keep_freed_memory() -> None:
    """Let the process keep memory that was freed, 128 MiB or more, for what comes next.

    The GNU C library maps large blocks one by one, or gives the end of its heap back as soon as
    it is free, and each new block comes page by page: a quarter of the time where arrays have a few
    megabytes. Elsewhere, and where the environment tells the library what to do, this does
    nothing.
    """
    told = [name for name in os.environ if name.startswith("MALLOC_")]
    if told or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    # What a function of the C library is called with: see mallopt(3).
    trim_threshold, mmap_threshold = -1, -3
    with suppress(OSError, AttributeError, TypeError):  # another C library
        tell = ctypes.CDLL(None).mallopt
        tell(mmap_threshold, 2**25)
        tell(trim_threshold, 2**27)


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
