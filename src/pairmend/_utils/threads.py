"""Long numpy calls in several threads, and how many threads are used."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

WORTHWHILE = 3e5
"""Nanoseconds of work from which on more than one thread is faster."""
MAX_THREADS = 64


def thread_count(n_jobs: int | None = None, *, nanoseconds: float = np.inf) -> int:
    """Return the number of threads for work of some length; None means as many as BLAS uses."""
    if nanoseconds < WORTHWHILE:
        return 1
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    return max(int(effective_n_jobs(None)), _blas_threads())


def in_threads(work: Callable[[Any], None], items: Iterable[Any], n_threads: int) -> None:
    """Call `work` for each item in up to `n_threads` threads, the calling thread among them.

    The calling thread processes every item that no other thread has taken and cancels jobs that
    have not begun. So it ends even if all other threads are busy or cannot start.
    """
    queue = deque(items)

    def process_items() -> None:
        while queue:
            try:
                item = queue.popleft()
            except IndexError:  # another thread took the last item
                return
            work(item)

    jobs = _submit(process_items, min(n_threads, len(queue)) - 1)
    try:
        process_items()
    finally:
        queue.clear()  # after an error, no thread begins another item
        errors = [job.exception() for job in jobs if not job.cancel()]
    for error in filter(None, errors):
        raise error


def in_blocks(fill: Callable[[slice], None], n_rows: int, block: int, nanoseconds: float) -> None:
    """Call `fill` for blocks of rows, in several threads if the work takes long enough."""
    if n_rows <= block:
        fill(slice(0, n_rows))
        return
    blocks = (slice(start, min(start + block, n_rows)) for start in range(0, n_rows, block))
    in_threads(fill, blocks, thread_count(nanoseconds=nanoseconds))


def _submit(function: Callable[[], None], n_jobs: int) -> "list[Future[None]]":
    """Start jobs, as many as possible."""
    jobs: list[Future[None]] = []
    for _ in range(n_jobs):
        try:
            jobs.append(_executor().submit(function))
        except RuntimeError:  # the interpreter shuts down, or the system starts no more threads
            _executor.cache_clear()  # the failed job would stay in the queue, with its arrays
            break
    return jobs


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="pairmend")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_executor.cache_clear)
