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
LARGE_GRAPH_WARNING = "distributed.admin.large-graph-warning-threshold"


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
            names = ", ".join(
                f"{name} {there.get(name, 'absent')} instead of {here[name]}" for name in other
            )
            raise RuntimeError(
                f"the Dask worker {worker} has {names}: results could differ. Install the same "
                "versions everywhere."
            )


def run_on_cluster(
    study: Study, jobs: Iterable[Job], client: Any
) -> Generator[Outcome, None, None]:
    """Perform batches on a cluster and yield outcomes as they arrive."""
    if study.time_limit is not None:
        raise ValueError("a time limit needs local worker processes: leave out --dask or the limit")
    # Sets are sent as tasks of their own, each to the workers that need it.
    study = replace(study, sets=dict.fromkeys(study.sets, Source()))
    killed: list[Job] = []
    yield from _perform_jobs(study, iter(jobs), client, killed)
    for job in killed:
        again: list[Job] = []
        yield from _perform_jobs(study, iter([job]), client, again)
        if again:
            error = RuntimeError("the worker process died at each attempt")
            yield from failures(study, job.batch, error)


def _perform_jobs(
    study: Study, jobs: Iterator[Job], client: Any, killed: list[Job]
) -> Iterator[Outcome]:
    """Perform jobs; append those that end with `KilledWorker` to the list."""
    import dask

    from distributed import CancelledError, KilledWorker

    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: dict[Any, Job] = {}
    file, data = None, None
    try:
        while True:
            n_free = JOBS_PER_WORKER * max(1, len(client.nthreads())) - len(running)
            for job in islice(jobs, max(0, n_free)):
                if job.file != file:
                    # As the result of a task, which is repeated if its worker dies.
                    file, content = job.file, open_cached_set(job.file, mapped=False)
                    with dask.config.set(
                        {"distributed.admin.large-graph-warning-threshold": "1 PB"}
                    ):
                        data = client.submit(_identity, content, pure=False)
                future = client.submit(_perform, study, job.batch, data, pure=False)
                running[future] = job
                future.add_done_callback(done.put)
            if not running:
                return
            future = _next_done(done, client)
            job = running.pop(future)
            try:
                yield from future.result(timeout=WORKER_TIMEOUT)
            except KilledWorker:
                killed.append(job)
                file = None  # the set may have been lost, too
            except (CancelledError, TimeoutError) as error:
                raise _lost("its scheduler ended or cannot be reached") from error
            except Exception as error:  # a result that cannot be sent, for instance
                yield from failures(study, job.batch, error)
    finally:
        if client.status == "running":
            client.cancel(list(running))


def _next_done(done: "queue.SimpleQueue[Any]", client: Any) -> Any:
    last_seen = time.monotonic()
    while True:
        try:
            return done.get(timeout=REPLY_TIMEOUT)
        except queue.Empty:
            if client.status != "running":
                raise _lost("its scheduler cannot be reached") from None
        if client.nthreads():
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > WORKER_TIMEOUT:
            raise _lost(f"it has had no worker for {WORKER_TIMEOUT:.0f} seconds")


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
