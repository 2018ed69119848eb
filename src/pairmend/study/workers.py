"""Worker processes: a thread for each starts and replaces it, and enforces time limits.

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
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

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
READY = "ready"


class Job(NamedTuple):
    """A batch, and the file of the cache that has its set."""

    batch: Batch
    file: Path


def run_in_processes(
    study: Study, jobs: Iterable[Job], n_workers: int
) -> Generator[Outcome, None, None]:
    """Perform batches in worker processes and yield outcomes as they arrive."""
    # Workers read sets from the cache, so they are not sent with the study.
    study = replace(study, sets=dict.fromkeys(study.sets, Source()))
    setup, found = _setup_of(study), queue.SimpleQueue[Any]()
    source, lock = iter(jobs), threading.Lock()

    def next_job() -> Job | None:
        with lock:
            return next(source, None)

    runners = [_Runner(study, setup, next_job, found) for _ in range(n_workers)]
    try:
        for runner in runners:
            runner.start()
        n_running = n_workers
        while n_running:
            with suppress(queue.Empty):
                message = found.get(timeout=POLL_INTERVAL)  # Windows interrupts no endless wait
                if message is None:
                    n_running -= 1
                elif isinstance(message, BaseException):
                    raise message
                else:
                    yield message
    finally:
        for runner in runners:
            runner.stop()
        for runner in runners:
            if runner.is_alive():
                runner.join()


class _Runner(threading.Thread):
    """Performs jobs one after the other in a worker process, which it starts and replaces."""

    def __init__(self, study: Study, setup: bytes, next_job: Any, found: Any) -> None:
        super().__init__(daemon=True)
        self.study, self.setup, self.next_job, self.found = study, setup, next_job, found
        self.worker: _Worker | None = None
        self.stopped, self.lock = False, threading.Lock()

    def run(self) -> None:
        """Put outcomes into the queue, or an error; None at the end."""
        try:
            while not self.stopped and (job := self.next_job()):
                for outcome in self._perform(job):
                    self.found.put(outcome)
        except BaseException as error:
            self.found.put(error)
        self._end_worker()
        self.found.put(None)

    def stop(self) -> None:
        """Kill the worker, and start no other."""
        with self.lock:
            self.stopped = True
            if self.worker:
                self.worker.kill()

    def _perform(self, job: Job) -> Iterator[Outcome]:
        batch, n_deaths = job.batch, 0
        while batch.algorithms:
            with self.lock:
                if self.stopped:
                    return
                self.worker = self.worker or _Worker(self.setup)
            try:
                self.worker.send(Job(batch, job.file))
                for _ in batch.algorithms:
                    outcome = self.worker.receive(self.study.time_limit)
                    batch = batch.without({outcome.task})
                    yield outcome
            except TimeoutError as late:
                self._end_worker()
                first, *others = batch.algorithms
                yield from failures(self.study, replace(batch, algorithms=(first,)), late)
                batch = replace(batch, algorithms=tuple(others))
            except EOFError:
                cause, n_deaths = self._end_worker(), n_deaths + 1
                if n_deaths == ATTEMPTS:
                    error = RuntimeError(f"the worker process died {ATTEMPTS} times: {cause}")
                    yield from failures(self.study, batch, error)
                    return

    def _end_worker(self) -> str:
        """End the worker, if there is one, and return how it ended."""
        with self.lock:
            worker, self.worker = self.worker, None
        if worker is None:
            return ""
        code = worker.end()
        if not worker.ready and code > 0 and not self.stopped:
            raise RuntimeError(f"a worker process could not start: it ended with {_cause(code)}")
        return _cause(code)


class _Worker:
    """A worker process and the messages that it has sent."""

    def __init__(self, setup: bytes) -> None:
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
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.ready = False
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        self._write(setup)

    def _read(self, pipe: IO[bytes]) -> None:
        with suppress(Exception), pipe:  # a message may be incomplete
            while True:
                self.messages.put(pickle.load(pipe))
        self.messages.put(EOFError())

    def _write(self, message: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # receive notices that the process is dead
            self.process.stdin.write(message)
            self.process.stdin.flush()

    def send(self, job: Job) -> None:
        """Send a job as soon as the worker has started, which no time limit includes."""
        self.ready = self.ready or self.receive(None) == READY
        self._write(pickle.dumps(job))

    def receive(self, time_limit: float | None) -> Any:
        """Return a message; raise EOFError if the process has ended, TimeoutError if it is late."""
        end = time.monotonic() + (time_limit or float("inf"))
        while True:
            wait = max(0.0, min(POLL_INTERVAL, end - time.monotonic()))
            try:
                message = self.messages.get(timeout=wait)
            except queue.Empty:
                if self.process.poll() is not None:
                    raise EOFError from None  # one of its child processes keeps the pipe open
                if time.monotonic() >= end:
                    raise TimeoutError(
                        f"the time limit of {time_limit:g} seconds was exceeded"
                    ) from None
            else:
                if isinstance(message, BaseException):
                    raise message
                return message

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

    def end(self) -> int:
        """Kill the process and its children, and return its exit code."""
        self.kill()
        code = self.process.wait()
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        return code


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
        reason = f"a worker process cannot load the study: {type(error).__name__}: {error}"
        send(RuntimeError(reason))
        return
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox, jobs), daemon=True).start()
    try:
        # One BLAS thread in all workers: the number of threads changes the last digits.
        with threadpool_limits(limits=1):
            send(READY)
            file, data = None, None
            while True:
                job = jobs.get()
                if job.file != file or data is None:
                    file, data = job.file, open_cached_set(job.file)
                for outcome in perform(study, job.batch, data):
                    send(outcome)
    except KeyboardInterrupt:
        send(KeyboardInterrupt())


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Receive jobs from the pipe; end this process when the main process has ended."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)
