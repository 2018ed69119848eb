"""Loss (1 - micro F1) of MendedClassifier by the number of landmarks, on four datasets.

    python benchmarks/landmarks.py --data FOLDER > landmarks.txt
    python examples/plot_landmarks.py landmarks.txt --out landmarks.png

Solid: landmarks with the errors of the validation rows near them. Dashed: a validation set of as
many rows. Dotted: all validation rows are landmarks.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLUMN = 5
"""The column of 1 - micro F1 in the table."""


def read(table: str) -> dict[str, list[list[str]]]:
    """Return the words of each line by dataset."""
    found: dict[str, list[list[str]]] = {}
    for line in table.splitlines():
        if not line.startswith(" "):
            name = line.partition(":")[0]
            found[name] = []
        else:
            found[name].append(line.split())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path, help="what benchmarks/landmarks.py printed")
    parser.add_argument("--out", type=Path, default=Path("landmarks.png"))
    options = parser.parse_args()
    by_set = read(options.table.read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, len(by_set), figsize=(3 * len(by_set), 2.8), squeeze=False)
    for ax, (name, rows) in zip(axes[0], by_set.items(), strict=True):
        for way, line in (("landmarks", "-o"), ("subset", "--s")):
            points = [row for row in rows if row[0] == way and row[1] != "all"]
            sizes = [int(row[1].replace(",", "")) for row in points]
            ax.plot(sizes, [float(row[COLUMN]) for row in points], line, label=way, markersize=4)
        (every,) = (float(row[COLUMN]) for row in rows if row[1:2] == ["all"])
        ax.axhline(every, color="0.4", linestyle=":", label="all rows")
        ax.set(title=name, xscale="log", xlabel="landmarks")
        ax.xaxis.set_minor_formatter("")
        ax.set_xticks([1000, 10_000], ["1,000", "10,000"])
        ax.set_xlim(400, 13_000)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("1 - micro F1")
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.out, dpi=150)


if __name__ == "__main__":
    main()
