"""Compare time and memory of two source trees of pairmend in one run.

    git worktree add ../before COMMIT
    python benchmarks/compare_trees.py ../before . --data FOLDER [--only yeast-lpw mended-80000]

Each tree has a process of its own, and the two take turns: each runs a task once, fit and predict.
The table gives the medians over the rounds: seconds of both trees, the ratio after / before of
their wall times and of their processor times (above 1, the second tree is slower), and of both
trees the memory at the peak of a turn beyond that before it (Linux only). A third process takes
part with scikit-learn alone:

- loop: a ``BaggingClassifier(GaussianNB(), n_estimators=20, max_features=0.2, bootstrap=False)``
  for each pair of labels, timed on a sample of pairs and scaled up; for FCM-O trained on the rows
  outside of the validation set, and evaluated on validation rows and test rows;
- binary relevance: the same classifier for each label; beside MendedClassifier, a logistic
  regression of standardized features.

The columns "loop" and "relevance" say how many times as long these take as the second tree.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

N_SAMPLED = 20
"""Pairs of the loop that are timed in a turn."""
PAIRWISE = {
    "yeast-lpw": ("yeast", "lpw", 10),
    "yeast-fcm-o": ("yeast", "fcm-o", 10),
    "medical-csr-fcm-o": ("medical", "fcm-o", 10),
    "medical-dense-fcm-o": ("medical-dense", "fcm-o", 10),
    "plant-fcm-o": ("plant", "fcm-o", 10),
    "corel5k-fcm-o": ("corel5k", "fcm-o", 1),
    "yeast-all": ("yeast", "all", 10),
    "medical-all": ("medical", "all", 10),
    "plant-all": ("plant", "all", 10),
}
"""Set, algorithm, number of folds; "all" is LPW and one fit for FCM, FCM-W and FCM-O."""
MENDED = {"mended-yeast": "yeast", "mended-80000": "80000"}
TASKS = ["import", *PAIRWISE, *MENDED]
VARIANTS = [{}, {"balance": "labels"}, {"balance": None, "overlap": 0.5}]


@cache
def read(name: str, folder: str) -> tuple[Any, Any, list]:
    """Return rows, labels and ten folds of a set."""
    from sklearn.model_selection import KFold

    from pairmend.datasets import load

    if name == "80000":
        X, Y = generate(90_000)
        return X, Y, [(np.arange(80_000), np.arange(80_000, 90_000))]
    data = load(name.removesuffix("-dense"), data_dir=folder)
    sparse_rows = hasattr(data.X, "toarray") and name in ("medical", "corel5k")
    X = data.X if sparse_rows else np.asarray(getattr(data.X, "toarray", lambda: data.X)())
    Y = np.asarray(data.Y).astype(bool)
    return X, Y, list(KFold(10, shuffle=True, random_state=0).split(Y))


def generate(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in 100 clusters; 20 labels depend on the features and on the cluster."""
    random = np.random.RandomState(0)
    linear = random.randn(50, 20) / np.sqrt(50)
    centres, offsets = random.randn(100, 50), random.randn(100, 20)
    cluster = random.randint(100, size=n_rows)
    X = centres[cluster] + 0.7 * random.randn(n_rows, 50)
    scores = X @ linear + 2 * offsets[cluster] - 2
    return X, (scores + random.logistic(size=scores.shape) > 0).astype(np.int8)


def run_pairwise(X: Any, Y: Any, folds: list, algorithm: str) -> None:
    from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier

    for train, test in folds:
        if algorithm in ("lpw", "all"):
            PairwiseClassifier(random_state=0).fit(X[train], Y[train]).predict(X[test])
        if algorithm == "fcm-o":
            corrected = CorrectedPairwiseClassifier(overlap=0.5, random_state=0)
            corrected.fit(X[train], Y[train]).predict(X[test])
        if algorithm == "all":
            corrected = CorrectedPairwiseClassifier(random_state=0).fit(X[train], Y[train])
            for variant in VARIANTS:
                corrected.set_params(**variant).predict(X[test])


def task(name: str, folder: str) -> dict[str, Callable[[], Any]]:
    """Return the parts of a task, which are timed one after the other."""
    if name == "import":
        code = "from pairmend import MendedClassifier"
        return {name: partial(subprocess.run, [sys.executable, "-c", code], check=True)}
    if name in PAIRWISE:
        data, algorithm, n_folds = PAIRWISE[name]
        X, Y, folds = read(data, folder)
        return {name: partial(run_pairwise, X, Y, folds[:n_folds], algorithm)}
    from pairmend import MendedClassifier

    X, Y, folds = read(MENDED[name], folder)
    train, test = folds[0]
    classifier = MendedClassifier(random_state=0)
    return {
        f"{name} fit": lambda: classifier.fit(X[train], Y[train]),
        f"{name} predict": lambda: classifier.predict(X[test]),
    }


def reference(name: str, folder: str) -> dict[str, Callable[[], float]]:
    """Return functions that measure the seconds of scikit-learn for a task."""
    if name in PAIRWISE:
        data, algorithm, n_folds = PAIRWISE[name]
        if algorithm == "all":
            return {}
        X, Y, folds = read(data, folder)
        X = X.toarray() if hasattr(X, "toarray") else X
        return {
            "loop": partial(time_loop, X, Y, folds[:n_folds], algorithm),
            "relevance": partial(time_relevance, X, Y, folds[:n_folds]),
        }
    if name in MENDED:
        X, Y, folds = read(MENDED[name], folder)
        return {"relevance": partial(time_logistic, X, Y, folds[0])}
    return {}


def bagged() -> Any:
    from sklearn.ensemble import BaggingClassifier
    from sklearn.naive_bayes import GaussianNB

    return BaggingClassifier(GaussianNB(), n_estimators=20, max_features=0.2, bootstrap=False)


def time_loop(X: Any, Y: Any, folds: list, algorithm: str) -> float:
    """Estimate the seconds of a loop over all pairs from a sample of the pairs."""
    random = np.random.RandomState(0)
    pairs = np.column_stack(np.triu_indices(Y.shape[1], k=1))
    spent = 0.0
    for _ in range(N_SAMPLED):
        train, test = folds[random.randint(len(folds))]
        i, j = pairs[random.randint(len(pairs))]
        fitted, queries = train, [test]
        if algorithm == "fcm-o":
            cut = int(0.4 * len(train))
            fitted, validation = train[:cut], train[cut:]
            queries.append(validation[Y[validation, i] | Y[validation, j]])
        fitted = fitted[Y[fitted, i] != Y[fitted, j]]
        started = time.perf_counter()
        if len(np.unique(Y[fitted, i])) == 2:  # a pair of one class is not trained
            model = bagged().fit(X[fitted], Y[fitted, i])
            for rows in queries:
                if len(rows):
                    model.predict_proba(X[rows])
        spent += time.perf_counter() - started
    return spent / N_SAMPLED * len(pairs) * len(folds)


def time_relevance(X: Any, Y: Any, folds: list) -> float:
    """Estimate the seconds of binary relevance from a sample of the labels."""
    random = np.random.RandomState(0)
    spent = 0.0
    for _ in range(N_SAMPLED):
        train, test = folds[random.randint(len(folds))]
        label = random.randint(Y.shape[1])
        started = time.perf_counter()
        bagged().fit(X[train], Y[train, label]).predict_proba(X[test])
        spent += time.perf_counter() - started
    return spent / N_SAMPLED * Y.shape[1] * len(folds)


def time_logistic(X: Any, Y: Any, fold: tuple) -> float:
    """Return the seconds of fit and predict of a logistic regression for each label."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, test = fold
    started = time.perf_counter()
    relevance = MultiOutputClassifier(LogisticRegression(max_iter=500))
    make_pipeline(StandardScaler(), relevance).fit(X[train], Y[train]).predict(X[test])
    return time.perf_counter() - started


def processor_time() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def memory(kind: str) -> float:
    """Return VmRSS or VmHWM of this process in MiB, or NaN where the system has no such file."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(kind)), np.nan)


def reset_peak() -> None:
    """Begin to measure VmHWM anew."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def serve(folder: str, references: bool) -> None:
    """Run the task that each line of standard input names, and write what it took."""
    for line in sys.stdin:
        name = line.strip()
        result: dict[str, Any] = {}
        if references:
            result = {kind: measured() for kind, measured in reference(name, folder).items()}
        else:
            for part, run in task(name, folder).items():
                reset_peak()
                before = memory("VmRSS")
                wall, processor = time.perf_counter(), processor_time()
                run()
                spent = time.perf_counter() - wall, processor_time() - processor
                result[part] = (*spent, memory("VmHWM") - before)
        print(json.dumps(result), flush=True)


def start(tree: str, folder: str, *arguments: str) -> subprocess.Popen:
    """Start the process of one tree."""
    environment = {**os.environ, "PYTHONPATH": str(Path(tree).resolve() / "src")}
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", "--data", folder, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def take_turn(process: subprocess.Popen, name: str) -> dict[str, Any]:
    """Return what one turn took."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(name, file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="*", metavar="TREE", help="before and after")
    parser.add_argument("--data", required=True, help="folder with the real sets")
    parser.add_argument("--only", nargs="*", default=TASKS, choices=TASKS, metavar="TASK")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--without-scikit-learn", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--references", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.data, options.references)
        return
    if len(options.trees) != 2:
        parser.error(f"two source trees are needed, {len(options.trees)} found")
    before, after = (start(tree, options.data) for tree in options.trees)
    loops = start(options.trees[0], options.data, "--references")
    titles = "before s", "after s", "wall", "processor", "before MiB", "after MiB"
    print(f"{'task':<22}", *(f"{title:>11}" for title in (*titles, "loop", "relevance")))
    for name in options.only:
        take_turn(before, name), take_turn(after, name)  # compiled code is loaded here
        turns = [(take_turn(before, name), take_turn(after, name)) for _ in range(options.rounds)]
        n_references = 0 if options.without_scikit_learn else min(3, options.rounds)
        compared = [take_turn(loops, name) for _ in range(n_references)]
        total = statistics.median(sum(part[0] for part in new.values()) for _, new in turns)
        for part in turns[0][0]:
            pairs = [(old[part], new[part]) for old, new in turns]
            seconds, peaks = (
                [statistics.median(pair[tree][kind] for pair in pairs) for tree in (0, 1)]
                for kind in (0, 2)
            )
            ratios = [
                statistics.median(new[k] / max(old[k], 1e-9) for old, new in pairs) for k in (0, 1)
            ]
            times = [
                statistics.median(row[kind] for row in compared) / total
                if compared and kind in compared[0]
                else np.nan
                for kind in ("loop", "relevance")
            ]
            cells = [*(f"{value:11.3f}" for value in (*seconds, *ratios))]
            cells += [f"{value:11.0f}" for value in peaks] + [f"{value:11.3g}" for value in times]
            print(f"{part:<22}", *cells, flush=True)
    for process in (before, after, loops):
        process.terminate()


if __name__ == "__main__":
    main()
