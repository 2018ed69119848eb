"""Time limit on Dask workers; failures of late batches (worker processes: process_pool.py)."""

import queue
import threading
import time
from dataclasses import replace
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from pairmend.study.array_cache import CachedSet
from pairmend.study.definition import Study
from pairmend.study.execution import Outcome, failures, perform
from pairmend.study.tasks import Batch

FITTED, DONE = "fitted", "done"


class Late(NamedTuple):
    """Failed tasks of a batch over the time limit, and the batch of those not started."""

    failures: list[Outcome]
    rest: Batch | None


def late_batch(study: Study, left: Batch, fitted: bool) -> Late:
    """Split the unfinished tasks of a batch into those that took too long and those not started."""
    n_late = 1 if fitted else len(left.algorithms)
    late, rest = left.algorithms[:n_late], left.algorithms[n_late:]
    error = TimeoutError(f"the time limit of {study.time_limit:g} seconds was exceeded")
    failed = list(failures(study, replace(left, algorithms=late), error))
    return Late(failed, replace(left, algorithms=rest) if rest else None)


class Performed(NamedTuple):
    """Outcomes of a batch; if it is late, it still occupies a thread of its process."""

    outcomes: list[Outcome]
    is_late: bool = False
    rest: Batch | None = None


def perform_within_limit(study: Study, batch: Batch, data: CachedSet) -> Performed:
    """Perform a batch in a thread, which is abandoned at the time limit."""
    assert study.time_limit is not None
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    arguments = (study, batch, data, events)
    threading.Thread(target=_perform_in_thread, args=arguments, daemon=True).start()
    outcomes: list[Outcome] = []
    fitted, deadline = False, time.monotonic() + study.time_limit
    while True:
        try:
            event = events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            left = batch.without({outcome.task for outcome in outcomes})
            late = late_batch(study, left, fitted)
            return Performed([*outcomes, *late.failures], True, late.rest)
        if event == DONE:
            return Performed(outcomes)
        if event == FITTED:
            fitted = True
        elif isinstance(event, BaseException):
            raise event
        else:
            outcomes.append(event)
            deadline = time.monotonic() + study.time_limit


def _perform_in_thread(
    study: Study, batch: Batch, data: CachedSet, events: "queue.SimpleQueue[Any]"
) -> None:
    try:
        # In this thread: some libraries store the number of threads per calling thread.
        with threadpool_limits(limits=1):
            for outcome in perform(study, batch, data, fitted=lambda: events.put(FITTED)):
                events.put(outcome)
        events.put(DONE)
    except BaseException as error:  # raised again in the waiting thread
        events.put(error)
