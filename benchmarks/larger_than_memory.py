"""Predict rows that exceed the memory of all Dask workers.

    python benchmarks/larger_than_memory.py [--rows N] [--features D] [--memory MIB] [--out FILE]

Starts a local Dask cluster of two worker processes with limited memory, fits FCM on a sample, and
predicts a Dask array of generated rows that is several times as large as the memory of both
workers. The table gives the sizes, the time, rows per second, the peak memory of both workers, and
whether the predictions for some of the blocks equal local ones.
"""

import argparse
import json
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed.diagnostics import MemorySampler
from rich.console import Console
from rich.table import Table

from distributed import Client, LocalCluster
from pairmend import CorrectedPairwiseClassifier, distributed

N_LABELS, N_TRAINING, CHECKED = 8, 3000, 3


def make_rows(block_info=None) -> np.ndarray:
    """Generate a block, reproducibly."""
    (start, stop), (_, n_features) = block_info[None]["array-location"]
    rng = np.random.default_rng(start)
    return rng.normal(size=(stop - start, n_features))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument(
        "--memory", type=int, default=768, help="memory limit of each worker in MiB"
    )
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    n_chunk = 20_000
    chunks = (n_chunk, options.features)
    X = da.map_blocks(
        make_rows,
        dtype=float,
        chunks=da.core.normalize_chunks(chunks, (options.rows, options.features)),
        meta=np.empty((0, 0)),
    )
    rng = np.random.default_rng(1)
    sample = np.asarray(X[:N_TRAINING])
    Y = sample @ rng.normal(size=(options.features, N_LABELS)) > 0
    clf = CorrectedPairwiseClassifier(validation=0.9, random_state=0).fit(sample, Y)
    sampler = MemorySampler()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=f"{options.memory} MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        started = time.perf_counter()
        predictions = distributed.predict(clf, X)
        with sampler.sample("memory", measure="process", client=client, interval=0.2):
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
    peak = max(sampler.to_pandas()["memory"]) / 2**20
    row = {
        "rows": options.rows,
        "rows_gib": X.nbytes / 2**30,
        "workers_gib": 2 * options.memory / 1024,
        "peak_of_both_gib": peak / 1024,
        "seconds": seconds,
        "rows_per_second": options.rows / seconds,
        "equal": equal,
        "mean_labels_per_row": float(shares.sum()),
    }
    table = Table(title="Prediction larger than memory")
    for heading in row:
        table.add_column(heading.replace("_", " "), justify="right")
    table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=140).print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
