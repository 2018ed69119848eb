"""Mean losses of the finished tasks while a study runs."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from pairmend.study.execution import Outcome

if TYPE_CHECKING:
    import pandas as pd


class RunningMeans:
    """Mean values of metrics by set and algorithm, updated with each outcome."""

    def __init__(self, algorithms: Iterable[str], criteria: Iterable[str], n_folds: int) -> None:
        self.algorithms, self.criteria = list(algorithms), list(criteria)
        self.n_folds = n_folds
        self._values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._n_outcomes: dict[str, int] = defaultdict(int)

    def add_stored(self, rows: "pd.DataFrame") -> None:
        """Add tidy rows of earlier runs."""
        rows = rows[rows.algorithm.isin(self.algorithms) & rows.criterion.isin(self.criteria)]
        for name, algorithm, criterion, value in zip(
            rows.set, rows.algorithm, rows.criterion, rows.value, strict=True
        ):
            self._values[name, algorithm, criterion].append(value)
            self._n_outcomes[name] += criterion == self.criteria[0]

    def add(self, outcome: Outcome) -> None:
        """Add an outcome."""
        task = outcome.task
        self._n_outcomes[task.set] += 1
        for criterion, value in outcome.values.items():
            self._values[task.set, task.algorithm, criterion].append(value)

    def means(self, name: str) -> list[tuple[str, list[float | None]]]:
        """Return the mean values of each algorithm on a set, None without any outcome."""
        return [
            (
                algorithm,
                [
                    fmean(values) if (values := self._values.get((name, algorithm, c))) else None
                    for c in self.criteria
                ],
            )
            for algorithm in self.algorithms
        ]

    def is_complete(self, name: str) -> bool:
        """Return whether all tasks of a set are done."""
        return self._n_outcomes[name] == self.n_folds * len(self.algorithms)
