"""Compare MendedClassifier with boosting per label where labels depend on interactions.

    python benchmarks/interactions.py [--rows 2000 20000 100000] [--seeds 3]

Each of six labels depends on a product of two features, on a further one whose sign a fourth one
decides, and on noise. The Markdown table has the mean losses on 10,000 new rows, and the processor
time and the elapsed time of a fit, of the default of MendedClassifier and of scikit-learn's
HistGradientBoostingClassifier with its defaults.
"""

import argparse
from time import perf_counter, process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import hamming_loss, zero_one_loss
from sklearn.multioutput import MultiOutputClassifier

from pairmend import MendedClassifier

N_FEATURES, N_LABELS, N_TEST = 20, 6, 10_000


def generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; the rules are the same for all seeds."""
    rules, random = np.random.RandomState(0), np.random.RandomState(seed)
    X = random.normal(size=(n_rows, N_FEATURES))
    Y = np.empty((n_rows, N_LABELS), dtype=int)
    for label in range(N_LABELS):
        a, b, c, d, e = X[:, rules.permutation(N_FEATURES)[:5]].T
        score = a * b + np.where(c > 0, d, -d) + 0.5 * e + 0.3 * random.logistic(size=n_rows)
        Y[:, label] = score > 0.5
    return X, Y


def measure(classifier, n_rows: int, seed: int) -> list[float]:
    """Return Hamming and zero-one loss, and the times of fit."""
    X, Y = generate(n_rows + N_TEST, seed)
    start, processor = perf_counter(), process_time()
    classifier.fit(X[:n_rows], Y[:n_rows])
    times = process_time() - processor, perf_counter() - start
    predicted, true = classifier.predict(X[n_rows:]), Y[n_rows:]
    return [hamming_loss(true, predicted), zero_one_loss(true, predicted), *times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 20_000, 100_000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    classifiers = {
        "MendedClassifier()": MendedClassifier(random_state=0),
        "boosting per label": MultiOutputClassifier(HistGradientBoostingClassifier(random_state=0)),
    }
    print("| rows | classifier | Hamming | zero-one | processor s | elapsed s |")
    print("|---|---|---|---|---|---|")
    for n_rows in options.rows:
        for name, classifier in classifiers.items():
            found = [measure(classifier, n_rows, seed) for seed in range(options.seeds)]
            *losses, processor, elapsed = np.mean(found, axis=0)
            cells = [f"{loss:.4f}" for loss in losses] + [f"{processor:.1f}", f"{elapsed:.1f}"]
            print(f"| {n_rows:,} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
