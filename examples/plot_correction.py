"""Plot the support of one pair of labels before and after the correction.

The two labels are not linearly separable. The local confusion matrices correct the errors of a
linear classifier near each point. Needs matplotlib.

    python examples/plot_correction.py --out docs/correction.png
"""

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood


def make_data(n_rows: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two labels with a curved boundary, at which rows have both."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    height = X[:, 1] - 0.8 * np.cos(2.6 * X[:, 0]) + 0.35 + 0.05 * rng.randn(n_rows)
    return X, np.column_stack([height > -0.08, height < 0.08]).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="correction.png", help="where to save the figure")
    options = parser.parse_args()
    matplotlib.use("Agg")

    X, Y = make_data()
    clf = CorrectedPairwiseClassifier(
        LogisticRegression(),
        validation=5,
        neighbourhood=GaussianNeighbourhood(beta=40.0),
        random_state=0,
    ).fit(X, Y)
    x, y = np.meshgrid(np.linspace(-1, 1, 150), np.linspace(-1, 1, 150))
    grid = np.column_stack([x.ravel(), y.ravel()])
    supports = {
        "support of the pair": clf.pair_support(grid),
        "corrected by local errors": clf.pair_corrected(grid),
    }
    kinds = {
        "sea": (Y[:, 0] > Y[:, 1], "o", "#0b3c5d"),
        "beach": (Y[:, 1] > Y[:, 0], "^", "#8a5a00"),
        "both": ((Y == 1).all(axis=1), "s", "#555555"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
    for axis, (title, support) in zip(axes, supports.items(), strict=True):
        z = support.reshape(x.shape)
        image = axis.contourf(x, y, z, levels=np.linspace(0, 1, 21), cmap="PuOr", alpha=0.55)
        axis.contour(x, y, z, levels=[0.5], colors="black", linewidths=1.5)
        for label, (rows, marker, colour) in kinds.items():
            axis.scatter(*X[rows].T, s=12, marker=marker, color=colour, linewidths=0, label=label)
        axis.set(title=title, xticks=[], yticks=[], aspect="equal")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, ticks=[0, 0.5, 1])
    bar.ax.set_yticklabels(["beach", "1/2", "sea"])
    figure.savefig(options.out, dpi=110)


if __name__ == "__main__":
    main()
