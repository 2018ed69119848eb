"""Worker processes: the pool starts and restarts them, and enforces time limits and ATTEMPTS.

If a worker dies, only its batch is lost, and another worker repeats it; a batch whose worker dies
three times has failed. A task that takes longer than the time limit of the study has failed, too:
its worker is killed and replaced.

multiprocessing does not fit: its processes import the user's script again, so every script would
need a guard. Pools of concurrent.futures and loky become unusable when one worker dies, and cannot
end a task that hangs.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, failures, perform
from pairmend.study.sources import Source, open_cached_set

ATTEMPTS = 3
POLL_INTERVAL = 1.0
"""Seconds between two checks of workers that send nothing."""

START = """\
import os, pickle, sys
inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
sys.path[:] = pickle.load(inbox)
from pairmend.study.workers import serve
serve(inbox, outbox)
"""
"""Code that a worker process executes. Output of classifiers goes to standard error."""

READY, FITTED, DONE, INTERRUPTED, ENDED = "ready", "fitted", "done", "interrupted", "ended"
"""Messages of a worker beside outcomes and refusals; ENDED stands for the end of its pipe."""
Messages: TypeAlias = "queue.SimpleQueue[tuple[_Worker, Any]]"


class Job(NamedTuple):
    """A batch, and the file of the cache that has its set."""

    batch: Batch
    file: Path


class Refusal(NamedTuple):
    """The message of a worker that cannot load the study."""

    reason: str


def run_in_processes(
    study: Study, jobs: Iterable[Job], n_workers: int
) -> Generator[Outcome, None, None]:
    """Perform batches in worker processes and yield outcomes as they arrive."""
    pool = _Pool(study, n_workers)
    try:
        yield from pool.perform(iter(jobs))
    finally:
        pool.close()


class _Worker:
    """A process, its job, and the deadline of the job."""

    def __init__(self, setup: bytes, messages: Messages) -> None:
        self.job: Job | None = None
        self.ready = False
        self.fitted = False
        self.deadline = float("inf")
        self.died = float("inf")
        # In a process group of its own: it does not receive Ctrl-C, and its children end with it.
        own_group: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if sys.platform == "win32"
            else {"process_group": 0}
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if sys.stderr is not None else subprocess.DEVNULL,
            **own_group,
        )
        # A thread for each worker: one that starts slowly does not delay the others.
        self.thread = threading.Thread(
            target=self._communicate, args=(setup, messages), daemon=True
        )
        self.thread.start()

    def _communicate(self, setup: bytes, messages: Messages) -> None:
        """Send the setup, then put the worker's messages into the queue until the pipe closes."""
        assert self.process.stdout is not None
        self._write(setup)
        with suppress(Exception), self.process.stdout as pipe:  # a message may be incomplete
            while True:
                messages.put((self, pickle.load(pipe)))
        messages.put((self, ENDED))

    def _write(self, message: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # a dead process is replaced elsewhere
            self.process.stdin.write(message)
            self.process.stdin.flush()

    def send_job(self, time_limit: float | None) -> None:
        self.fitted = False
        self.restart_clock(time_limit)
        self._write(pickle.dumps(self.job))

    def restart_clock(self, time_limit: float | None) -> None:
        if time_limit is None or self.job is None or not self.job.batch.algorithms:
            self.deadline = float("inf")
        else:
            self.deadline = time.monotonic() + time_limit

    def kill(self) -> None:
        if sys.platform == "win32":
            # There are no groups of processes to kill; taskkill finds the children by their parent.
            command = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            with suppress(OSError):
                subprocess.run(command, check=False, capture_output=True)
            self.process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.kill()
        self.process.wait()
        self.thread.join(POLL_INTERVAL)
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()


class _Pool:
    """The worker processes of a study."""

    def __init__(self, study: Study, n_workers: int) -> None:
        # Workers read sets from the cache, so they are not sent with the study.
        self.study = replace(study, sets=dict.fromkeys(study.sets, Source()))
        self.setup = _setup_of(self.study)
        self.n_workers = n_workers
        self.workers: list[_Worker] = []
        self.messages: Messages = queue.SimpleQueue()
        self.retries: deque[Job] = deque()
        self.has_started = False
        self.deaths: dict[tuple[str, int, int, str], int] = {}

    def perform(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        while self._assign_jobs(jobs):
            try:
                worker, message = self.messages.get(timeout=self._timeout())
            except queue.Empty:
                yield from self._check_workers()
            else:
                if worker in self.workers:
                    yield from self._receive(worker, message)

    def _assign_jobs(self, jobs: Iterator[Job]) -> bool:
        """Assign a job to every idle worker, and return whether any worker has one."""
        idle = [worker for worker in self.workers if worker.job is None]
        for _ in range(self.n_workers - len(self.workers) + len(idle)):
            job = self.retries.popleft() if self.retries else next(jobs, None)
            if job is None:
                break
            if idle:
                worker = idle.pop()
            else:
                worker = _Worker(self.setup, self.messages)
                self.workers.append(worker)
            worker.job = job
            if worker.ready:
                worker.send_job(self.study.time_limit)
        return any(worker.job for worker in self.workers)

    def _timeout(self) -> float:
        next_deadline = min(worker.deadline for worker in self.workers)
        return max(0.0, min(POLL_INTERVAL, next_deadline - time.monotonic()))

    def _receive(self, worker: _Worker, message: Any) -> Iterator[Outcome]:
        if message == ENDED:
            yield from self._replace_dead(worker)
        elif message == READY:
            worker.ready = self.has_started = True
            worker.send_job(self.study.time_limit)
        elif message == FITTED:
            worker.fitted = True
        elif message == DONE:
            worker.job = None
        elif message == INTERRUPTED:
            raise KeyboardInterrupt
        elif isinstance(message, Refusal):
            raise RuntimeError(f"a worker process cannot load the study: {message.reason}")
        else:
            assert worker.job is not None
            worker.job = worker.job._replace(batch=worker.job.batch.without({message.task}))
            worker.restart_clock(self.study.time_limit)
            yield message

    def _check_workers(self) -> Iterator[Outcome]:
        """Replace workers that take too long, or have died while their pipe is open."""
        now = time.monotonic()
        for worker in list(self.workers):
            if now >= worker.deadline:
                yield from self._replace_late(worker)
            elif worker.process.poll() is not None:
                worker.kill()  # one of its child processes may keep the pipe open
                worker.died = min(worker.died, now)
                if now - worker.died >= POLL_INTERVAL:
                    yield from self._replace_dead(worker)

    def _replace_late(self, worker: _Worker) -> Iterator[Outcome]:
        """Fail the tasks that took too long, and repeat those of the batch not started."""
        self._remove(worker)
        assert worker.job is not None
        names = worker.job.batch.algorithms
        n_late = 1 if worker.fitted else len(names)
        if names[n_late:]:
            rest = replace(worker.job.batch, algorithms=names[n_late:])
            self.retries.append(worker.job._replace(batch=rest))
        late = replace(worker.job.batch, algorithms=names[:n_late])
        limit = f"the time limit of {self.study.time_limit:g} seconds was exceeded"
        yield from failures(self.study, late, TimeoutError(limit))

    def _replace_dead(self, worker: _Worker) -> Iterator[Outcome]:
        self._remove(worker)
        code = worker.process.returncode
        if not self.has_started and code > 0:
            raise RuntimeError(f"a worker process could not start: it ended with {_cause(code)}")
        if worker.job is None or not worker.job.batch.algorithms:
            return
        batch = worker.job.batch
        key = (batch.set, batch.repeat, batch.fold, batch.fitted_by)
        self.deaths[key] = self.deaths.get(key, 0) + 1
        if self.deaths[key] < ATTEMPTS:
            self.retries.append(worker.job)
            return
        error = RuntimeError(f"the worker process died {ATTEMPTS} times: {_cause(code)}")
        yield from failures(self.study, batch, error)

    def _remove(self, worker: _Worker) -> None:
        worker.end()
        self.workers.remove(worker)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.end()


def _setup_of(study: Study) -> bytes:
    """Return the first messages to a worker process."""
    import cloudpickle

    try:
        # cloudpickle also pickles classes that scripts and notebooks define.
        pickled = cloudpickle.dumps(study)
    except Exception as error:  # pickling can raise anything
        raise ValueError(
            f"the study cannot be sent to a worker process: {type(error).__name__}: {error}. "
            "Classifiers and metrics must be objects that can be pickled."
        ) from error
    folder = [] if study.folder is None else [str(study.folder)]
    return pickle.dumps([*folder, *sys.path]) + pickle.dumps(pickled)


def _cause(exitcode: int) -> str:
    if exitcode < 0:
        known = {each.value: each.name for each in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")
        return f"{name}, perhaps because memory ran out" if name == "SIGKILL" else name
    # Windows reports a crash as a large code, which its documentation lists in hexadecimal.
    return f"exit code {exitcode}" if exitcode < 2**16 else f"exit code 0x{exitcode:08X}"


def serve(inbox: IO[bytes], outbox: IO[bytes]) -> None:
    """Perform jobs in a worker process until the pipe is closed."""

    def send(message: Any) -> None:
        pickle.dump(message, outbox)
        outbox.flush()

    try:
        study = pickle.loads(pickle.load(inbox))
    except Exception as error:  # modules can raise anything when they are imported
        send(Refusal(f"{type(error).__name__}: {error}"))
        return
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox, jobs), daemon=True).start()
    try:
        # One BLAS thread in all workers: the number of threads changes the last digits.
        with threadpool_limits(limits=1):
            send(READY)
            _perform_all(study, jobs, send)
    except KeyboardInterrupt:
        send(INTERRUPTED)


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Receive jobs from the pipe; end this process when the main process has ended."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)


def _perform_all(study: Study, jobs: "queue.SimpleQueue[Job]", send: Callable[[Any], None]) -> None:
    file, data = None, None
    while True:
        job = jobs.get()
        if job.file != file or data is None:
            file, data = job.file, open_cached_set(job.file)
        for outcome in perform(study, job.batch, data, fitted=lambda: send(FITTED)):
            send(outcome)
        send(DONE)
