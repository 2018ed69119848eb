"""Plot the average ranks of a study, as in its report.

    python examples/plot_study.py FOLDER --out docs/study.png

FOLDER is the output folder of a study, such as that of ``pairmend study --data DATA``.
"""

import argparse
from pathlib import Path

from pairmend import plots
from pairmend.report import summarise
from pairmend.study import read_study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("study.png"))
    options = parser.parse_args()
    summary = summarise(read_study(options.folder))
    found = {
        criterion["title"]: summary["comparison"][criterion["criterion"]]
        for criterion in summary["criteria"]
    }
    difference = next(iter(found.values()))["critical_difference"]
    ax = plots.rank_radar({title: each["ranks"] for title, each in found.items()}, difference)
    ax.figure.savefig(options.out, dpi=150, bbox_inches="tight", facecolor="white")


if __name__ == "__main__":
    main()
