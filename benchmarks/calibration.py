"""Compare the calibration of MendedClassifier's probabilities with that of its base classifier.

    python benchmarks/calibration.py --data FOLDER [--sets ...] [--folds 5]

The base classifier is MendedClassifier's default, one logistic regression for each label. All
predictions are out-of-fold. The Markdown table, which is that of the guide, gives the means over
labels of the Brier score, the log loss and the calibration error of ten bins, and the number of
labels for which the corrected probabilities are at least as good.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.metrics import log_loss, mean_squared_error

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.datasets import load
from pairmend.metrics import reliability
from pairmend.model_selection import MultilabelStratifiedKFold

SETS = ["emotions", "yeast", "birds", "medical", "flags", "plant"]
HEAD = (
    "| set | rows | labels | Brier score, base | corrected | labels as good | log loss, base "
    "| corrected | labels as good | calibration error, base | corrected |"
)


def probabilities(X, Y, n_folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return out-of-fold probabilities of the base classifier and of MendedClassifier."""
    base, corrected = np.empty(Y.shape), np.empty(Y.shape)
    folds = MultilabelStratifiedKFold(n_folds, random_state=0)
    for train, test in folds.split(np.zeros(len(Y)), Y):
        plain = BinaryRelevance(ScaledLogisticRegression()).fit(X[train], Y[train])
        base[test] = plain.predict_proba(X[test])
        clf = MendedClassifier(None, random_state=0).fit(X[train], Y[train])
        corrected[test] = clf.predict_proba(X[test])
    return base, corrected


def brier_by_label(Y: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Return the Brier score of each label."""
    return mean_squared_error(Y, proba, multioutput="raw_values")


def log_loss_by_label(Y: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Return the log loss of each label."""
    return np.array([log_loss(y, p, labels=[0, 1]) for y, p in zip(Y.T, proba.T, strict=True)])


def compare(name: str, folder: Path, n_folds: int) -> str:
    """Return a line of the table."""
    data = load(name, data_dir=folder)
    Y = np.asarray(data.Y).astype(int)
    found = probabilities(data.X, Y, n_folds)
    cells = [name, f"{len(Y):,}", str(Y.shape[1])]
    for score in (brier_by_label, log_loss_by_label):
        base, corrected = (score(Y, each) for each in found)
        as_good = np.count_nonzero(corrected <= base)
        cells += [f"{base.mean():.4f}", f"{corrected.mean():.4f}", f"{as_good} of {len(base)}"]
    cells += [f"{reliability(Y, each).error:.4f}" for each in found]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()

    lines = [
        compare(name, options.data, options.folds)
        for name in track(options.sets, console=Console(stderr=True), transient=True)
    ]
    print("\n".join([HEAD, "|---" * (HEAD.count("|") - 1) + "|", *lines]))


if __name__ == "__main__":
    main()
