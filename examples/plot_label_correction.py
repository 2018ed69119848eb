"""Plot where in feature space the correction changes the probability of a label.

The base classifier is linear, the region of the label is a ring. The correction raises the
probability where the label is missed, and lowers it where it is wrongly predicted. Needs
matplotlib.

    python examples/plot_label_correction.py --out docs/label_correction.png
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from pairmend import MendedClassifier
from pairmend.plots import plot_correction


def make_data(n_rows: int = 1200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows in a square with a third feature, and two labels: a ring and a half."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(n_rows, 3)), columns=["east", "north", "height"])
    radius = np.hypot(X["east"], X["north"] - 0.2) + 0.05 * rng.randn(n_rows)
    labels = {"shore": (radius > 0.45) & (radius < 0.85), "hill": X["height"] > 0.2}
    return X, pd.DataFrame(labels).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="label_correction.png", help="file to write")
    options = parser.parse_args()

    X, Y = make_data()
    clf = MendedClassifier(LogisticRegression(), random_state=0).fit(X[:800], Y[:800])
    figure = plot_correction(clf, X[800:], "shore", Y=Y[800:], features=["east", "north"])
    figure.savefig(options.out, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
