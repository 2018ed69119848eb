"""Time and memory of a model in a service: loading, and predicting lists of dicts by batch size.

    python benchmarks/service.py

Fits MendedClassifier on generated rows, saves it, and measures in a fresh process with one thread.
Times are processor times, the smallest of several runs: other processes do not count.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

BATCHES = (1, 10, 100, 1000)


def fit(path: Path, n_rows: int, n_features: int, n_labels: int) -> None:
    import pandas as pd

    from pairmend import MendedClassifier
    from pairmend.persistence import save_model

    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, n_features)).round(4)).add_prefix("x")
    X["place"] = rng.choice(["coast", "city", "hills"], n_rows)
    centres = rng.normal(size=(n_labels, n_features))
    distances = np.linalg.norm(X.iloc[:, :-1].to_numpy()[:, np.newaxis] - centres, axis=2)
    Y = pd.DataFrame((distances < np.quantile(distances, 0.3)).astype(int)).add_prefix("label")
    save_model(MendedClassifier(random_state=0).fit(X, Y), path)
    rows = X[: max(BATCHES)].to_dict("records")
    path.with_suffix(".json").write_text(json.dumps(rows), encoding="utf-8")


def resident() -> float:
    """Return the memory of this process in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(path: Path) -> None:
    from threadpoolctl import threadpool_limits

    from pairmend.persistence import load_model

    rows = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    imported = resident()
    started = process_time()
    model = load_model(path)
    first = process_time() - started
    print(f"file: {path.stat().st_size / 1e6:.1f} MB")
    print(f"memory: {imported:.0f} MB before loading, {resident():.0f} MB after")
    again = []
    for _ in range(3):
        started = process_time()
        model = load_model(path)
        again.append(process_time() - started)
    print(f"loading: {first:.2f} s with its imports, {min(again):.2f} s again")
    with threadpool_limits(1):
        for size in BATCHES:
            times = []
            for _ in range(30 if size < 1000 else 10):
                started = process_time()
                model.predict_proba(rows[:size])
                times.append(process_time() - started)
            best = 1000 * min(times)
            print(f"{size:5d} rows: {best:8.2f} ms a call, {best / size:8.3f} ms a row")
    print(f"memory at the end: {resident():.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000, help="training rows")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "service.model"
        fit(path, options.rows, options.features, options.labels)
        words = [sys.executable, __file__, "--measure", str(path)]
        subprocess.run(words, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    main()
