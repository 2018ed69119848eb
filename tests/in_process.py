"""Studies without worker processes, which take seconds to start."""

import pytest
from threadpoolctl import threadpool_limits

from pairmend.study.array_cache import open_cached_set
from pairmend.study.execution import perform


@pytest.fixture
def in_process(monkeypatch):
    """Perform the batches of local studies in this process."""

    def run(study, jobs, n_workers):
        for job in jobs:
            with threadpool_limits(limits=1):
                outcomes = list(perform(study, job.batch, open_cached_set(job.folder)))
            yield from outcomes

    monkeypatch.setattr("pairmend.study.run.run_in_processes", run)
