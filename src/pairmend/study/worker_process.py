"""Main function of a worker process: receives jobs through a pipe and sends outcomes back."""

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

from pairmend.study.array_cache import open_cached_set
from pairmend.study.definition import Study
from pairmend.study.execution import perform
from pairmend.study.tasks import Batch


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
    """The first message to a worker process: folder to import from, and the pickled study."""

    folder: str | None
    study: bytes


class Job(NamedTuple):
    """A batch, and the folder that has the arrays of its set."""

    batch: Batch
    folder: Path


def serve(inbox: IO[bytes], outbox: IO[bytes]) -> None:
    """Perform jobs until the pipe is closed."""

    def send(message: Any) -> None:
        pickle.dump(message, outbox)
        outbox.flush()

    setup = pickle.load(inbox)
    if setup.folder is not None:
        sys.path.insert(0, setup.folder)
    try:
        study = pickle.loads(setup.study)
    except Exception as error:  # modules can raise anything when they are imported
        send(Refusal(f"{type(error).__name__}: {error}"))
        return
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox, jobs), daemon=True).start()
    try:
        # One BLAS thread in all workers: the number of threads changes the last digits.
        with threadpool_limits(limits=1):
            send(Signal.READY)
            _perform_all(study, jobs, send)
    except KeyboardInterrupt:
        send(Signal.INTERRUPTED)


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Receive jobs from the pipe; end this process when the main process has ended."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)


def _perform_all(study: Study, jobs: "queue.SimpleQueue[Job]", send: Callable[[Any], None]) -> None:
    folder, data = None, None
    while True:
        job = jobs.get()
        if job.folder != folder:
            folder, data = job.folder, open_cached_set(job.folder)
        assert data is not None
        for outcome in perform(study, job.batch, data, fitted=lambda: send(Signal.FITTED)):
            send(outcome)
        send(Signal.DONE)
