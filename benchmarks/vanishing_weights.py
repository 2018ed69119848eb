"""Time predictions that leave out vanishing weights against those that do not, in one run.

    python benchmarks/vanishing_weights.py --data FOLDER [--out RESULTS.json] [--sets ...]

For each beta, the corrected supports of all pairs are worked out from the supports of the trained
pairs twice in turn: with all validation rows multiplied, and as the library does, which leaves
out rows whose weights vanish where that pays. Told are the times of both and their ratio, that of
the confusion sums alone, the share of weights that are kept, and the largest difference. Then the
same with only the k nearest rows: what it costs, and what it changes. Last, single precision
against double: difference, changed predictions, time and peak memory of what Python holds.
"""

import argparse
import json
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.spatial import KDTree
from sklearn import config_context

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend import corrected as corrected_module
from pairmend.datasets import load
from pairmend.kernels.vanishing import cut_for
from pairmend.neighbourhoods import INDEX_FEATURES

BETAS = (0.1, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 1e4)
GENERATED = {"rows": 50_000, "points": 2_000, "features": 10, "labels": 100}


def generate() -> tuple:
    """Rows in clusters, each with labels of its own."""
    rng = np.random.default_rng(0)
    n, d, n_labels = 57_000, GENERATED["features"], GENERATED["labels"]
    centres = rng.random((200, d))
    likely = rng.random((200, n_labels)) ** 8 * 0.45
    cluster = rng.integers(200, size=n)
    X = centres[cluster] + rng.normal(scale=0.08, size=(n, d))
    Y = rng.random((n, n_labels)) < likely[cluster]
    return X, Y


def prepare(name: str, folder: Path) -> tuple:
    """Return a fitted classifier and rows to ask it about."""
    if name == "generated":
        X, Y = generate()
        share, n_test = 5_000 / 55_000, GENERATED["points"]
    else:
        data = load(name, data_dir=folder)
        X, Y = data.X, np.asarray(data.Y).astype(bool)
        share, n_test = 0.5, len(Y) // 3
    order = np.random.RandomState(0).permutation(len(Y))
    test, train = order[:n_test], order[n_test:]
    model = CorrectedPairwiseClassifier(
        neighbourhood=GaussianNeighbourhood(), validation=share, random_state=0
    )
    return model.fit(X[train], Y[train]), X[test], (X[train], Y[train])


@contextmanager
def stored_supports(model, X):
    """Let a classifier's pairs answer at once: what is timed is what comes after."""
    rows = list(model._chunks(X))
    known = {chunk.start: list(model._supports(X[chunk])) for chunk in rows}
    where = iter([])

    def chunks(_):
        for chunk in rows:
            nonlocal where
            where = iter([chunk.start])
            yield chunk

    with (
        patch.object(model, "_chunks", chunks),
        patch.object(model, "_supports", lambda _: iter(known[next(where)])),
    ):
        yield


def seconds(work) -> tuple:
    """Processor time, which other work on the machine does not lengthen much, and the result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def without_skipping():
    return patch.object(corrected_module, "worth_skipping", lambda *_: False)


def time_betas(name: str, model, X, betas, repeats: int, console) -> list[dict]:
    rows = []
    with stored_supports(model, X):
        for beta in track(betas, description=name, console=console, transient=True):
            model.neighbourhood_.set_params(beta=beta)
            plain, skipping, weighing = [], [], []
            for _ in range(repeats):
                with without_skipping():
                    spent, all_rows = seconds(lambda: model.pair_corrected(X))
                plain.append(spent)
                spent, near_rows = seconds(lambda: model.pair_corrected(X))
                skipping.append(spent)
                weighing.append(
                    seconds(lambda: [model._weights(X[rows]) for rows in model._chunks(X)])[0]
                )
            weights = model.neighbourhood_.weights(X[:50])
            rows.append(
                {
                    "set": name,
                    "beta": beta,
                    "kept": float((weights >= cut_for(weights.shape[1])).mean()),
                    "all_rows_s": min(plain),
                    "near_rows_s": min(skipping),
                    "times_faster": min(plain) / min(skipping),
                    "of_it_weights_s": min(weighing),
                    "difference": float(np.abs(all_rows - near_rows).max()),
                }
            )
    return rows


def change_neighbours(name: str, model, X, beta: float) -> list[dict]:
    """Tell what it changes, and spares, to let only the k nearest rows count."""
    rows, data = [], model.neighbourhood_.points_
    n_rows = data.shape[0]
    model.neighbourhood_.set_params(beta=beta, n_neighbors=None)
    spent, expected = seconds(lambda: model.pair_corrected(X))
    predicted = model.predict(X)
    for k in (10, 30, 100, 300, 1000):
        if k < n_rows:
            model.neighbourhood_.set_params(n_neighbors=k)
            model.neighbourhood_._index = None
            if not hasattr(data, "indptr") and data.shape[1] <= INDEX_FEATURES:
                model.neighbourhood_._index = KDTree(data)
            took, got = seconds(lambda: model.pair_corrected(X))
            difference = np.abs(got - expected)
            rows.append(
                {
                    "set": name,
                    "beta": beta,
                    "k": k,
                    "of_rows": n_rows,
                    "mean_difference": float(difference.mean()),
                    "largest_difference": float(difference.max()),
                    "changed_predictions": float((model.predict(X) != predicted).mean()),
                    "times_faster": spent / took,
                }
            )
    model.neighbourhood_.set_params(n_neighbors=None)
    return rows


def compare_precisions(name: str, X, train) -> dict:
    """Fit and predict in double and in single precision."""
    CorrectedPairwiseClassifier(random_state=0).fit(*train).predict(X)  # loads what is needed
    found = {}
    for dtype in ("float64", "float32"):
        model = CorrectedPairwiseClassifier(dtype=dtype, validation=0.5, random_state=0)
        tracemalloc.start()
        with config_context(working_memory=1024):
            spent, scores = seconds(lambda m=model: m.fit(*train).predict_proba(X))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found[dtype] = (spent, peak / 2**20, scores, scores > 0.5)
    double, single = found["float64"], found["float32"]
    return {
        "set": name,
        "largest_difference": float(np.abs(double[2] - single[2]).max()),
        "changed_predictions": float((double[3] != single[3]).mean()),
        "double_peak_mib": double[1],
        "single_peak_mib": single[1],
        "times_faster": double[0] / single[0],
    }


def show(title: str, rows: list[dict], console) -> None:
    table = Table(title=title)
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=Path, help="folder with the real sets")
    parser.add_argument("--sets", nargs="*", default=["yeast", "tmc2007-500", "generated"])
    parser.add_argument("--real", nargs="*", default=["yeast", "corel5k"], help="sets for the rest")
    parser.add_argument("--beta", type=float, default=4.0, help="for the k nearest rows")
    parser.add_argument("--rows", type=int, default=200, help="to ask about in these")
    parser.add_argument("--betas", nargs="*", type=float, default=BETAS)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    console = Console(width=140)
    results: dict[str, list[dict]] = {"betas": [], "neighbours": [], "precisions": []}
    for name in options.sets:
        model, X, _ = prepare(name, options.data)
        rows = time_betas(name, model, X, options.betas, options.repeats, console)
        show(f"{name}: all rows against near rows", rows, console)
        results["betas"] += rows
    for name in options.real:
        model, X, train = prepare(name, options.data)
        X = X[: options.rows]
        results["neighbours"] += change_neighbours(name, model, X, options.beta)
        results["precisions"].append(compare_precisions(name, X, train))
    if options.real:
        show("Only the k nearest rows", results["neighbours"], console)
        show("Single precision", results["precisions"], console)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
