"""Running a study on a Dask cluster.

The scheduler keeps the inputs of tasks. If a worker dies, Dask runs its tasks again elsewhere.
Dask counts the death against every task of the worker, so batches that end with `KilledWorker`
are tried once more, alone, before they count as failed. A worker process whose batch takes longer
than the time limit is restarted by its nanny.
"""

import queue
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from pairmend.study.array_cache import CachedSet, CachedSource, open_cached_set
from pairmend.study.definition import Study
from pairmend.study.environment import versions
from pairmend.study.execution import Outcome, failures, perform
from pairmend.study.requirements import require_dask
from pairmend.study.tasks import Batch
from pairmend.study.time_limit import Performed, perform_within_limit
from pairmend.study.worker_process import Job

REPLY_TIMEOUT = 5.0
"""Seconds to wait for a reply of the scheduler."""
WORKER_TIMEOUT = 300.0
"""Seconds to wait for a worker when the cluster has none."""
LOCK_TIMEOUT = 5.0
"""Seconds after which a batch that waits for another one finds out whether that one is late."""
JOBS_PER_WORKER = 2
"""Batches submitted for each worker: one that runs, one that waits."""


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Yield the client of a cluster given as a client or as the address of its scheduler."""
    require_dask()
    from distributed import Client

    if isinstance(cluster, Client):
        check_workers(cluster)
        yield cluster
        return
    if not isinstance(cluster, str):
        raise TypeError(
            f"dask must be the address of a scheduler or a distributed.Client, got {cluster!r}"
        )
    try:
        client = Client(cluster, timeout=REPLY_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler was found at {cluster!r} within {REPLY_TIMEOUT:.0f} seconds. Check "
            "that it runs ('dask scheduler' prints its address) and that its port is open."
        ) from error
    with client:
        check_workers(client)
        yield client


def check_workers(client: Any) -> None:
    """Refuse workers with other versions of packages, where results could differ."""
    try:
        found = client.run(versions)
    except ImportError as error:
        raise RuntimeError(
            f"the workers of the Dask cluster lack a package: {error}. Install pairmend and the "
            "packages of the classifiers there, in the versions that are installed here."
        ) from error
    here = versions()
    for worker, there in found.items():
        if other := [name for name in here if there.get(name) != here[name]]:
            raise RuntimeError(
                f"the Dask worker {worker} has "
                + ", ".join(f"{name} {there.get(name, 'absent')}" for name in other)
                + ", but here there is "
                + ", ".join(f"{name} {here[name]}" for name in other)
                + ": results could differ. Install the same versions everywhere."
            )


def run_on_cluster(
    study: Study, jobs: Iterable[Job], client: Any
) -> Generator[Outcome, None, None]:
    """Perform batches on a cluster and yield outcomes as they arrive."""
    if study.time_limit is not None and not all(client.run(_has_nanny).values()):
        raise ValueError(
            "a time limit needs workers with a nanny, which restarts them: start them as "
            "processes, without --no-nanny, or leave out the time limit"
        )
    run = _ClusterRun(study, client)
    try:
        killed: list[Job] = []
        yield from run.perform(iter(jobs), killed)
        for job in killed:
            killed_again: list[Job] = []
            yield from run.perform(iter([job]), killed_again)
            if killed_again:
                error = RuntimeError("the worker process died at each attempt")
                yield from failures(run.study, job.batch, error)
    finally:
        run.cancel()


class _ClusterRun:
    """The futures of a study on a cluster."""

    def __init__(self, study: Study, client: Any) -> None:
        # Sets are sent as tasks of their own, each to the workers that need it.
        self.study = replace(study, sets=dict.fromkeys(study.sets, CachedSource()))
        self.client = client
        self.running: dict[Any, Job] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._send_study()

    def _send_study(self) -> None:
        """Send the study, and the set with the next job: both may have been lost with a worker."""
        self.sent_study = self._send(self.study)
        self.folder: Path | None = None
        self.sent_set: Any = None

    def perform(self, jobs: Iterator[Job], killed: list[Job]) -> Iterator[Outcome]:
        """Perform jobs; append those that end with `KilledWorker` to the list."""
        from distributed import CancelledError, KilledWorker

        self._submit_next(jobs)
        while self.running:
            future = self._next_done()
            job = self.running.pop(future)
            try:
                performed, worker = future.result(timeout=REPLY_TIMEOUT)
            except TimeoutError as error:
                if future.status == "error":
                    yield from failures(self.study, job.batch, error)
                else:
                    # It was lost with its worker and is computed again. Continue with the others:
                    # their workers may have to be restarted first.
                    self._add(future, job)
            except KilledWorker:
                killed.append(job)
                self._send_study()
            except CancelledError as error:
                raise _lost("its scheduler ended or cannot be reached") from error
            except Exception as error:  # a result that cannot be sent, for instance
                yield from failures(self.study, job.batch, error)
            else:
                yield from performed.outcomes
                if performed.is_late:
                    self.client.cancel([future])  # else it is computed again, elsewhere
                    self._restart(worker)
                if performed.rest:
                    self._submit(Job(performed.rest, job.folder))
            self._submit_next(jobs)

    def _restart(self, worker: str) -> None:
        """Replace the process of a worker, in which a batch still runs."""
        try:
            self.client.restart_workers([worker], raise_for_error=False)
        except Exception as error:
            if worker in self.client.nthreads():  # else it has left the cluster
                raise _lost(f"the worker {worker} cannot be restarted") from error

    def _next_done(self) -> Any:
        last_seen = time.monotonic()
        while True:
            try:
                return self.done.get(timeout=REPLY_TIMEOUT)
            except queue.Empty:
                if self.client.status != "running":
                    raise _lost("its scheduler cannot be reached") from None
            if self.client.nthreads():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > WORKER_TIMEOUT:
                raise _lost(f"it has had no worker for {WORKER_TIMEOUT:.0f} seconds")

    def _submit_next(self, jobs: Iterator[Job]) -> None:
        n_jobs = JOBS_PER_WORKER * max(1, len(self.client.nthreads())) - len(self.running)
        for job in islice(jobs, max(0, n_jobs)):
            self._submit(job)

    def _submit(self, job: Job) -> None:
        if job.folder != self.folder:
            self.folder = job.folder
            self.sent_set = self._send(_in_memory(open_cached_set(job.folder)))
        future = self.client.submit(_perform, self.sent_study, job.batch, self.sent_set, pure=False)
        self._add(future, job)

    def _add(self, future: Any, job: Job) -> None:
        self.running[future] = job
        future.add_done_callback(self.done.put)

    def _send(self, value: Any) -> Any:
        """Make an object the result of a task, which is repeated if its worker dies."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self.client.submit(_identity, value, pure=False)

    def cancel(self) -> None:
        """Cancel the futures that are not done."""
        if self.client.status == "running":
            self.client.cancel([*self.running, self.sent_study])


def _lost(why: str) -> ConnectionError:
    return ConnectionError(
        f"the Dask cluster was lost: {why}. Finished tasks are stored. Restart the cluster and run "
        "the study again to continue."
    )


_ONE_BATCH = threading.Lock()
_HAS_LATE_BATCH = threading.Event()


def _perform(study: Study, batch: Batch, data: CachedSet) -> tuple[Performed, str]:
    """Perform a batch on a worker; return its outcomes and the address of the worker."""
    from distributed import get_worker

    # Global random numbers, warning filters and BLAS threads belong to the process, so a process
    # performs one batch at a time, however many threads its worker has.
    while not _ONE_BATCH.acquire(timeout=LOCK_TIMEOUT):
        if _HAS_LATE_BATCH.is_set():  # its result was lost, or the process was not restarted
            return Performed([], is_late=True, rest=batch), get_worker().address
    is_late = False
    try:
        if study.time_limit is not None:
            performed = perform_within_limit(study, batch, data)
            is_late = performed.is_late
        else:
            with threadpool_limits(limits=1):
                performed = Performed(list(perform(study, batch, data)))
        return performed, get_worker().address
    finally:
        if is_late:  # the batch still runs in a thread of this process
            _HAS_LATE_BATCH.set()
        else:
            _ONE_BATCH.release()


def _has_nanny(dask_worker: Any) -> bool:
    return dask_worker.nanny is not None


def _identity(value: Any) -> Any:
    return value


def _in_memory(data: CachedSet) -> CachedSet:
    """Return a copy of a set whose arrays are not mapped from files."""
    X = data.X
    if sparse.issparse(X):
        parts = (np.array(X.data), np.array(X.indices), np.array(X.indptr))
        X = sparse.csr_array(parts, shape=X.shape)
    elif isinstance(X, np.ndarray):
        X = np.array(X)
    return CachedSet(X, np.array(data.Y), np.array(data.fold_of))
