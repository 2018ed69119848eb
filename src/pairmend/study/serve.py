"""What a worker process does: perform jobs that come through a pipe, send what comes of them."""

import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import IO, Any, NamedTuple

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.shelf import open_set
from pairmend.study.tasks import Batch
from pairmend.study.work import perform


class Signal(Enum):
    """Messages of a worker process beside outcomes."""

    READY = "ready"
    FITTED = "fitted"
    DONE = "done"
    INTERRUPTED = "interrupted"


class Refusal(NamedTuple):
    """The message of a worker process that cannot load the study."""

    reason: str


class Setup(NamedTuple):
    """The first message to a worker process.

    Attributes
    ----------
    folder : str or None
        Folder of the study file, from which modules can be imported.
    study : bytes
        The study, pickled: it can be loaded only when the folder can be imported from.
    """

    folder: str | None
    study: bytes


class Job(NamedTuple):
    """A batch, and the folder that has the arrays of its set."""

    batch: Batch
    place: Path


def serve(inbox: IO[bytes], outbox: IO[bytes]) -> None:
    """Perform jobs until the pipe is closed.

    Parameters
    ----------
    inbox, outbox : binary files
        Pipes from and to the main process.
    """

    def send(message: Any) -> None:
        pickle.dump(message, outbox)
        outbox.flush()

    setup = pickle.load(inbox)
    if setup.folder is not None:
        sys.path.insert(0, setup.folder)
    try:
        study = pickle.loads(setup.study)
    except Exception as error:  # whatever a module does when it is imported
        send(Refusal(f"{type(error).__name__}: {error}"))
        return
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox, jobs), daemon=True).start()
    try:
        # One thread of BLAS in all workers: the number of threads changes the last digits.
        with threadpool_limits(limits=1):
            send(Signal.READY)
            _perform_all(study, jobs, send)
    except KeyboardInterrupt:
        send(Signal.INTERRUPTED)


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Take jobs from the pipe; end this process when the main one is gone, in whatever way."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)


def _perform_all(study: Study, jobs: "queue.SimpleQueue[Job]", send: Callable[[Any], None]) -> None:
    place, data = None, None
    while True:
        job = jobs.get()
        if job.place != place:
            place, data = job.place, open_set(job.place)
        assert data is not None
        for outcome in perform(study, job.batch, data, fitted=lambda: send(Signal.FITTED)):
            send(outcome)
        send(Signal.DONE)
