"""Studies without worker processes, which take seconds to start."""

from contextlib import contextmanager
from unittest import mock

from threadpoolctl import threadpool_limits

from pairmend.study.execution import perform


@contextmanager
def performed_in_process():
    """Perform the batches of local studies in this process."""

    def run(study, jobs, n_workers, waiting):
        for job in jobs:
            with threadpool_limits(limits=1):
                outcomes = list(perform(study, *job))
            yield from outcomes

    with mock.patch("pairmend.study.run.run_in_processes", run):
        yield
