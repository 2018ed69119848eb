"""Long numpy calls in several threads: they let go of the interpreter's lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

BLAS_ALONE = 2**18
"""Multiplications of a matrix product up to which OpenBLAS stays in the thread that calls it.

Larger products in several threads would queue for the same threads of BLAS."""


def thread_count(n_jobs: int | None = None) -> int:
    """Return how many threads to use.

    Parameters
    ----------
    n_jobs : int or None
        As for joblib, but None means as many as matrix products use: all cores, unless
        ``OMP_NUM_THREADS``, ``threadpool_limits`` or a pool of processes says otherwise.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    blas = (library.num_threads for library in _blas_libraries())
    return max(int(effective_n_jobs(None)), *blas, 1)


def in_threads(work: Callable[[Any], None], items: Sequence[Any], n_threads: int) -> None:
    """Do work for each of the items, which must not get in each other's way.

    Parameters
    ----------
    work : callable
        Does the work for an item, without calling this function itself.
    items : sequence
        What there is to do, each worth more than some 50 microseconds.
    n_threads : int
        How many threads work, this one among them.

    Examples
    --------
    >>> squares = [0, 0, 0]
    >>> in_threads(lambda i: squares.__setitem__(i, i * i), range(3), n_threads=2)
    >>> squares
    [0, 1, 4]
    """
    n_threads = max(1, min(n_threads, len(items)))
    # Small items: a share of them for each thread, not one after the other.
    shares = [items[start::n_threads] for start in range(n_threads)]
    others = [_pool(os.getpid(), n_threads).submit(_do_all, work, share) for share in shares[1:]]
    try:
        _do_all(work, shares[0])
    finally:
        errors = [future.exception() for future in others]  # waits for all of them
    for error in errors:
        if error is not None:
            raise error


def _do_all(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    for item in items:
        work(item)


@cache
def _pool(process: int, n_threads: int) -> ThreadPoolExecutor:
    """Return the threads of a process: a fork has none of its parent's."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="pairmend")


@cache
def _blas_libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
