"""Long numpy calls in several threads: they let go of the interpreter's lock."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

WORTHWHILE = 3e5
"""Nanoseconds of work from which on more than one thread pays."""
MOST_THREADS = 64
"""Threads that are started, at the most."""


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
    return max(int(effective_n_jobs(None)), _blas_threads())


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

    others = [_Helper(take_part) for _ in range(n_others)]
    if others:
        _CREW.call(others)
    try:
        take_part()
    finally:
        left.clear()  # after an error nobody begins anything
        errors = [other.end() for other in others]
    for error in filter(None, errors):
        raise error


class _Helper:
    """Somebody who takes part in the work, if he comes before it is done."""

    def __init__(self, take_part: Callable[[], None]):
        self.take_part = take_part
        self.begun, self.working = Lock(), Lock()
        self.working.acquire()
        self.error: BaseException | None = None

    def __call__(self) -> None:
        if self.begun.acquire(blocking=False):
            try:
                self.take_part()
            except BaseException as error:
                self.error = error
            finally:
                self.working.release()

    def end(self) -> BaseException | None:
        """Send him away if he has not begun, else wait for him; return what went wrong."""
        if not self.begun.acquire(blocking=False):
            self.working.acquire()
        return self.error


class _Crew:
    """Threads that wait for helpers to run, started when they are first needed.

    A pool of the standard library takes 30 microseconds more to hand work over.
    """

    def __init__(self) -> None:
        self.forget_threads()

    def forget_threads(self) -> None:
        self.waiting: SimpleQueue[_Helper] = SimpleQueue()
        self.lock = Lock()
        self.n_threads = 0

    def call(self, helpers: list[_Helper]) -> None:
        """Have helpers run by whoever is free."""
        with self.lock:
            # At the interpreter's end a new thread would never begin.
            while self.n_threads < min(len(helpers), MOST_THREADS) and not sys.is_finalizing():
                try:
                    Thread(target=self._run, name="pairmend", daemon=True).start()
                except RuntimeError:  # the system gives no more
                    break
                self.n_threads += 1
        for helper in helpers[: self.n_threads]:
            self.waiting.put(helper)

    def _run(self) -> None:
        while True:
            self.waiting.get()()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


_CREW = _Crew()
if hasattr(os, "register_at_fork"):  # a child lacks its parent's threads, and what they held
    os.register_at_fork(after_in_child=_CREW.forget_threads)
