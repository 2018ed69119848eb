"""How work is run: chunks of rows, threads, attributes that are computed once.

Sizes of chunks follow scikit-learn's ``working_memory``, and none changes a result. While several
threads run, BLAS uses one: its own threads would wait for each other at the end of each product,
which takes a multiple of the time if the processors have other work.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from threadpoolctl import ThreadpoolController

# The C library of Linux returns freed memory beyond a limit to the system, and gets it back page by
# page, which took a quarter of the time of some fits. Freeing an array of 16 MiB, whose pages are
# never used, raises that limit to 32 MiB.
np.empty(2**21)

FLOAT_BYTES = 8
BLOCK_ARRAYS = 16
"""Largest number of arrays of shape (rows, pairs of a block) in memory at once."""


def budget() -> int:
    """Return the bytes for the arrays of a chunk, or of a block: half of the working memory."""
    return int(get_config()["working_memory"] * 2**20) // 2


def batches(n: int, size: int) -> Iterator[slice]:
    """Cut n items into batches of a size, the last one possibly smaller."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def row_chunks(n_rows: int, row_size: int, max_bytes: int | None = None) -> Iterator[slice]:
    """Cut rows so that a chunk of `row_size` floats a row fits into memory."""
    n_bytes = max_bytes or budget()
    return batches(n_rows, max(1, n_bytes // (FLOAT_BYTES * max(1, row_size))))


def pair_blocks(n_labels: int, n_rows: int, pair_size: int = 0) -> Iterator[slice]:
    """Cut the first labels of pairs so that the arrays of a block of pairs fit into memory.

    A block holds all pairs of one or more consecutive first labels. A pair needs `pair_size` floats
    beside those of its rows.
    """
    size = BLOCK_ARRAYS * max(1, n_rows) + pair_size
    ends = np.cumsum(np.arange(n_labels - 1, 0, -1)) * (FLOAT_BYTES * size)
    start = 0
    while start < len(ends):
        spent = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, spent + budget(), side="right")))
        yield slice(start, stop)
        start = stop


WORTHWHILE_THREADS = 1e7
"""Nanoseconds of work from which on more than one thread is faster."""


def thread_count(n_jobs: int | None = None, *, nanoseconds: float = np.inf) -> int:
    """Return the number of threads for work of some length; None means as many as BLAS uses."""
    if nanoseconds < WORTHWHILE_THREADS:
        return 1
    counts = [effective_n_jobs(n_jobs)]
    if n_jobs is None:
        counts += _Limit.before.values() or [library.num_threads or 1 for library in _blas()]
    return int(min(max(counts), 1 + nanoseconds / WORTHWHILE_THREADS))


def in_threads(work: Callable[[Any], None], items: Iterable[Any], n_threads: int) -> None:
    """Call `work` for each item in several threads; after an error no other item is begun."""
    with one_blas_thread():
        if n_threads == 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            for _ in pool.map(work, items):
                pass


def in_blocks(fill: Callable[[slice], None], n_rows: int, block: int, nanoseconds: float) -> None:
    """Call `fill` for blocks of rows, in several threads if the work takes long enough."""
    in_threads(fill, batches(n_rows, block), thread_count(nanoseconds=nanoseconds))


class _Limit:
    """How many calls need BLAS in one thread, and its numbers of threads before the first."""

    lock = RLock()
    n_users = 0
    before: ClassVar[dict[Any, int]] = {}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, for products that are small or few.

    The number of threads is a setting of the whole process. It is restored when the last of the
    threads that are in such a block leaves it.
    """
    with _Limit.lock:
        if not _Limit.n_users:
            counts = {library: library.num_threads or 1 for library in _blas()}
            _Limit.before = {library: count for library, count in counts.items() if count > 1}
            for library in _Limit.before:
                library.set_num_threads(1)
        _Limit.n_users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _leave(_Limit.n_users - 1)


def _leave(n_users: int) -> None:
    """Set the number of calls, and restore the setting after the last."""
    _Limit.n_users = n_users
    if not n_users:
        for library, count in _Limit.before.items():
            library.set_num_threads(count)
        _Limit.before = {}


def _end_in_child() -> None:
    """Restore the setting in a forked process, which has none of its parent's threads."""
    _Limit.lock = RLock()
    _leave(0)


@cache
def _blas() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)


class lazy:
    """Compute an attribute at first access and store it, without a lock.

    On Python 3.11, :class:`functools.cached_property` locks all objects of a class. A process that
    is forked while another thread holds that lock waits for it forever. Without a lock, two
    threads may both compute the value, which is the same.
    """

    def __init__(self, compute: Callable[[Any], Any]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = self.compute(instance)
        instance.__dict__[self.name] = value  # shadows the descriptor; works for frozen classes
        return value
