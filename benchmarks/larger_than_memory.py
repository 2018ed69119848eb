"""Fit and predict rows on Dask workers whose memory cannot hold them.

    python benchmarks/larger_than_memory.py [fit | predict] [--rows N] [--features D]
                                            [--memory MIB] [--sgd]
                                            [--out FILE]

Starts a local Dask cluster of two worker processes with limited memory. Rows are generated block by
block. With the defaults they are larger than the memory of a worker (fit), and three times as large
as that of both (predict).

`fit` fits a MendedClassifier on all rows, with `--sgd` one of SGDClassifier(loss="log_loss"), and
predicts them. The table gives the sizes, the times, the processor time of all processes, the peak
memory of a worker and of this process, and the Hamming loss on further rows before and after the
correction. `predict` fits FCM on a sample, and predicts all rows. In both, the predictions for some
of the blocks are compared with local ones.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import dask.array as da
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import hamming_loss

from distributed import Client, LocalCluster
from pairmend import CorrectedPairwiseClassifier, MendedClassifier, distributed

N_LABELS, N_TRAINING, N_TEST, CHECKED = {"fit": 5, "predict": 8}, 3000, 20_000, 3
DEFAULTS = {
    "fit": {"rows": 10_000_000, "features": 20, "memory": 1024, "chunk": 50_000},
    "predict": {"rows": 6_000_000, "features": 100, "memory": 768, "chunk": 20_000},
}


def make_rows(block_info=None) -> np.ndarray:
    """Generate a block, reproducibly."""
    (start, stop), (_, n_features) = block_info[None]["array-location"]
    rng = np.random.default_rng(start)
    return rng.normal(size=(stop - start, n_features))


def make_labels(X: np.ndarray, n_labels: int) -> np.ndarray:
    """Return labels that depend on the first features and, in one half space, on others."""
    rng = np.random.default_rng(1)
    here, there = rng.normal(size=(2, X.shape[1], n_labels))
    scores = X @ here + np.where(X[:, :1] > 0, 1.5, 0) * (X @ there)
    noise = np.random.default_rng(np.abs(X[0]).view(np.uint64)[:1]).logistic(size=scores.shape)
    return (scores + noise > 1).astype(np.int8)


def rows_of(n_rows: int, n_features: int, n_chunk: int) -> da.Array:
    """Return generated rows."""
    chunks = da.core.normalize_chunks((n_chunk, n_features), (n_rows, n_features))
    return da.map_blocks(make_rows, dtype=float, chunks=chunks, meta=np.empty((0, 0)))


def labels_of(X: da.Array, n_labels: int) -> da.Array:
    """Return the labels of generated rows."""
    return X.map_blocks(
        make_labels, n_labels, dtype=np.int8, chunks=(X.chunks[0], (n_labels,)),
        meta=np.empty((0, 0), np.int8),
    )  # fmt: skip


def peak_memory() -> float:
    """Return the peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def fit(X: da.Array, n_chunk: int, base: object) -> tuple[MendedClassifier, dict[str, float]]:
    """Fit a MendedClassifier, and measure it on further rows."""
    n_labels = N_LABELS["fit"]
    clf = MendedClassifier(base, random_state=0)
    started = time.perf_counter()
    distributed.fit(clf, X, labels_of(X, n_labels))
    seconds = time.perf_counter() - started
    further = rows_of(X.shape[0] + n_chunk, X.shape[1], n_chunk).blocks[-1][:N_TEST]
    test, truth = (part.compute(scheduler="threads") for part in (further, labels_of(further, 5)))
    before = (clf.estimator_.predict_proba(test) > 0.5).astype(int)
    return clf, {
        "fit_seconds": seconds,
        "loss_before": hamming_loss(truth, before),
        "loss_after": hamming_loss(truth, clf.predict(test)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=DEFAULTS, nargs="?", default="fit")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int)
    parser.add_argument("--memory", type=int, help="memory limit of each worker in MiB")
    parser.add_argument("--sgd", action="store_true", help="fit logistic regressions by SGD")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    chosen = DEFAULTS[options.mode] | {
        name: value
        for name, value in vars(options).items()
        if value and name not in ("mode", "sgd")
    }
    X = rows_of(chosen["rows"], chosen["features"], chosen["chunk"])
    figures = {}
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=f"{chosen['memory']} MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        if options.mode == "fit":
            base = SGDClassifier(loss="log_loss") if options.sgd else "auto"
            clf, figures = fit(X, chosen["chunk"], base)
        else:
            sample = np.asarray(X[:N_TRAINING])
            Y = make_labels(sample, N_LABELS["predict"])
            clf = CorrectedPairwiseClassifier(validation=0.9, random_state=0).fit(sample, Y)
        started = time.perf_counter()
        predictions = distributed.predict(clf, X)
        shares = predictions.mean(axis=0).compute()
        seconds = time.perf_counter() - started
        checked = np.linspace(0, X.numblocks[0] - 1, CHECKED).astype(int)
        equal = all(
            np.array_equal(
                predictions.blocks[i].compute(),
                clf.predict(X.blocks[i].compute(scheduler="threads")),
            )
            for i in checked
        )
        peak = max(client.run(peak_memory).values())
        processor_seconds = time.process_time() + sum(client.run(time.process_time).values())
    row = {
        "rows": chosen["rows"],
        "rows_gib": X.nbytes / 2**30,
        "worker_gib": chosen["memory"] / 1024,
        "worker_peak_gib": peak,
        "client_peak_gib": peak_memory(),
        **figures,
        "predict_seconds": seconds,
        "rows_per_second": chosen["rows"] / seconds,
        "processor_seconds": processor_seconds,
        "equal": equal,
        "mean_labels_per_row": float(shares.sum()),
    }
    table = Table(title=f"{options.mode} larger than memory")
    for heading in row:
        table.add_column(heading.replace("_", " "), justify="right")
    table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=160).print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
