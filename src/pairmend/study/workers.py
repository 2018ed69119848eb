"""Performing batches of tasks: in worker processes of this machine, or on a Dask cluster.

A thread for each worker process starts and replaces it. If a worker dies, only its batch is lost,
and another worker repeats it; a batch whose worker dies three times has failed. A task that takes
longer than the time limit of the study has failed, too: its worker is killed and replaced.

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
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import IO, Any, NamedTuple

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, failures, perform
from pairmend.study.objects import versions
from pairmend.study.sources import Rows

ATTEMPTS = 3
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
LOST = (
    "the Dask cluster was lost. Finished tasks are stored. Restart the cluster and run the study "
    "again to continue."
)


Waiting = Callable[[Batch, float], None]
"""Called while no batch ends, with the one that has run for longest and its seconds."""


class Job(NamedTuple):
    """A batch, and the rows of its set; None for a worker that has them."""

    batch: Batch
    rows: Rows | None


def run_in_processes(
    study: Study, jobs: Iterable[Job], n_workers: int, waiting: Waiting
) -> Generator[Outcome, None, None]:
    """Perform batches in worker processes and yield outcomes as they arrive."""
    import cloudpickle  # it also pickles classes that scripts and notebooks define

    folder = [] if study.folder is None else [str(study.folder)]
    setup = pickle.dumps([*folder, *sys.path]) + pickle.dumps(cloudpickle.dumps(study))
    workers = [_Worker(setup, study.time_limit) for _ in range(n_workers)]
    idle = [*workers]

    def perform_job(job: Job) -> list[Outcome]:
        worker = idle.pop()  # there are as many threads as workers
        try:
            return worker.perform(job)
        finally:
            idle.append(worker)

    with ThreadPoolExecutor(n_workers) as executor:
        try:

            def submit(job: Job) -> Future[Any]:
                return executor.submit(perform_job, job)

            yield from _outcomes(jobs, n_workers, submit, waiting)
        finally:
            for worker in workers:
                worker.close()


def run_on_cluster(
    study: Study, jobs: Iterable[Job], client: Any, waiting: Waiting
) -> Generator[Outcome, None, None]:
    """Perform batches on a Dask cluster and yield outcomes as they arrive."""
    if study.time_limit is not None:
        raise ValueError("a time limit needs local worker processes: leave out --dask or the limit")
    here, there, sets = versions(), client.run(versions), dict[str, Any]()
    if not there:
        raise OSError("the Dask cluster has no workers: start them, and run the study again")
    if other := {key: found for key, found in there.items() if found != here}:
        raise RuntimeError(
            f"results could differ, as Dask workers have other versions: {other}, here {here}"
        )

    def submit(job: Job) -> Future[Any]:
        if client.status != "running":
            raise ConnectionError(LOST)
        name = job.batch.tasks[0].set
        if name not in sets or sets[name].status == "error":
            sets.clear()
            # As the result of a task, which is repeated if its worker dies.
            sets[name] = client.submit(Rows._make, job.rows, pure=False)
        return executor.submit(_perform, study, job.batch, sets[name])

    executor = client.get_executor(pure=False)
    try:
        # For each thread one batch that runs, and one that waits.
        yield from _outcomes(jobs, 2 * sum(client.nthreads().values()), submit, waiting)
    finally:
        if client.status == "running":
            executor.shutdown(wait=False)


def _outcomes(
    jobs: Iterable[Job], most: int, submit: Callable[[Job], "Future[Any]"], waiting: Waiting
) -> Iterator[Outcome]:
    """Submit jobs, at most some at a time, and yield their outcomes."""
    killed: list[Job] = []
    # Dask counts the death of a worker against all its batches: they are tried again, alone.
    for source, most_waiting in ((iter(jobs), most), (iter(killed), 1)):
        running: dict[Future[Any], tuple[Job, float]] = {}
        while True:
            new = islice(source, most_waiting - len(running))
            running |= {submit(job): (job, time.monotonic()) for job in new}
            if not running:
                break
            # Windows interrupts no endless wait.
            done = wait(running, timeout=1, return_when=FIRST_COMPLETED).done
            if not done:
                oldest, started = next(iter(running.values()))
                waiting(oldest.batch, time.monotonic() - started)
            for future in done:
                job, _ = running.pop(future)
                try:
                    yield from future.result()
                except CancelledError as error:
                    raise ConnectionError(LOST) from error
                except RuntimeError:  # a worker process cannot load the study
                    raise
                except Exception as error:
                    if type(error).__name__ == "KilledWorker" and job not in killed:
                        killed.append(job)
                    else:
                        yield from failures(job.batch, error)


class _Worker:
    """A worker process, which is started when it is needed and replaced when it has ended."""

    def __init__(self, setup: bytes, time_limit: float | None) -> None:
        self.setup, self.time_limit = setup, time_limit
        self.process: Any = None
        self.set = ""
        self.lock, self.closed, self.late = threading.Lock(), False, False

    def close(self) -> None:
        """Kill the process, and start no other."""
        with self.lock:
            self.closed = True
            if self.process is not None:
                _end(self.process)

    def perform(self, job: Job) -> list[Outcome]:
        """Perform a job; if the process dies, another one repeats what is left."""
        found: list[Outcome] = []
        batch, n_deaths = job.batch, 0
        while batch.tasks:
            try:
                self._start()
                name = batch.tasks[0].set
                self._send(pickle.dumps(Job(batch, None if name == self.set else job.rows)))
                self.set = name
                for _ in batch.tasks:
                    found.append(self._receive(self.time_limit))
                    batch = batch.without({found[-1].task})
            except EOFError:
                if self.closed:
                    break
                code = _end(self.process)
                cause = f"exit code {code}" if code >= 0 else signal.strsignal(-code)
                failed, error = batch, f"the worker process died {ATTEMPTS} times: {cause}"
                n_deaths += not self.late
                if self.late:
                    failed = batch._replace(tasks=batch.tasks[:1])
                    error = f"the time limit of {self.time_limit:g} seconds was exceeded"
                if self.late or n_deaths == ATTEMPTS:
                    found += failures(failed, (TimeoutError if self.late else RuntimeError)(error))
                    batch = batch.without(set(failed.tasks))
        return found

    def _start(self) -> None:
        """Start a process unless there is one; wait until it is ready, which no limit includes."""
        with self.lock:
            if self.closed:
                raise EOFError
            if self.process is not None and self.process.poll() is None and not self.late:
                return
            # In a process group of its own: it does not receive Ctrl-C, and its children end with
            # it.
            group: dict[str, Any] = {"process_group": 0}
            if sys.platform == "win32":
                group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **group}
            self.process = subprocess.Popen([sys.executable, "-c", START], **pipes)
            self.late, self.set = False, ""
        # Its children may keep the pipe open when it has ended.
        threading.Thread(target=_end, args=(self.process, False), daemon=True).start()
        self._send(self.setup)
        self._receive(None)

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # _receive notices that the process is dead
            self.process.stdin.write(message)
            self.process.stdin.flush()

    def _receive(self, time_limit: float | None) -> Any:
        """Return a message; raise an EOFError if the process has ended, as it does if late."""
        timer = threading.Timer(time_limit or 0, self._end_late)
        if time_limit is not None:
            timer.start()
        try:
            message = pickle.load(self.process.stdout)
        except Exception as error:  # an incomplete message can raise anything
            raise EOFError from error
        finally:
            timer.cancel()
        if isinstance(message, Exception):
            raise message
        return message

    def _end_late(self) -> None:
        self.late = True
        _end(self.process)


def _end(process: "subprocess.Popen[bytes]", at_once: bool = True) -> int:
    """End a process, at once or when it ends, and its children; return the exit code."""
    code = None if at_once else process.wait()
    if sys.platform == "win32":
        # There are no groups of processes to kill; taskkill finds the children by their parent.
        command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        with suppress(OSError):
            subprocess.run(command, check=False, capture_output=True)
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait() if code is None else code


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
    # One BLAS thread in all workers: the number of threads changes the last digits.
    with threadpool_limits(limits=1):
        send(True)
        rows: Any = None
        while True:
            batch, new = jobs.get()
            rows = rows if new is None else new
            for outcome in perform(study, batch, rows):
                send(outcome)


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Receive jobs from the pipe; end this process when the main process has ended."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)


_ONE_BATCH = threading.Lock()


def _perform(study: Study, batch: Batch, rows: Rows) -> list[Outcome]:
    """Perform a batch on a worker of a cluster."""
    # Global random numbers, warning filters and BLAS threads belong to the process, so a process
    # performs one batch at a time, however many threads its worker has.
    with _ONE_BATCH, threadpool_limits(limits=1):
        return list(perform(study, batch, rows))
