"""Measure the time of a fit with the default base classifier, which is chosen, and with one.

    python benchmarks/base_choice.py --data FOLDER [--sets ...] [--repeats 3]

The datasets are those of the study "mended" with its limits of rows. The Markdown table has the
median time of a fit with the logistic regression alone (estimator=None) and with the default
(estimator="auto"), measured in turn, their ratio, and the weights that were chosen.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import track

from pairmend import MendedClassifier
from pairmend.study import load_study


def fit_seconds(estimator, X, Y) -> tuple[float, MendedClassifier]:
    """Return the time of a fit, and the classifier."""
    classifier = MendedClassifier(estimator, random_state=0)
    start = perf_counter()
    classifier.fit(X, Y)
    return perf_counter() - start, classifier


def measure(name: str, source, folder: Path, n_repeats: int) -> str:
    """Return a line of the table."""
    data = source.load(folder, False)
    times = []
    for _ in range(n_repeats):
        alone, _ = fit_seconds(None, data.X, data.Y)
        chosen, classifier = fit_seconds("auto", data.X, data.Y)
        times.append((alone, chosen))
    alone, chosen = np.median(times, axis=0)
    ratio = np.median([b / a for a, b in times])
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in classifier.base_weights_.items())
    n_rows, n_labels = data.Y.shape
    cells = [name, f"{n_rows:,}", str(n_labels), f"{alone:.2f}", f"{chosen:.2f}", f"{ratio:.1f}"]
    return f"| {' | '.join([*cells, weights])} |"


def main() -> None:
    study = load_study("mended")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--sets", nargs="+", choices=study.sets, default=list(study.sets))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| set | rows | labels | logistic regression, s | default, s | ratio | weights |")
    print("|---|---|---|---|---|---|---|")
    for name in track(options.sets, console=Console(stderr=True)):
        line = measure(name, study.sets[name], options.data, options.repeats)
        print(line, flush=True)


if __name__ == "__main__":
    main()
