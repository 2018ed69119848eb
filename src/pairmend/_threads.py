"""Long numpy calls in several threads: they let go of the interpreter's lock."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

WORTHWHILE = 1e6
"""Nanoseconds of work from which on more than one thread pays."""


def thread_count(n_jobs: int | None = None, *, nanoseconds: float = np.inf) -> int:
    """Return how many threads to use.

    Parameters
    ----------
    n_jobs : int or None
        As for joblib, but None means as many as matrix products use: all cores, unless
        ``OMP_NUM_THREADS``, ``threadpool_limits`` or a pool of processes says otherwise.
    nanoseconds : float
        How long the work takes in one thread, roughly; there is only one if that is little.
    """
    if nanoseconds < WORTHWHILE:
        return 1
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    return max(int(effective_n_jobs(None)), _SINGLE.threads_before or _blas_threads(), 1)


@contextmanager
def single_blas() -> Iterator[None]:
    """Keep matrix products in the thread that asks for them.

    Threads of ours take their place: those of BLAS cost more than they gain on products as
    small as these, and far more where other work wants the processor, as they wait by
    spinning. The setting is the process's, so it lasts until all who want it are done.

    Examples
    --------
    >>> import numpy as np
    >>> with single_blas():
    ...     product = np.ones((2, 2)) @ np.ones((2, 2))
    """
    with _SINGLE.lock:
        _SINGLE.users += 1
        if _SINGLE.users == 1:
            _SINGLE.threads_before = _blas_threads()
            _SINGLE.limit = _blas().limit(limits=1)
    try:
        yield
    finally:
        with _SINGLE.lock:
            _SINGLE.users -= 1
            if _SINGLE.users == 0:
                _SINGLE.limit.restore_original_limits()
                _SINGLE.threads_before = None


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
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


@dataclass
class _Single:
    """Who keeps BLAS to one thread, and what it was before."""

    lock: Any = field(default_factory=Lock)
    users: int = 0
    threads_before: int | None = None
    limit: Any = None


_SINGLE = _Single()
