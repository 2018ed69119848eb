"""Time pairwise perceptrons against one scikit-learn perceptron for each pair.

    python benchmarks/perceptrons.py [--labels 100] [--rows 5000] [--out RESULTS.json]

Each label has its own words, and a row has words of its labels and random ones. Rows are dense (500
features) or sparse (5,000 features, about 50 per row). The table gives rows per second of a first
and a second ``partial_fit`` over all rows; the first has the most updates. The loop trains
scikit-learn's ``Perceptron`` for one epoch on the rows of each pair, timed on a sample of pairs and
scaled up. Times are processor times, in one thread if ``OMP_NUM_THREADS=1`` is set.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.linear_model import Perceptron
from sklearn.metrics import f1_score

from pairmend.pairwise import PairwisePerceptrons

PER_ROW, WORDS = 3, 50


def generate(n_rows: int, n_labels: int, n_features: int) -> tuple:
    """Generate rows of words, drawn from the words of their labels, and the labels."""
    rng = np.random.default_rng(0)
    noise = rng.gumbel(size=(n_rows, n_labels)) + np.log(rng.gamma(1.0, size=n_labels) + 0.1)
    chosen = np.argpartition(-noise, PER_ROW, axis=1)[:, :PER_ROW]
    Y = np.zeros((n_rows, n_labels), dtype=np.int64)
    np.put_along_axis(Y, chosen, 1, axis=1)
    topics = rng.integers(n_features, size=(n_labels, 20))
    label = np.take_along_axis(chosen, rng.integers(PER_ROW, size=(n_rows, WORDS)), axis=1)
    words = topics[label, rng.integers(20, size=label.shape)]
    is_random = rng.random(words.shape) < 0.3
    words[is_random] = rng.integers(n_features, size=np.count_nonzero(is_random))
    cells = (np.ones(words.size), (np.repeat(np.arange(n_rows), WORDS), words.ravel()))
    X = sparse.coo_array(cells, shape=(n_rows, n_features)).tocsr()
    # scikit-learn's Perceptron requires 32-bit indices.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, Y


def seconds(work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def time_loop(X, Y, n_sampled: int) -> float:
    """Estimate the seconds of an epoch of one perceptron per pair from a sample of pairs."""
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(Y.shape[1], k=1)
    spent = []
    for m in rng.choice(len(first), min(n_sampled, len(first)), replace=False):
        rows = np.flatnonzero(Y[:, first[m]] != Y[:, second[m]])
        y = Y[rows, first[m]]
        if 0 < y.sum() < len(y):
            loop = Perceptron(max_iter=1, tol=None, shuffle=False)
            spent.append(seconds(lambda loop=loop, rows=rows, y=y: loop.fit(X[rows], y)))
    return float(np.mean(spent)) * len(first)


def measure(kind: str, calibrated: bool, average: bool, options) -> dict:
    n_features = 500 if kind == "dense" else 5000
    X, Y = generate(options.rows + 1000, options.labels, n_features)
    X = X.toarray() if kind == "dense" else X
    test, train = slice(0, 1000), slice(1000, None)
    clf = PairwisePerceptrons(calibration_label=calibrated, average=average)
    first = seconds(lambda: clf.partial_fit(X[train], Y[train]))
    later = seconds(lambda: clf.partial_fit(X[train], Y[train]))
    predicted = seconds(lambda: clf.predict(X[test]))
    row = {
        "rows": kind,
        "method": ("CMLPP" if calibrated else "MLPP") + (", averaged" if average else ""),
        "first_pass_rows_per_s": options.rows / first,
        "second_pass_rows_per_s": options.rows / later,
        "predicted_rows_per_s": 1000 / predicted,
        "weights_mib": clf.coef_.nbytes * (1 + average) / 2**20,
        "micro_f1": f1_score(Y[test], clf.predict(X[test]), average="micro"),
    }
    if not (calibrated or average):
        loop = time_loop(X[train], Y[train], options.sampled)
        row["times_faster_than_loop"] = loop / first
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--sampled", type=int, default=100, help="pairs of the loop to time")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    console = Console()
    rows = [
        measure(kind, calibrated, average, options)
        for kind in ("dense", "sparse")
        for calibrated, average in ((False, False), (True, False), (True, True))
    ]
    table = Table(title=f"{options.rows} rows, {options.labels} labels, {PER_ROW} labels per row")
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        cells = (row.get(heading, "") for heading in rows[0])
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in cells))
    console.print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
