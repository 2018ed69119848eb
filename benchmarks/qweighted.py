"""Count the models that frugal votes ask, and time them against the full vote, in one run.

    python benchmarks/qweighted.py [--data FOLDER] [--out RESULTS.json] [--sets ...]

The pairs are kernel machines, ``SVC(kernel="rbf")``, which vote by ``predict``: asking one costs
a kernel with each of its support vectors. Two thirds of the rows train, and the rest, or as many
of them as ``--rows`` says, are predicted at once. Told are, for each set, the models asked about
a row in the mean, by QWeighted and by two-stage voting, the rows a model is asked about at once,
processor seconds of the full vote and how many times less the others take (medians of
``--repeats``), and Hamming losses. That QWeighted predicts what the full vote does is checked.

The generated set needs no folder: 60 labels, of which a row has one to three, each label adding
its own direction to noise in 200 features.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.metrics import hamming_loss
from sklearn.svm import SVC

from pairmend import QWeightedVoting, TwoStageVoting
from pairmend.datasets import load

SETS = ["yeast", "medical", "generated"]


class Batched(SVC):
    """A kernel machine that counts how often it is asked, and about how many rows."""

    n_calls = n_rows = 0

    def predict(self, X):
        """Predict, and count the call and its rows."""
        Batched.n_calls += 1
        Batched.n_rows += len(X)
        return super().predict(X)


def generate(n_rows: int = 5000, n_labels: int = 60, n_features: int = 200) -> tuple:
    rng = np.random.default_rng(0)
    Y = np.zeros((n_rows, n_labels), dtype=int)
    for row in Y:
        row[rng.choice(n_labels, rng.integers(1, 4), replace=False)] = 1
    directions = rng.normal(size=(n_labels, n_features))
    return Y @ directions + 2 * rng.normal(size=(n_rows, n_features)), Y


def read(name: str, folder: Path | None) -> tuple:
    if name == "generated":
        return generate()
    data = load(name, data_dir=folder)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return X, np.asarray(data.Y).astype(int)


def timed(work, repeats: int) -> tuple:
    """Return what the work gives, and the median of its processor seconds."""
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        spent.append(time.process_time() - started)
    return result, float(np.median(spent))


def measure(name: str, options: argparse.Namespace) -> dict:
    X, Y = read(name, options.data)
    order = np.random.default_rng(0).permutation(len(Y))
    train, test = np.split(order, [2 * len(order) // 3])
    test = test[: options.rows]
    clf = QWeightedVoting(Batched(kernel="rbf", C=options.C)).fit(X[train], Y[train])
    two_stage = TwoStageVoting(clf.estimator).fit(X[train][:2], Y[train][:2])
    two_stage.learner_ = clf.learner_  # the same models: only the asking differs
    rows, truth = X[test], Y[test]
    full, full_seconds = timed(lambda: clf.predict_proba(rows) > 0.5, options.repeats)
    Batched.n_calls = Batched.n_rows = 0
    poll, seconds = timed(lambda: clf.predict_counted(rows), options.repeats)
    rows_a_call = Batched.n_rows / Batched.n_calls
    staged, staged_seconds = timed(lambda: two_stage.predict_counted(rows), options.repeats)
    if not np.array_equal(full, poll.labels):
        raise SystemExit(f"{name}: QWeighted voting decides otherwise than the full vote.")
    return {
        "set": name,
        "labels": Y.shape[1],
        "labels_a_row": float(Y.sum(axis=1).mean()),
        "rows": len(test),
        "models": len(clf.pairs_),
        "asked_qweighted": float(poll.n_evaluated.mean()),
        "asked_two_stage": float(staged.n_evaluated.mean()),
        "rows_a_call": rows_a_call,
        "seconds_full": full_seconds,
        "faster_qweighted": full_seconds / seconds,
        "faster_two_stage": full_seconds / staged_seconds,
        "loss_full": float(hamming_loss(truth, full)),
        "loss_two_stage": float(hamming_loss(truth, staged.labels)),
    }


def show(results: list[dict]) -> None:
    table = Table(title="Models asked about a row, and processor time against the full vote")
    for heading in results[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in results:
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--sets", nargs="*", default=SETS, help="without --data, generated")
    parser.add_argument("--rows", type=int, default=1000, help="to predict, at the most")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--C", type=float, default=10.0, help="of the kernel machines")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    if options.data is None:
        options.sets = ["generated"]
    results = [measure(name, options) for name in options.sets]
    show(results)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
