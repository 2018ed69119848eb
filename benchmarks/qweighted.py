"""Count the pair classifiers that QWeighted and two-stage voting evaluate, and time them.

    python benchmarks/qweighted.py [--data FOLDER] [--out RESULTS.json] [--sets ...]

The pair classifiers are ``SVC(kernel="rbf")``, which vote by ``predict``. Two thirds of the rows
are training rows, and the others, up to ``--rows``, are predicted at once. The table gives, for
each set, the mean number of models evaluated for a row by QWeighted and by two-stage voting, the
rows in one call of a model, processor seconds of voting by all pairs and the speed-ups of the
others (medians of ``--repeats``), and Hamming losses. It is checked that QWeighted predicts the
same labels as voting by all pairs.

The generated set needs no folder: 60 labels, of which a row has one to three; each label adds a
direction to noise in 200 features.
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

from pairmend.datasets import load
from pairmend.pairwise import QWeightedVoting, TwoStageVoting

SETS = ["yeast", "medical", "generated"]


class CountingSVC(SVC):
    """Counts the calls of ``predict`` and their rows."""

    n_calls = n_rows = 0

    def predict(self, X):
        """Predict, and count the call and its rows."""
        CountingSVC.n_calls += 1
        CountingSVC.n_rows += len(X)
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
    """Return the result of the work, and the median of its processor seconds."""
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
    clf = QWeightedVoting(CountingSVC(kernel="rbf", C=options.C)).fit(X[train], Y[train])
    two_stage = TwoStageVoting(clf.estimator).fit(X[train][:2], Y[train][:2])
    two_stage.learner_ = clf.learner_  # the same models
    rows, truth = X[test], Y[test]
    full, full_seconds = timed(lambda: clf.predict_proba(rows) > 0.5, options.repeats)
    CountingSVC.n_calls = CountingSVC.n_rows = 0
    counted, seconds = timed(lambda: clf.predict_counted(rows), options.repeats)
    rows_per_call = CountingSVC.n_rows / CountingSVC.n_calls
    staged, staged_seconds = timed(lambda: two_stage.predict_counted(rows), options.repeats)
    if not np.array_equal(full, counted.labels):
        raise SystemExit(
            f"{name}: QWeighted voting and voting by all pairs predict different labels."
        )
    return {
        "set": name,
        "labels": Y.shape[1],
        "labels_per_row": float(Y.sum(axis=1).mean()),
        "rows": len(test),
        "models": len(clf.pairs_),
        "evaluated_qweighted": float(counted.n_evaluated.mean()),
        "evaluated_two_stage": float(staged.n_evaluated.mean()),
        "rows_per_call": rows_per_call,
        "seconds_full": full_seconds,
        "faster_qweighted": full_seconds / seconds,
        "faster_two_stage": full_seconds / staged_seconds,
        "loss_full": float(hamming_loss(truth, full)),
        "loss_two_stage": float(hamming_loss(truth, staged.labels)),
    }


def show(results: list[dict]) -> None:
    table = Table(
        title="Models evaluated for a row, and processor time against voting by all pairs"
    )
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
    parser.add_argument(
        "--sets", nargs="*", default=SETS, help="sets; only generated without --data"
    )
    parser.add_argument("--rows", type=int, default=1000, help="rows to predict, at the most")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--C", type=float, default=10.0, help="parameter C of SVC")
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
