"""``pairmend study``."""

import argparse
from collections.abc import Callable
from typing import Any

from pairmend.metrics import LOSSES
from pairmend.study import ALGORITHMS, count_steps, generated_sets, mean_losses, run_study

_HEADINGS = {
    "hamming": "Hamming",
    "macro_f1": "1 - macro F1",
    "micro_f1": "1 - micro F1",
    "zero_one": "zero-one",
}


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "study",
        help="compare the four algorithms of the paper",
        description="Cross-validate LPW, FCM, FCM-W and FCM-O on generated sets and print "
        "their losses; less is better.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--folds", type=_at_least(2), default=10, help="number of folds")
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness")
    parser.set_defaults(run=_run)


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def _run(options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    sets = generated_sets()
    console = Console()
    results = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("study", total=count_steps(sets, ALGORITHMS, options.folds))
        for result in run_study(sets, ALGORITHMS, n_folds=options.folds, seed=options.seed):
            results.append(result)
            progress.update(
                task,
                description=f"{result.set}, fold {result.fold + 1}",
                completed=len(results) // len(LOSSES),
            )
    losses = mean_losses(results)
    for name, (X, Y) in sets.items():
        size = f"{X.shape[0]} rows, {X.shape[1]} features, {Y.shape[1]} labels"
        console.print(_loss_table(name, size, losses))
    console.print(f"Losses, mean of {options.folds} folds; less is better, best in bold.")


def _loss_table(name: str, size: str, losses: dict[tuple[str, str, str], float]) -> object:
    from rich.table import Table

    table = Table(title=f"{name}: {size}")
    table.add_column("algorithm")
    for criterion in LOSSES:
        table.add_column(_HEADINGS[criterion], justify="right")
    printed = {key: f"{loss:.3f}" for key, loss in losses.items()}
    best = {
        criterion: min(printed[name, algorithm, criterion] for algorithm in ALGORITHMS)
        for criterion in LOSSES
    }
    for algorithm in ALGORITHMS:
        cells = {criterion: printed[name, algorithm, criterion] for criterion in LOSSES}
        table.add_row(
            algorithm,
            *(f"[bold]{cell}[/]" if cell == best[c] else cell for c, cell in cells.items()),
        )
    return table
