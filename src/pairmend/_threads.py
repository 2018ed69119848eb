"""Long numpy calls in several threads: they let go of the interpreter's lock."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
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
    user = object()
    try:
        _SINGLE.enter(user)
        yield
    finally:
        _SINGLE.leave(user)


def in_threads(work: Callable[[Any], None], items: Iterable[Any], n_threads: int) -> None:
    """Do work for each of the items, which must not get in each other's way.

    Whoever is free takes the next item. The thread that calls does all that nobody else takes
    and never waits for a thread to begin, so it cannot wait for ever: not where threads are
    busy, nor in a fork, nor while the interpreter shuts down.

    Parameters
    ----------
    work : callable
        Does the work for an item.
    items : iterable
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
    left = deque(items)
    n_others = min(n_threads, len(left)) - 1

    def take_part() -> None:
        while left:
            try:
                item = left.popleft()
            except IndexError:  # somebody was faster
                return
            work(item)

    others: list[Future[None]] = []
    while len(others) < n_others:
        try:
            others.append(_pool(os.getpid()).submit(take_part))
        except RuntimeError:  # at the interpreter's end, or if the system gives no more threads
            break
    try:
        take_part()
    finally:
        left.clear()  # after an error nobody begins anything
        errors = [other.exception() for other in others if not other.cancel()]
    for error in filter(None, errors):
        raise error


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process, started when needed: a fork has none of its parent's."""
    return ThreadPoolExecutor(64, thread_name_prefix="pairmend")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


class _Single:
    """Who keeps BLAS to one thread, and what it was before."""

    def __init__(self) -> None:
        self.forget_users()
        self.threads_before: int | None = None

    def forget_users(self) -> None:
        self.lock = Lock()
        self.users: set[object] = set()

    def enter(self, user: object) -> None:
        with self.lock:
            if self.threads_before is None:
                threads = _blas_threads()
                self.limit = _blas().limit(limits=1)
                self.threads_before = threads
            self.users.add(user)

    def leave(self, user: object) -> None:
        with self.lock:
            self.users.discard(user)
            if not self.users and self.threads_before is not None:
                self.limit.restore_original_limits()
                self.threads_before = None


_SINGLE = _Single()
if hasattr(os, "register_at_fork"):  # the lock may be held by a thread that the child lacks
    os.register_at_fork(after_in_child=_SINGLE.forget_users)
