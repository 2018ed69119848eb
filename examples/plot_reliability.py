"""Plot the reliability of predicted probabilities before and after the correction.

Both classifiers are trained on one half of yeast and tested on the other half. Needs matplotlib,
and yeast, which ``pip install 'pairmend[data]'`` installs.

    python examples/plot_reliability.py --out docs/reliability.png
"""

import argparse

from matplotlib.figure import Figure
from sklearn.metrics import log_loss, mean_squared_error

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.datasets import load
from pairmend.plots import plot_reliability


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="reliability.png", help="file to write")
    options = parser.parse_args()

    yeast = load("yeast")
    X, Y = yeast.X, yeast.Y.astype(int)
    train, test = slice(0, None, 2), slice(1, None, 2)
    classifiers = {
        "base": BinaryRelevance(ScaledLogisticRegression()),
        "corrected": MendedClassifier(None, random_state=0),
    }
    proba = {
        name: clf.fit(X[train], Y[train]).predict_proba(X[test])
        for name, clf in classifiers.items()
    }
    for name, probabilities in proba.items():
        brier = mean_squared_error(Y[test], probabilities)
        loss = log_loss(Y[test].ravel(), probabilities.ravel())
        print(f"{name}: Brier score {brier:.3f}, log loss {loss:.3f}")

    common = int(Y[train].sum(axis=0).argmax())
    figure = Figure(figsize=(10.5, 6.0), layout="constrained")
    left, right = figure.subfigures(1, 2)
    plot_reliability(Y[test], proba, figure=left, title="yeast: all 14 labels")
    plot_reliability(
        Y[test], proba, label=common, figure=right, title=f"yeast: {yeast.label_names[common]}"
    )
    figure.savefig(options.out, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
