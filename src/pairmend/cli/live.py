"""Progress of a running study: live on a terminal, in lines elsewhere."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import Any

from pairmend.cli.display import HAS_RICH, is_quiet
from pairmend.study import Outcome, Step, Study, read_study

SECONDS_BETWEEN_LINES = 20


@contextmanager
def study_display(study: Study, out: Path) -> Iterator[Callable[[Step], None]]:
    """Show the progress of a study; yield a function that is called with each step."""
    if is_quiet():
        yield lambda step: None
        return
    if not HAS_RICH or not sys.stderr.isatty():
        yield _Lines(study, _Means(study, out))
        return
    display = _Live(study, _Means(study, out))
    with display.live:
        yield display


class _Means:
    """Mean values of the metrics of finished tasks, by set and algorithm."""

    def __init__(self, study: Study, out: Path) -> None:
        self.study = study
        self.values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.n_outcomes: dict[str, int] = defaultdict(int)
        with suppress(FileNotFoundError, ValueError):  # no results, or an unreadable file
            record = read_study(out)
            for row in record.results.itertuples():
                self.values[row.set, row.algorithm, row.criterion].append(row.value)
            kept = record.tasks.query("status == 'done'")
            kept = kept[kept.algorithm.isin(list(study.algorithms))]
            self.n_outcomes |= kept.groupby("set").size().to_dict()

    def add(self, outcome: Outcome) -> None:
        """Add an outcome."""
        task = outcome.task
        self.n_outcomes[task.set] += 1
        for criterion, value in outcome.values.items():
            self.values[task.set, task.algorithm, criterion].append(value)

    def of(self, name: str) -> list[tuple[str, list[float | None]]]:
        """Return the mean values of each algorithm on a set, None without any outcome."""
        found = (
            (a, [self.values[name, a, c] for c in self.study.criteria])
            for a in self.study.algorithms
        )
        return [(a, [fmean(each) if each else None for each in values]) for a, values in found]

    def is_complete(self, name: str) -> bool:
        """Return whether all tasks of a set are done."""
        n_tasks = self.study.folds * self.study.repeats * len(self.study.algorithms)
        return self.n_outcomes[name] == n_tasks


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


class _Lines:
    """Progress as a line every 20 seconds, and the losses of each finished set."""

    def __init__(self, study: Study, means: "_Means") -> None:
        self.study = study
        self.means = means
        self.last = time.monotonic()

    def __call__(self, step: Step) -> None:
        if step.outcome is not None:
            self.means.add(step.outcome)
            if self.means.is_complete(name := step.outcome.task.set):
                self._write(step, f"{name} is finished")
                self._write_losses(name)
                return
        if step.n_done == step.n_tasks or time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self._write(step, step.doing)

    def _write(self, step: Step, doing: str) -> None:
        self.last = time.monotonic()
        text = f"{step.n_done:>5} of {step.n_tasks}  {doing}"
        print(text, file=sys.stderr, flush=True)

    def _write_losses(self, name: str) -> None:
        for algorithm, values in self.means.of(name):
            cells = ", ".join(
                f"{criterion.title} {_cell(value) or '-'}"
                for criterion, value in zip(self.study.criteria.values(), values, strict=True)
            )
            print(f"               {algorithm:<10} {cells}", file=sys.stderr, flush=True)


class _Live:
    """A progress bar, the remaining time, and the mean losses of the current set."""

    def __init__(self, study: Study, means: "_Means") -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.study = study
        self.means = means
        columns: tuple[Any, ...] = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Progress(*columns)
        self.task = self.bar.add_task("", total=None)
        self.live = Live(self.bar, console=Console(stderr=True), refresh_per_second=4)

    def __call__(self, step: Step) -> None:
        from rich.console import Group
        from rich.markup import escape

        self.bar.update(
            self.task,
            completed=step.n_done,
            total=step.n_tasks,
            description=escape(step.doing),
        )
        if step.outcome is None:
            return
        self.means.add(step.outcome)
        name = step.outcome.task.set
        table = self._table(name)
        if self.means.is_complete(name):
            self.live.console.print(table)
            self.live.update(self.bar)
        else:
            self.live.update(Group(table, self.bar))

    def _table(self, name: str) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(name), title_justify="left")
        table.add_column("algorithm")
        for criterion in self.study.criteria.values():
            table.add_column(Text(criterion.title), justify="right")
        for algorithm, values in self.means.of(name):
            table.add_row(Text(algorithm), *map(_cell, values))
        return table
