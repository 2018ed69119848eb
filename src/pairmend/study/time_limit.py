"""What becomes of a batch that takes longer than the time limit of its study."""

import queue
import threading
import time
from dataclasses import replace
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.shelf import ShelvedSet
from pairmend.study.tasks import Batch
from pairmend.study.work import Outcome, failures, perform

FITTED, DONE = "fitted", "done"


class Late(NamedTuple):
    """A batch over the time limit.

    Attributes
    ----------
    failures : list of Outcome
        Of the tasks that took too long.
    rest : Batch or None
        Tasks that are still to be done.
    """

    failures: list[Outcome]
    rest: Batch | None


def late_batch(study: Study, left: Batch, fitted: bool) -> Late:
    """Tell the tasks that took too long from those that did not have their turn.

    Parameters
    ----------
    study : Study
        Has the limit.
    left : Batch
        The tasks that are not done.
    fitted : bool
        Whether the fit, which the tasks of the batch share, is finished.

    Returns
    -------
    Late
    """
    n_late = 1 if fitted else len(left.algorithms)
    late, rest = left.algorithms[:n_late], left.algorithms[n_late:]
    error = TimeoutError(f"the time limit of {study.time_limit:g} seconds is over")
    failed = list(failures(study, replace(left, algorithms=late), error))
    return Late(failed, replace(left, algorithms=rest) if rest else None)


class Performed(NamedTuple):
    """What came of a batch in a process that cannot be killed from inside.

    Attributes
    ----------
    outcomes : list of Outcome
    is_late : bool
        Whether the batch took too long, and still occupies a thread of the process.
    rest : Batch or None
        Tasks that are still to be done, elsewhere.
    """

    outcomes: list[Outcome]
    is_late: bool = False
    rest: Batch | None = None


def perform_within_limit(study: Study, batch: Batch, data: ShelvedSet) -> Performed:
    """Perform a batch in a thread, which is given up when the time limit is over.

    Parameters
    ----------
    study : Study
        Has the limit.
    batch : Batch
        What to do.
    data : ShelvedSet
        The set.

    Returns
    -------
    Performed
    """
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
    study: Study, batch: Batch, data: ShelvedSet, events: "queue.SimpleQueue[Any]"
) -> None:
    try:
        # Here: some libraries keep the number of threads for each thread that calls them.
        with threadpool_limits(limits=1):
            for outcome in perform(study, batch, data, fitted=lambda: events.put(FITTED)):
                events.put(outcome)
        events.put(DONE)
    except BaseException as error:  # is raised again in the thread that waits
        events.put(error)
