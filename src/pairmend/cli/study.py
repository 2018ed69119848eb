"""``pairmend study``."""

import argparse
from collections.abc import Callable
from typing import Any

from pairmend.cli.display import progress, show_table, show_text
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
    sets = generated_sets()
    steps = count_steps(sets, ALGORITHMS, options.folds) * len(LOSSES)
    results = []
    with progress("study", lines=True) as tell:
        for result in run_study(sets, ALGORITHMS, n_folds=options.folds, seed=options.seed):
            results.append(result)
            tell(len(results) / steps, f"{result.set}, fold {result.fold + 1}")
    losses = mean_losses(results)
    for name, (X, Y) in sets.items():
        size = f"{X.shape[0]} rows, {X.shape[1]} features, {Y.shape[1]} labels"
        _show_losses(name, size, losses)
    show_text(f"Losses, mean of {options.folds} folds; less is better, the best stand out.")


def _show_losses(name: str, size: str, losses: dict[tuple[str, str, str], float]) -> None:
    cells = [
        [f"{losses[name, algorithm, criterion]:.3f}" for criterion in LOSSES]
        for algorithm in ALGORITHMS
    ]
    best = [min(column) for column in zip(*cells, strict=True)]
    show_table(
        f"{name}: {size}",
        ["algorithm", *(_HEADINGS[criterion] for criterion in LOSSES)],
        [[algorithm, *row] for algorithm, row in zip(ALGORITHMS, cells, strict=True)],
        numbers=range(1, len(LOSSES) + 1),
        bold=frozenset(
            (r, c + 1)
            for r, row in enumerate(cells)
            for c, cell in enumerate(row)
            if cell == best[c]
        ),
    )
