"""Failed tasks of a study, grouped over folds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairmend.study.definition import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failure:
    """Tasks of a set and an algorithm that failed for the same reason."""

    set: str
    algorithm: str
    error: str
    n_tasks: int


def failures_of(study: Study, tasks: "pd.DataFrame") -> list[Failure]:
    """Return the failures of a study's sets and algorithms, grouped by error."""
    failed = tasks[
        (tasks.status == "failed")
        & tasks.set.isin(list(study.sets))
        & tasks.algorithm.isin(list(study.algorithms))
    ]
    grouped = failed.groupby(["set", "algorithm", "error"], sort=False).size()
    return [
        Failure(name, algorithm, error, int(n_tasks))
        for (name, algorithm, error), n_tasks in grouped.to_dict().items()
    ]
