"""Worker processes: each does one batch at a time and sends every outcome at once.

A worker that dies takes nothing with it but the batch it had, which is done again by another;
a batch that kills its worker three times has failed.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.shelf import OnShelf, open_set
from pairmend.study.tasks import Batch
from pairmend.study.work import Outcome, failures, perform

ATTEMPTS = 3
PATIENCE = 1.0
"""Seconds after which workers that say nothing are looked after."""
READY, DONE = "ready", "done"


@dataclass(frozen=True)
class Job:
    """A batch, and where its set lies on the shelf."""

    batch: Batch
    place: Path


def run_here(study: Study, jobs: Iterable[Job]) -> Generator[Outcome, None, None]:
    """Do batches one after the other in this process."""
    place, data = None, None
    for job in jobs:
        if job.place != place:
            place, data = job.place, open_set(job.place)
        assert data is not None
        # One thread, here as in workers: the number of threads changes the last digits.
        with threadpool_limits(limits=1):
            yield from perform(study, job.batch, data)


def run_in_processes(
    study: Study, jobs: Iterable[Job], n_workers: int
) -> Generator[Outcome, None, None]:
    """Do batches side by side.

    Parameters
    ----------
    study : Study
        Is sent to each worker once.
    jobs : iterable of Job
        Is asked for the next one only when a worker is free.
    n_workers : int
        Number of processes.

    Yields
    ------
    Outcome
        In the order they are there.
    """
    crew = _Crew(study, n_workers)
    try:
        yield from crew.work(iter(jobs))
    finally:
        crew.dismiss()


@dataclass
class _Worker:
    process: Any
    connection: Connection
    job: Job | None = None
    ready: bool = False


class _Crew:
    def __init__(self, study: Study, n_workers: int) -> None:
        # Sets are read from the shelf, so they need not travel with the study.
        self.study = replace(study, sets=dict.fromkeys(study.sets, OnShelf()))
        self.n_workers = n_workers
        self.workers: list[_Worker] = []
        self.again: deque[Job] = deque()
        self.anyone_ready = False
        self.deaths: dict[tuple[str, int, int, str], int] = {}

    def work(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        while self._hand_out(jobs):
            for worker in self._heard():
                yield from self._listen(worker)

    def _hand_out(self, jobs: Iterator[Job]) -> bool:
        """Give every free worker a job, and tell whether any is at work."""
        idle = [worker for worker in self.workers if worker.job is None]
        for _ in range(self.n_workers - len(self.workers) + len(idle)):
            job = self.again.popleft() if self.again else next(jobs, None)
            if job is None:
                break
            worker = idle.pop() if idle else self._engage()
            worker.job = job
            with suppress(OSError):  # if it is dead, its pipe will tell
                worker.connection.send(job)
        return any(worker.job for worker in self.workers)

    def _engage(self) -> _Worker:
        # Spawned, not forked: threads of BLAS and a forked process do not go together.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.study), daemon=True)
        with _deaf_to_interrupts():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def _heard(self) -> list[_Worker]:
        """Wait until workers have something to say, or are dead."""
        spoke = wait([worker.connection for worker in self.workers], timeout=PATIENCE)
        # A dead worker's pipe is at its end, unless a process that it forked still holds it.
        return [w for w in self.workers if w.connection in spoke or not w.process.is_alive()]

    def _listen(self, worker: _Worker) -> Iterator[Outcome]:
        try:
            if not worker.connection.poll():
                raise EOFError
            said = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._bury(worker)
            return
        if said == READY:
            worker.ready = self.anyone_ready = True
        elif said == DONE:
            worker.job = None
        else:
            assert worker.job is not None
            left = worker.job.batch.without({said.task})
            worker.job = Job(left, worker.job.place)
            yield said

    def _bury(self, worker: _Worker) -> Iterator[Outcome]:
        worker.process.join()
        worker.connection.close()
        self.workers.remove(worker)
        if not worker.ready and not self.anyone_ready and worker.process.exitcode > 0:
            raise RuntimeError(
                "a worker process could not start. A script that runs a study with jobs above 1 "
                "must do so below 'if __name__ == \"__main__\":'; or run it with jobs=1."
            )
        if worker.job is None or not worker.job.batch.algorithms:
            return
        batch = worker.job.batch
        key = (batch.set, batch.repeat, batch.fold, batch.fitted_by)
        self.deaths[key] = self.deaths.get(key, 0) + 1
        if self.deaths[key] < ATTEMPTS:
            self.again.append(worker.job)
            return
        how = _cause(worker.process.exitcode)
        yield from failures(
            self.study, batch, RuntimeError(f"the worker process died {ATTEMPTS} times: {how}")
        )

    def dismiss(self) -> None:
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes start that do not hear Ctrl-C: the main process decides what it means."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cause(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        known = {each.value: each.name for each in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")
        return f"{name}, perhaps for want of memory" if name == "SIGKILL" else name
    return f"exit code {exitcode}"


def _serve(connection: Connection, study: Study) -> None:
    """Do what comes down the pipe until it is closed."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    place, data = None, None
    with threadpool_limits(limits=1):
        connection.send(READY)
        while True:
            try:
                job = connection.recv()
            except EOFError:
                return
            if job.place != place:
                place, data = job.place, open_set(job.place)
            assert data is not None
            for outcome in perform(study, job.batch, data):
                connection.send(outcome)
            connection.send(DONE)


def _leave_with_parent() -> None:
    """End this process when the main one is gone, however it went."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
