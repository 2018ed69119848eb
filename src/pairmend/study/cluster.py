"""Running a study on a Dask cluster.

The scheduler keeps the inputs of tasks. If a worker dies, Dask runs its tasks again elsewhere.
Dask counts the death against every task of the worker, so batches that end with `KilledWorker`
are tried once more, alone, before they count as failed.
"""

import queue
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from pairmend.study.definition import Study
from pairmend.study.execution import Batch, Outcome, failures, perform
from pairmend.study.plan import versions
from pairmend.study.sources import CachedSet, Source, open_cached_set
from pairmend.study.workers import Job

REPLY_TIMEOUT = 5.0
"""Seconds to wait for a reply of the scheduler."""
WORKER_TIMEOUT = 300.0
"""Seconds to wait for a worker when the cluster has none."""
JOBS_PER_WORKER = 2
"""Batches submitted for each worker: one that runs, one that waits."""


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Yield the client of a cluster given as a client or as the address of its scheduler."""
    if find_spec("distributed") is None:
        raise ImportError(
            "a study on a cluster needs dask.distributed, which is not installed: "
            "pip install 'pairmend[dask]'"
        )
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
    if study.time_limit is not None:
        raise ValueError("a time limit needs local worker processes: leave out --dask or the limit")
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
        if client.status == "running":
            client.cancel([*run.running, run.sent_study])


class _ClusterRun:
    """The futures of a study on a cluster."""

    def __init__(self, study: Study, client: Any) -> None:
        # Sets are sent as tasks of their own, each to the workers that need it.
        self.study = replace(study, sets=dict.fromkeys(study.sets, Source()))
        self.client = client
        self.running: dict[Any, Job] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._send_study()

    def _send_study(self) -> None:
        """Send the study, and the set with the next job: both may have been lost with a worker."""
        self.sent_study = self._send(self.study)
        self.file: Path | None = None
        self.sent_set: Any = None

    def perform(self, jobs: Iterator[Job], killed: list[Job]) -> Iterator[Outcome]:
        """Perform jobs; append those that end with `KilledWorker` to the list."""
        from distributed import CancelledError, KilledWorker

        self._submit_next(jobs)
        while self.running:
            future = self._next_done()
            job = self.running.pop(future)
            try:
                outcomes = future.result(timeout=REPLY_TIMEOUT)
            except KilledWorker:
                killed.append(job)
                self._send_study()
            except CancelledError as error:
                raise _lost("its scheduler ended or cannot be reached") from error
            except Exception as error:  # a result that cannot be sent, for instance
                if isinstance(error, TimeoutError) and future.status != "error":
                    self._add(future, job)  # lost with its worker, and computed again
                else:
                    yield from failures(self.study, job.batch, error)
            else:
                yield from outcomes
            self._submit_next(jobs)

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
            if job.file != self.file:
                self.file = job.file
                self.sent_set = self._send(open_cached_set(job.file, mapped=False))
            parts = self.sent_study, job.batch, self.sent_set
            self._add(self.client.submit(_perform, *parts, pure=False), job)

    def _add(self, future: Any, job: Job) -> None:
        self.running[future] = job
        future.add_done_callback(self.done.put)

    def _send(self, value: Any) -> Any:
        """Make an object the result of a task, which is repeated if its worker dies."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self.client.submit(_identity, value, pure=False)


def _lost(why: str) -> ConnectionError:
    return ConnectionError(
        f"the Dask cluster was lost: {why}. Finished tasks are stored. Restart the cluster and run "
        "the study again to continue."
    )


_ONE_BATCH = threading.Lock()


def _perform(study: Study, batch: Batch, data: CachedSet) -> list[Outcome]:
    """Perform a batch on a worker."""
    # Global random numbers, warning filters and BLAS threads belong to the process, so a process
    # performs one batch at a time, however many threads its worker has.
    with _ONE_BATCH, threadpool_limits(limits=1):
        return list(perform(study, batch, data))


def _identity(value: Any) -> Any:
    return value
