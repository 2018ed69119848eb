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
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, failures, perform
from pairmend.study.plan import versions
from pairmend.study.sources import CachedSet, open_cached_set

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


class Job(NamedTuple):
    """A batch, and the file of the cache that has its set."""

    batch: Batch
    file: Path


def run_in_processes(
    study: Study, jobs: Iterable[Job], n_workers: int
) -> Generator[Outcome, None, None]:
    """Perform batches in worker processes and yield outcomes as they arrive."""
    pool = _Pool(study)
    with ThreadPoolExecutor(n_workers) as executor:
        try:
            yield from _outcomes(
                study, jobs, n_workers, lambda job: executor.submit(pool.perform, job)
            )
        finally:
            pool.close()


def run_on_cluster(
    study: Study, jobs: Iterable[Job], client: Any
) -> Generator[Outcome, None, None]:
    """Perform batches on a Dask cluster and yield outcomes as they arrive."""
    if study.time_limit is not None:
        raise ValueError("a time limit needs local worker processes: leave out --dask or the limit")
    here, sets = versions(), dict[Path, Any]()
    if other := {key: there for key, there in client.run(versions).items() if there != here}:
        raise RuntimeError(
            f"results could differ, as Dask workers have other versions: {other}, here {here}"
        )

    def submit(job: Job) -> Future[Any]:
        if client.status != "running":
            raise ConnectionError(LOST)
        if job.file not in sets or sets[job.file].status == "error":
            sets.clear()
            # As the result of a task, which is repeated if its worker dies.
            content = open_cached_set(job.file, mapped=False)
            sets[job.file] = client.submit(CachedSet._make, content, pure=False)
        return executor.submit(_perform, study, job.batch, sets[job.file])

    executor = client.get_executor(pure=False)
    try:
        # For each thread one batch that runs, and one that waits.
        yield from _outcomes(study, jobs, 2 * sum(client.nthreads().values()), submit)
    finally:
        if client.status == "running":
            executor.shutdown(wait=False)


def _outcomes(
    study: Study, jobs: Iterable[Job], most: int, submit: Callable[[Job], "Future[Any]"]
) -> Iterator[Outcome]:
    """Submit jobs, at most some at a time, and yield their outcomes."""
    killed: list[Job] = []
    # Dask counts the death of a worker against all its batches: they are tried again, alone.
    for source, most_waiting in ((iter(jobs), most), (iter(killed), 1)):
        running: dict[Future[Any], Job] = {}
        while True:
            running |= {submit(job): job for job in islice(source, most_waiting - len(running))}
            if not running:
                break
            # Windows interrupts no endless wait.
            for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    yield from future.result()
                except CancelledError as error:
                    raise ConnectionError(LOST) from error
                except RuntimeError:  # a worker process cannot start
                    raise
                except Exception as error:
                    if type(error).__name__ == "KilledWorker" and job not in killed:
                        killed.append(job)
                    else:
                        yield from failures(job.batch, error)


class _Pool:
    """Worker processes, one for each thread that performs jobs."""

    def __init__(self, study: Study) -> None:
        import cloudpickle  # it also pickles classes that scripts and notebooks define

        folder = [] if study.folder is None else [str(study.folder)]
        self.study = study
        self.setup = pickle.dumps([*folder, *sys.path]) + pickle.dumps(cloudpickle.dumps(study))
        self.workers: dict[int, _Worker] = {}  # by the thread that sends them jobs
        self.lock, self.closed = threading.Lock(), False

    def close(self) -> None:
        """Kill all workers, and start no others."""
        with self.lock:
            self.closed = True
            for worker in self.workers.values():
                worker.end()

    def perform(self, job: Job) -> list[Outcome]:
        """Perform a job in the worker of this thread, which is started and replaced."""
        found: list[Outcome] = []
        batch, n_deaths = job.batch, 0
        while batch.tasks:
            worker = self._worker()
            try:
                worker.send(Job(batch, job.file))
                for _ in batch.tasks:
                    found.append(worker.receive(self.study.time_limit))
                    batch = batch.without({found[-1].task})
            except EOFError:
                code, limit = worker.end(), self.study.time_limit
                cause = f"exit code {code}" if code >= 0 else signal.strsignal(-code)
                error: Exception | None = None
                if self.closed:
                    break
                if not worker.ready and code > 0:
                    raise RuntimeError(f"a worker process could not start: {cause}") from None
                failed = batch._replace(tasks=batch.tasks[:1]) if worker.late else batch
                n_deaths += not worker.late
                if worker.late:
                    error = TimeoutError(f"the time limit of {limit:g} seconds was exceeded")
                elif n_deaths == ATTEMPTS:
                    error = RuntimeError(f"the worker process died {ATTEMPTS} times: {cause}")
                if error:
                    found += failures(failed, error)
                    batch = batch.without(set(failed.tasks))
        return found

    def _worker(self) -> "_Worker":
        with self.lock:
            if self.closed:
                raise EOFError
            worker = self.workers.get(threading.get_ident())
            if worker is None or worker.late or worker.process.poll() is not None:
                worker = self.workers[threading.get_ident()] = _Worker(self.setup)
            return worker


class _Worker:
    """A worker process and its pipes."""

    def __init__(self, setup: bytes) -> None:
        # In a process group of its own: it does not receive Ctrl-C, and its children end with it.
        group: dict[str, Any] = {"process_group": 0}
        if sys.platform == "win32":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self.process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **group
        )
        self.ready = self.late = False
        # Its children may keep the pipe open when it has ended.
        threading.Thread(target=self.end, args=(False,), daemon=True).start()
        self._write(setup)

    def _write(self, message: bytes) -> None:
        with suppress(OSError):  # receive notices that the process is dead
            self.process.stdin.write(message)  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]

    def send(self, job: Job) -> None:
        """Send a job as soon as the worker has started, which no time limit includes."""
        self.ready = self.ready or self.receive(None)
        self._write(pickle.dumps(job))

    def receive(self, time_limit: float | None) -> Any:
        """Return a message; raise an EOFError if the process has ended, as it does if late."""
        timer = threading.Timer(time_limit or 0, self._end_late)
        if time_limit is not None:
            timer.start()
        try:
            message = pickle.load(self.process.stdout)  # type: ignore[arg-type]
        except Exception as error:  # an incomplete message can raise anything
            raise EOFError from error
        finally:
            timer.cancel()
        if isinstance(message, Exception):
            raise message
        return message

    def _end_late(self) -> None:
        self.late = True
        self.end()

    def end(self, at_once: bool = True) -> int:
        """End the process, at once or when it ends, and its children; return the exit code."""
        code = None if at_once else self.process.wait()
        if sys.platform == "win32":
            # There are no groups of processes to kill; taskkill finds the children by their parent.
            command = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            with suppress(OSError):
                subprocess.run(command, check=False, capture_output=True)
            self.process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait() if code is None else code


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
        file, data = None, None
        while True:
            job = jobs.get()
            if job.file != file or data is None:
                file, data = job.file, open_cached_set(job.file)
            for outcome in perform(study, job.batch, data):
                send(outcome)


def _receive(inbox: IO[bytes], jobs: "queue.SimpleQueue[Job]") -> None:
    """Receive jobs from the pipe; end this process when the main process has ended."""
    try:
        while True:
            jobs.put(pickle.load(inbox))
    finally:
        os._exit(1)


_ONE_BATCH = threading.Lock()


def _perform(study: Study, batch: Batch, data: CachedSet) -> list[Outcome]:
    """Perform a batch on a worker of a cluster."""
    # Global random numbers, warning filters and BLAS threads belong to the process, so a process
    # performs one batch at a time, however many threads its worker has.
    with _ONE_BATCH, threadpool_limits(limits=1):
        return list(perform(study, batch, data))
