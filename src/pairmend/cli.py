"""The command line."""

import argparse
import sys
from collections.abc import Callable, Sequence

from pairmend.metrics import LOSSES
from pairmend.study import ALGORITHMS, count_steps, generated_sets, mean_losses, run_study


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words of the command line; those of the process if None.

    Returns
    -------
    int
        The exit status.
    """
    options = _make_parser().parse_args(arguments)
    try:
        import rich  # noqa: F401
    except ModuleNotFoundError:
        print("pairmend's commands need rich: pip install 'pairmend[cli]'", file=sys.stderr)
        return 1
    try:
        return _study(options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (OSError, ValueError) as error:
        print(f"pairmend: {error}", file=sys.stderr)
        return 1


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pairmend", description="Pairwise multi-label classification, mended."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    study = commands.add_parser(
        "study",
        help="compare the four algorithms of the paper",
        description="Cross-validate LPW, FCM, FCM-W and FCM-O on generated sets and print "
        "their losses; less is better.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    study.add_argument("--folds", type=_at_least(2), default=10, help="number of folds")
    study.add_argument("--seed", type=int, default=0, help="seed of all randomness")
    return parser


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def _study(options: argparse.Namespace) -> int:
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
    with Progress(*columns, console=console, transient=True) as progress:
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
    return 0


_HEADINGS = {
    "hamming": "Hamming",
    "macro_f1": "1 - macro F1",
    "micro_f1": "1 - micro F1",
    "zero_one": "zero-one",
}


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
