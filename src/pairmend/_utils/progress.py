"""Progress of fit: messages are printed if ``verbose`` is set, or passed to a listener.

Calls that joblib runs report it, too; their results are in order as they are computed.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel

MAX_MESSAGES = 100
"""Largest number of messages about the items of one step, such as the pairs of labels."""

T = TypeVar("T")
Listener = Callable[[str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def messages_to(listener: Listener) -> Iterator[None]:
    """Pass messages to a listener instead of printing them, whatever ``verbose`` is."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_reported(owner: Any) -> bool:
    """Return whether messages of a classifier are printed or passed to a listener."""
    if owner is None:
        return False
    return _listener.get() is not None or bool(getattr(owner, "verbose", False))


def report(owner: Any, message: str | Callable[[], str]) -> None:
    """Report the progress of a classifier, as one line; None as the classifier reports nothing.

    A function that returns a message is called only if the message is printed or listened to.

    Printed as scikit-learn does: joblib prints whole loops only, and logging prints nothing unless
    it is configured.
    """
    if not is_reported(owner):
        return
    listener = _listener.get()
    text = message if isinstance(message, str) else message()
    line = f"[{type(owner).__name__}] {' '.join(text.split())}"
    if listener is None:
        print(line, flush=True)
    else:
        listener(line)


def collect(owner: Any, results: Iterable[T], n_results: int, unit: str, doing: str) -> list[T]:
    """Return results as a list and report their number, with the seconds since the start.

    `results` may be computed while they are iterated over. Of more than MAX_MESSAGES, some numbers
    are left out.
    """
    start = perf_counter()
    collected = []
    for number, result in enumerate(results, start=1):
        collected.append(result)
        if number * MAX_MESSAGES // n_results > (number - 1) * MAX_MESSAGES // n_results:
            seconds = perf_counter() - start
            report(owner, f"({unit} {number} of {n_results}) {doing}, {seconds:.1f} s")
    return collected


def run_calls(
    owner: Any, calls: Iterable[Any], n_calls: int, unit: str, doing: str, *, n_jobs: int | None
) -> list[Any]:
    """Return the results of delayed calls, and report their number for `owner`."""
    if not is_reported(owner):
        return list(Parallel(n_jobs=n_jobs)(calls))
    return collect(owner, iterate_calls(calls, n_jobs=n_jobs), n_calls, unit, doing)


def iterate_calls(calls: Iterable[Any], **options: Any) -> Iterator[Any]:
    """Iterate over the results of delayed calls in order; `options` are those of Parallel.

    A result is returned as soon as it is computed, so not all are in memory at once. Backends
    without generators, such as "multiprocessing", compute all results first.
    """
    try:
        parallel = Parallel(return_as="generator", **options)
    except ValueError:  # the backend has no generators
        parallel = Parallel(**options)
    return iter(parallel(calls))
