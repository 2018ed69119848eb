"""Hold the probabilities of the mended classifier against those of its base.

    python benchmarks/calibration.py --data FOLDER [--sets ...] [--folds 5]

The base is the logistic regression that the mended classifier starts from, one for each label.
Every row is predicted by classifiers that did not see it. Told are the means over labels of the
Brier score, the log loss and the calibration error of ten bins, and in how many labels the
mended probabilities are at least as good. The table is Markdown, as it stands in the guide.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from pairmend import BinaryRelevance, MendedClassifier
from pairmend.base_classifiers import logistic_regression
from pairmend.datasets import load
from pairmend.metrics import brier_by_label, log_loss_by_label, reliability
from pairmend.model_selection import MultilabelStratifiedKFold

SETS = ["emotions", "yeast", "birds", "medical", "flags", "plant"]
HEAD = (
    "| set | rows | labels | Brier score, base | mended | labels as good | log loss, base | mended "
    "| labels as good | calibration error, base | mended |"
)


def probabilities(X, Y, n_folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what base and mended classifiers say of rows they did not see."""
    base, mended = np.empty(Y.shape), np.empty(Y.shape)
    folds = MultilabelStratifiedKFold(n_folds, random_state=0)
    for train, test in folds.split(np.zeros(len(Y)), Y):
        plain = BinaryRelevance(logistic_regression()).fit(X[train], Y[train])
        base[test] = plain.predict_proba(X[test])
        clf = MendedClassifier(random_state=0).fit(X[train], Y[train])
        mended[test] = clf.predict_proba(X[test])
    return base, mended


def compare(name: str, folder: Path, n_folds: int) -> str:
    """Return a line of the table."""
    data = load(name, data_dir=folder)
    Y = np.asarray(data.Y).astype(int)
    said = probabilities(data.X, Y, n_folds)
    cells = [name, f"{len(Y):,}", str(Y.shape[1])]
    for score in (brier_by_label, log_loss_by_label):
        base, mended = (score(Y, each) for each in said)
        as_good = np.count_nonzero(mended <= base)
        cells += [f"{base.mean():.4f}", f"{mended.mean():.4f}", f"{as_good} of {len(base)}"]
    cells += [f"{reliability(Y, each).error:.4f}" for each in said]
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
