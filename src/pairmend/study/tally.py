"""Losses so far, while a study runs."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from pairmend.study.work import Outcome

if TYPE_CHECKING:
    import pandas as pd


class Tally:
    """Adds up outcomes as they come.

    Parameters
    ----------
    algorithms, criteria : iterable of str
        Names, in the order of the tables.
    n_folds : int
        Outcomes of each algorithm that make a set complete.

    Examples
    --------
    >>> from pairmend.study.tasks import Task
    >>> tally = Tally(["FCM"], ["hamming"], n_folds=1)
    >>> tally.add(Outcome(Task("yeast", 0, 0, "FCM"), 7, "FCM", {"hamming": 0.25}))
    >>> tally.means("yeast")
    [('FCM', [0.25])]
    >>> tally.is_complete("yeast")
    True
    """

    def __init__(self, algorithms: Iterable[str], criteria: Iterable[str], n_folds: int) -> None:
        self.algorithms, self.criteria = list(algorithms), list(criteria)
        self.n_folds = n_folds
        self._values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._seen: dict[str, int] = defaultdict(int)

    def add_earlier(self, rows: "pd.DataFrame") -> None:
        """Add the results of earlier runs, tidy rows of the study's own sets and algorithms."""
        rows = rows[rows.algorithm.isin(self.algorithms) & rows.criterion.isin(self.criteria)]
        for name, algorithm, criterion, value in zip(
            rows.set, rows.algorithm, rows.criterion, rows.value, strict=True
        ):
            self._values[name, algorithm, criterion].append(value)
            self._seen[name] += criterion == self.criteria[0]

    def add(self, outcome: Outcome) -> None:
        """Add an outcome."""
        task = outcome.task
        self._seen[task.set] += 1
        for criterion, value in outcome.values.items():
            self._values[task.set, task.algorithm, criterion].append(value)

    def means(self, name: str) -> list[tuple[str, list[float | None]]]:
        """Return the mean values of each algorithm on a set, None where there are none yet."""
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
        """Tell whether all tasks of a set are done."""
        return self._seen[name] == self.n_folds * len(self.algorithms)
