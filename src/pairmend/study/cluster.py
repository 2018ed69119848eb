"""Work on a Dask cluster: each batch is a task, and so is each set, which travels as arrays.

What tasks need is kept by the scheduler, so a worker that dies costs nothing but time: Dask does
its tasks again elsewhere. It blames a death on every task the worker had, so batches that it has
given up are tried once more, alone, before they have failed. A worker process whose batch takes
longer than the time limit is restarted by its nanny.
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

from pairmend.study.definition import Study
from pairmend.study.environment import versions
from pairmend.study.requirements import require_dask
from pairmend.study.serve import Job
from pairmend.study.shelf import OnShelf, ShelvedSet, open_set
from pairmend.study.tasks import Batch
from pairmend.study.time_limit import Performed, perform_within_limit
from pairmend.study.work import Outcome, failures, perform

PATIENCE = 5.0
"""Seconds in which a scheduler must answer."""
WITHOUT_WORKERS = 300.0
"""Seconds for which a cluster without any worker is waited for."""
AHEAD = 2
"""Batches that are handed out for each worker: one to do, one to follow."""


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Give the client of a cluster.

    Parameters
    ----------
    cluster : str or distributed.Client
        Address of a scheduler, whose client is closed in the end; or a client, which is not.

    Yields
    ------
    distributed.Client
    """
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
        client = Client(cluster, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {cluster!r} within {PATIENCE:.0f} seconds. Is it "
            "running ('dask scheduler' prints its address), and can it be reached from here?"
        ) from error
    with client:
        check_workers(client)
        yield client


def check_workers(client: Any) -> None:
    """Refuse workers on which results could come out otherwise."""
    try:
        found = client.run(versions)
    except ImportError as error:
        raise RuntimeError(
            f"the workers of the Dask cluster cannot do the work: {error}. They need pairmend and "
            "the packages of the classifiers, in the versions that are installed here."
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
    """Do batches on a cluster.

    Parameters
    ----------
    study : Study
        Is sent once.
    jobs : iterable of Job
        Is asked for the next ones only when there are workers for them.
    client : distributed.Client
        Of the cluster. Workers may come and go.

    Yields
    ------
    Outcome
        In the order batches are done.
    """
    if study.time_limit is not None and not all(client.run(_has_nanny).values()):
        raise ValueError(
            "a time limit needs workers with a nanny, which ends and restarts them: start them as "
            "processes, without --no-nanny, or leave out the time limit"
        )
    crew = _Crew(study, client)
    try:
        suspects: list[Job] = []
        yield from crew.work(iter(jobs), suspects)
        for job in suspects:
            guilty: list[Job] = []
            yield from crew.work(iter([job]), guilty)
            if guilty:
                error = RuntimeError("the worker process died each time this was tried")
                yield from failures(crew.study, job.batch, error)
    finally:
        crew.dismiss()


class _Crew:
    def __init__(self, study: Study, client: Any) -> None:
        # Sets travel by themselves, as tasks, each to the workers that need it.
        self.study = replace(study, sets=dict.fromkeys(study.sets, OnShelf()))
        self.client = client
        self.at_work: dict[Any, Job] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Send study and set again: what was sent may have been given up with a worker, too."""
        self.sent_study = self._send(self.study)
        self.place: Path | None = None
        self.sent_set: Any = None

    def work(self, jobs: Iterator[Job], killed: list[Job]) -> Iterator[Outcome]:
        """Do jobs; those that Dask has given up because workers died are put into a list."""
        from distributed import CancelledError, KilledWorker

        self._hand_out(jobs)
        while self.at_work:
            future = self._next_done()
            job = self.at_work.pop(future)
            try:
                performed, worker = future.result(timeout=PATIENCE)
            except TimeoutError as error:
                if future.status == "error":
                    yield from failures(self.study, job.batch, error)
                else:
                    # It was lost with its worker, and is computed again. Until then others have
                    # their turn, whose workers may have to be restarted before that can happen.
                    self._expect(future, job)
            except KilledWorker:
                killed.append(job)
                self._begin_anew()
            except CancelledError as error:
                raise _lost("its scheduler ended, or cannot be reached any more") from error
            except Exception as error:  # a result that cannot be sent, for instance
                yield from failures(self.study, job.batch, error)
            else:
                yield from performed.outcomes
                if performed.is_late:
                    self.client.cancel([future])  # else it is computed again, elsewhere
                    self._restart(worker)
                if performed.rest:
                    self._submit(Job(performed.rest, job.place))
            self._hand_out(jobs)

    def _restart(self, worker: str) -> None:
        """Replace the process of a worker, in which a batch still runs."""
        try:
            self.client.restart_workers([worker], raise_for_error=False)
        except Exception as error:
            if worker in self.client.nthreads():  # else it has left the cluster
                raise _lost(f"the worker {worker} cannot be restarted") from error

    def _next_done(self) -> Any:
        seen = time.monotonic()
        while True:
            try:
                return self.done.get(timeout=PATIENCE)
            except queue.Empty:
                if self.client.status != "running":
                    raise _lost("its scheduler cannot be reached any more") from None
            if self.client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > WITHOUT_WORKERS:
                raise _lost(f"it has had no worker for {WITHOUT_WORKERS:.0f} seconds")

    def _hand_out(self, jobs: Iterator[Job]) -> None:
        wanted = AHEAD * max(1, len(self.client.nthreads())) - len(self.at_work)
        for job in islice(jobs, max(0, wanted)):
            self._submit(job)

    def _submit(self, job: Job) -> None:
        if job.place != self.place:
            self.place, self.sent_set = job.place, self._send(_in_memory(open_set(job.place)))
        future = self.client.submit(_perform, self.sent_study, job.batch, self.sent_set, pure=False)
        self._expect(future, job)

    def _expect(self, future: Any, job: Job) -> None:
        self.at_work[future] = job
        future.add_done_callback(self.done.put)

    def _send(self, thing: Any) -> Any:
        """Make a thing the result of a task, so that it is made again when a worker dies."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self.client.submit(_keep, thing, pure=False)

    def dismiss(self) -> None:
        """Take back what is not done."""
        if self.client.status == "running":
            self.client.cancel([*self.at_work, self.sent_study])


def _lost(why: str) -> ConnectionError:
    return ConnectionError(
        f"the Dask cluster does not work any more: {why}. What was finished is kept; mend the "
        "cluster and start again to go on."
    )


_BY_ITSELF = threading.Lock()


def _perform(study: Study, batch: Batch, data: ShelvedSet) -> tuple[Performed, str]:
    """Perform a batch on a worker; return what came of it and the address of the worker."""
    from distributed import get_worker

    # Random numbers, warnings and threads of BLAS belong to the process as a whole, so that a
    # process does one batch at a time, however many threads its worker has.
    _BY_ITSELF.acquire()
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
        if not is_late:  # a process in which a batch still runs takes no other
            _BY_ITSELF.release()


def _has_nanny(dask_worker: Any) -> bool:
    return dask_worker.nanny is not None


def _keep(thing: Any) -> Any:
    return thing


def _in_memory(data: ShelvedSet) -> ShelvedSet:
    """Return a set that no longer needs its files."""
    X = data.X
    if sparse.issparse(X):
        parts = (np.array(X.data), np.array(X.indices), np.array(X.indptr))
        X = sparse.csr_array(parts, shape=X.shape)
    elif isinstance(X, np.ndarray):
        X = np.array(X)
    return ShelvedSet(X, np.array(data.Y), np.array(data.fold_of))
