"""Plot the average ranks of a study, as in its report.

    python examples/plot_study.py FOLDER --out docs/study.png

FOLDER is the output folder of a study, such as that of ``pairmend study --data DATA``.
"""

import argparse
from pathlib import Path

from pairmend import plots, stats
from pairmend.report import summarise
from pairmend.study import read_study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("study.png"))
    options = parser.parse_args()
    summary = summarise(read_study(options.folder))
    n_sets, n_algorithms = next(iter(summary.losses.values())).means.shape
    difference = stats.critical_difference(n_algorithms, n_sets, alpha=summary.alpha)
    ax = plots.rank_radar(summary.ranks, difference)
    ax.figure.savefig(options.out, dpi=150, bbox_inches="tight", facecolor="white")


if __name__ == "__main__":
    main()
