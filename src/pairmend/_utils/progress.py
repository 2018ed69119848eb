"""Progress of fit: messages are printed if ``verbose`` is set, or passed to a listener.

Calls that joblib runs report it, too; their results are in order as they are computed.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from sklearn.utils.parallel import Parallel

MAX_MESSAGES = 100
"""Largest number of messages about the items of one step, such as the pairs of labels."""

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


def report(owner: Any, message: str | Callable[[], str]) -> None:
    """Report the progress of a classifier, as one line; None as the classifier reports nothing.

    A function that returns a message is called only if the message is printed or listened to.

    Printed as scikit-learn does: joblib prints whole loops only, and logging prints nothing unless
    it is configured.
    """
    listener = _listener.get()
    if owner is None or not (listener or getattr(owner, "verbose", False)):
        return
    text = message if isinstance(message, str) else message()
    line = f"[{type(owner).__name__}] {' '.join(text.split())}"
    if listener is None:
        print(line, flush=True)
    else:
        listener(line)


def run_calls(
    owner: Any, calls: Iterable[Any], n_calls: int, unit: str, doing: str, *, n_jobs: int | None
) -> list[Any]:
    """Return the results of delayed calls, and report their number and the seconds since the start.

    Of more than MAX_MESSAGES, some numbers are left out.
    """
    start = perf_counter()
    results = []
    for number, result in enumerate(iterate_calls(calls, n_jobs=n_jobs), start=1):
        results.append(result)
        now, before = (n * MAX_MESSAGES // max(1, n_calls) for n in (number, number - 1))
        if now > before:
            seconds = perf_counter() - start
            report(owner, f"({unit} {number} of {n_calls}) {doing}, {seconds:.1f} s")
    return results


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
