"""Plot the explanation of a prediction: scores, and the pairs whose vote was corrected.

Five labels are overlapping balls, which are not linearly separable. Of the test rows, the one with
the most changed labels is explained. Needs matplotlib.

    python examples/plot_explain.py --out docs/explain.png
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.plots import plot_explanation

LABELS = ["sea", "beach", "sunset", "city", "mountain"]


def make_data(n_rows: int = 800) -> tuple[np.ndarray, pd.DataFrame]:
    """Labels are overlapping balls in a cube."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n_rows, 3))
    centres = rng.uniform(-0.7, 0.7, size=(len(LABELS), 3))
    near = np.linalg.norm(X[:, np.newaxis] - centres, axis=2) < 0.9
    return X, pd.DataFrame(near.astype(int), columns=LABELS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="explain.png", help="where to save the figure")
    options = parser.parse_args()

    X, Y = make_data()
    clf = CorrectedPairwiseClassifier(
        LogisticRegression(),
        validation=5,
        threshold=0.6,
        neighbourhood=GaussianNeighbourhood(beta=100.0),
        random_state=0,
    ).fit(X[:600], Y[:600])
    explanation = max(
        clf.explain(X[600:]),
        key=lambda each: (sum(label.changed for label in each.labels), each.n_changed),
    )
    print(explanation)
    plot_explanation(explanation).savefig(options.out, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
