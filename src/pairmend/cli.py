"""The command line."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from pairmend.metrics import LOSSES
from pairmend.study import ALGORITHMS, Result, count_steps, generated_sets, run_study


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
    return _study(options)


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
    for name in sets:
        console.print(_loss_table(name, (r for r in results if r.set == name), options.folds))
    return 0


def _loss_table(name: str, results: Iterable[Result], n_folds: int) -> object:
    from rich.table import Table

    values = defaultdict(list)
    for result in results:
        values[result.algorithm, result.criterion].append(result.value)
    table = Table(title=f"{name}: mean loss of {n_folds} folds")
    table.add_column("algorithm")
    for criterion in LOSSES:
        table.add_column(criterion, justify="right")
    for algorithm in ALGORITHMS:
        means = (fmean(values[algorithm, criterion]) for criterion in LOSSES)
        table.add_row(algorithm, *(f"{mean:.3f}" for mean in means))
    return table
