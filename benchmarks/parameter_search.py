"""Time the parameter search of a MendedClassifier against one cross-fitting, in one run.

    python benchmarks/parameter_search.py --data FOLDER [--out RESULTS.json] [--repeats N]

Fits :class:`pairmend.MendedClassifier` with logistic regression and with the random subspace
naive Bayes on real sets, and reports the seconds of processor time of

- the cross-fitting: five trainings, and five out-of-fold predictions;
- the search: everything in ``fit`` between the cross-fitting and the final training, that is
  distances, beta, scaling, shrinkage, stacking weights and decisions;
- the final training.

The ratio is that of search to cross-fitting. All figures are medians of several repeats.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import pairmend.mended.estimator
from pairmend import MendedClassifier, RandomSubspaceNB
from pairmend.datasets import load

SETS = ("yeast", "emotions", "medical", "plant", "arts")
BASES = {"logistic regression": None, "random subspace NB": RandomSubspaceNB()}
CRITERIA = ("hamming", "macro_f1")
"""The metrics with the fewest and with the most decisions to search."""
MOST_ROWS = 3000


def read(name: str, folder: Path) -> tuple:
    data = load(name, data_dir=folder)
    X, Y = data.X, np.asarray(data.Y).astype(int)
    some = np.sort(np.random.RandomState(0).permutation(len(Y))[:MOST_ROWS])
    return X[some], Y[some]


class Stopwatch:
    """Records when the cross-fitting starts and ends, and when the final training starts."""

    def __init__(self):
        self.cross_fit = pairmend.mended.estimator.cross_fit

    def __call__(self, model, *args, **options):
        """Cross-fit, and record the start of the model's final training."""
        self.started = time.process_time()
        parts = self.cross_fit(model, *args, **options)
        self.crossed = time.process_time()
        train = model.fit

        def fit(*args, **params):
            self.searched = time.process_time()
            return train(*args, **params)

        model.fit = fit  # cross-fitting trains clones, only the final training calls this
        return parts


def time_fit(base, criterion: str, X, Y) -> dict[str, float]:
    watch = Stopwatch()
    pairmend.mended.estimator.cross_fit = watch
    try:
        MendedClassifier(base, criterion=criterion, random_state=0).fit(X, Y)
    finally:
        pairmend.mended.estimator.cross_fit = watch.cross_fit
    return {
        "cross_fitting": watch.crossed - watch.started,
        "search": watch.searched - watch.crossed,
        "final_training": time.process_time() - watch.searched,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    results = []
    runs_to_time = [(name, base, criterion) for name in options.sets for base in BASES
             for criterion in CRITERIA]  # fmt: skip
    for name, base, criterion in track(runs_to_time, "fits", console=Console(stderr=True)):
        X, Y = read(name, options.data)
        runs = [time_fit(BASES[base], criterion, X, Y) for _ in range(options.repeats)]
        seconds = {part: float(np.median([run[part] for run in runs])) for part in runs[0]}
        ratio = float(np.median([run["search"] / run["cross_fitting"] for run in runs]))
        results.append({"set": name, "rows": X.shape[0], "features": X.shape[1],
                        "labels": Y.shape[1], "base": base, "criterion": criterion, **seconds,
                        "ratio": ratio})  # fmt: skip
    table = Table("set", "base", "criterion", "cross-fitting", "search", "final", "ratio",
                  title="Seconds of processor time")  # fmt: skip
    for found in results:
        table.add_row(found["set"], found["base"], found["criterion"],
                      *(f"{found[part]:.2f}" for part in
                        ("cross_fitting", "search", "final_training", "ratio")))  # fmt: skip
    Console().print(table)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
