"""Time and memory of MendedClassifier beside binary relevance, by the number of training rows.

    python benchmarks/scale.py [--rows 5000 20000 80000 200000 1000000] [--data FOLDER]

Each number of rows runs in a process of its own, on generated data with 50 features and 20 labels.
BR is BinaryRelevance with the default base classifier of MendedClassifier; 5 folds make K + 1 = 6
trainings. "sklearn" is MultiOutputClassifier of a pipeline of StandardScaler and
LogisticRegression, the same binary relevance without the shortcuts of this library. Peak memory is
that of the process beyond the data, in fit and predict. Predictions are timed in turns; the table
shows medians. With --data, the time of one row of yeast is printed, too.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import MendedClassifier, datasets
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance

N_FEATURES, N_LABELS, N_FOLDS = 50, 20, 5
ROWS = (5_000, 20_000, 80_000, 200_000, 1_000_000)
N_NEW, N_REPEATS, N_SINGLE = 20_000, 5, 500


def generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in 100 clusters and their labels, which depend on features and on the cluster.

    The base classifier learns the features' part; the cluster's part is left to the correction.
    """
    shape = np.random.RandomState(0)
    linear = shape.randn(N_FEATURES, N_LABELS) / np.sqrt(N_FEATURES)
    centres, offsets = shape.randn(100, N_FEATURES), shape.randn(100, N_LABELS)
    rng = np.random.RandomState(seed)
    X, Y = np.empty((n_rows, N_FEATURES)), np.empty((n_rows, N_LABELS), dtype=np.int8)
    for start in range(0, n_rows, 50_000):  # blocks, to keep the peak of memory low
        cluster = rng.randint(100, size=min(50_000, n_rows - start))
        block = centres[cluster] + 0.7 * rng.randn(len(cluster), N_FEATURES)
        scores = block @ linear + 2 * offsets[cluster] - 2
        X[start : start + len(block)] = block
        Y[start : start + len(block)] = scores + rng.logistic(size=scores.shape) > 0
    return X, Y


def peak() -> int:
    """Return the peak of the memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds(call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def predictions_in_turns(classifiers, X, n_repeats: int) -> list[float]:
    """Return the median seconds of predict of each classifier, which take turns."""
    for classifier in classifiers:
        classifier.predict(X)
    times = [[seconds(lambda c=c: c.predict(X)) for c in classifiers] for _ in range(n_repeats)]
    return [median(column) for column in zip(*times, strict=True)]


def scikit_learn() -> MultiOutputClassifier:
    """Return the binary relevance of scikit-learn with the same base classifier."""
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return MultiOutputClassifier(base)


def measure(n_rows: int) -> dict[str, float]:
    """Fit and predict with both classifiers, in this process."""
    X, Y = generate(n_rows, 1)
    new, _ = generate(N_NEW, 2)
    small = generate(2000, 3)
    MendedClassifier(None, random_state=0).fit(*small).predict(
        new[:100]
    )  # compiles, starts threads
    before = peak()
    plain = BinaryRelevance(ScaledLogisticRegression())
    result = {"rows": n_rows, "fit_plain": seconds(lambda: plain.fit(X, Y))}
    mended = MendedClassifier(None, cv=N_FOLDS, random_state=0)
    result["fit"] = seconds(lambda: mended.fit(X, Y))
    both = (plain, mended)
    result["batch_plain"], result["batch"] = predictions_in_turns(both, new, N_REPEATS)
    result["memory"] = peak() - before
    all_three = (scikit_learn().fit(*small), *both)  # latency does not depend on the rows
    times = predictions_in_turns(all_three, new[:1], N_SINGLE)
    result["one_sklearn"], result["one_plain"], result["one"] = times
    return result


def one_row_of_yeast(folder: Path) -> list[float]:
    data = datasets.load("yeast", data_dir=folder)
    plain, mended = (
        BinaryRelevance(ScaledLogisticRegression()),
        MendedClassifier(None, random_state=0),
    )
    every = (scikit_learn(), plain, mended)
    for classifier in every:
        classifier.fit(data.X, data.Y)
    return predictions_in_turns(every, data.X[:1], N_SINGLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="training rows")
    parser.add_argument("--data", type=Path, help="folder with the dataset yeast")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    print(f"{N_FEATURES} features, {N_LABELS} labels; BR: binary relevance with the same base")
    print(
        f"{'rows':>9} {'BR fit':>8} {'fit':>8} {'/ 6 BR':>7} {'BR rows/s':>10} {'rows/s':>8} "
        f"{'one row: sklearn':>17} {'BR':>8} {'mended':>8} {'/ BR':>5} {'memory':>9}",
        flush=True,
    )
    for n_rows in options.rows:
        ran = subprocess.run(
            [sys.executable, __file__, "--measure", str(n_rows)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        r = json.loads(ran.stdout)
        print(
            f"{n_rows:>9,} {r['fit_plain']:>6.1f} s {r['fit']:>6.1f} s "
            f"{r['fit'] / r['fit_plain'] / (N_FOLDS + 1):>7.2f} "
            f"{N_NEW / r['batch_plain']:>10,.0f} {N_NEW / r['batch']:>8,.0f} "
            f"{1e3 * r['one_sklearn']:>14.2f} ms {1e3 * r['one_plain']:>5.2f} ms "
            f"{1e3 * r['one']:>5.2f} ms {r['one'] / r['one_plain']:>5.2f} "
            f"{r['memory'] / 2**20:>5.0f} MiB",
            flush=True,
        )
    if options.data:
        named = zip(("sklearn", "BR", "mended"), one_row_of_yeast(options.data), strict=True)
        print("one row of yeast: " + ", ".join(f"{name} {1e3 * t:.2f} ms" for name, t in named))


if __name__ == "__main__":
    main()
