"""Time all four algorithms against a plain loop of scikit-learn, in one run.

    python benchmarks/pair_learning.py --data FOLDER [--out RESULTS.json] [--large] [--growth]

Fits and predicts LPW, FCM, FCM-W and FCM-O in ten folds on real sets, and compares the time with

- a loop of one ``BaggingClassifier(GaussianNB(), n_estimators=20, max_features=0.2,
  bootstrap=False)`` a pair that trains what the algorithms need, timed on a sample of pairs and
  scaled up: once with one training for the three corrected algorithms ("shared"), as ours does,
  and once with a training for each ("apart");
- the bare products of matrices of the same shapes: sums over labels, scores of all pairs in all
  subspaces, distances, confusion sums.

Then it says what the time was spent on. ``--large`` runs FCM-O on a 90/10 split of Corel5k and of
a generated set of 1,000 labels, each in a process of its own whose peak memory is told;
``--growth`` doubles rows and labels. Each figure is a ratio of times measured in the same run.
"""

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import sparse
from sklearn.ensemble import BaggingClassifier
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.datasets import load
from pairmend.model_selection import hold_out, shuffled_folds

SETTINGS = [{}, {"balance": "labels"}, {"overlap": 0.5}]
"""FCM, FCM-W and FCM-O."""

STAGES = {
    "survey": [("naive_bayes.py", "survey")],
    "expansion": [("_basis.py", "expand"), ("scoring.py", "of")],
    "sums": [("sums.py", "over")],
    "terms": [("naive_bayes.py", "_work_out")],
    "scores": [("scoring.py", "scores")],
    "logistic": [("logistic.py", "mean_logistic")],
    "reference": [("rrc.py", "beta_reference")],
    "weights": [("corrected.py", "_weights")],
    "confusion": [("confusion.py", "confusion_sums")],
    "correction": [("confusion.py", "confusion"), ("correction.py", "correct")],
    "votes": [("ranking.py", "sum_supports")],
}
"""What is told apart in a profile, by the functions that do it."""

N_SUBSPACES, SUBSPACE = 20, 0.2


def read(name: str, folder: Path) -> tuple:
    data = load(name, data_dir=folder)
    return data.X, np.asarray(data.Y).astype(bool)


def run_fold(X, Y, train, test) -> None:
    PairwiseClassifier(random_state=0).fit(X[train], Y[train]).predict(X[test])
    corrected = CorrectedPairwiseClassifier(random_state=0).fit(X[train], Y[train])
    corrected.predict_each(X[test], SETTINGS)


def time_loop(X, Y, train, test, n_sampled: int, rng) -> dict[str, float]:
    """Seconds a fold of the loop would take, from a sample of pairs."""
    X = X.toarray() if sparse.issparse(X) else X
    T, V = (train[part] for part in hold_out(len(train), 0.6, np.random.RandomState(0)))
    n_labels = Y.shape[1]
    n_pairs = n_labels * (n_labels - 1) // 2
    first, second = np.triu_indices(n_labels, k=1)
    plain, corrected = [], []
    for m in rng.choice(n_pairs, min(n_sampled, n_pairs), replace=False):
        i, j = first[m], second[m]
        members = V[Y[V, i] | Y[V, j]]
        plain.append(time_pair(X, Y[:, i], train[Y[train, i] != Y[train, j]], [test]))
        corrected.append(time_pair(X, Y[:, i], T[Y[T, i] != Y[T, j]], [test, members]))
    mean = float(np.mean(plain)), float(np.mean(corrected))
    return {"shared": n_pairs * (mean[0] + mean[1]), "apart": n_pairs * (mean[0] + 3 * mean[1])}


def time_pair(X, y, rows, questions) -> float:
    started = time.perf_counter()
    if len(np.unique(y[rows])) == 2:  # else there is nothing to train
        model = BaggingClassifier(
            GaussianNB(), n_estimators=N_SUBSPACES, max_features=SUBSPACE, bootstrap=False
        ).fit(X[rows], y[rows])
        for asked in questions:
            if len(asked):
                model.predict_proba(X[asked])
    return time.perf_counter() - started


def time_products(X, Y, train, test) -> float:
    """Seconds of the matrix products of a fold, all of them dense, on ready matrices."""
    T, V = (train[part] for part in hold_out(len(train), 0.6, np.random.RandomState(0)))
    d, n_labels, t = X.shape[1], Y.shape[1], len(test)
    width, n_pairs = 2 * max(1, round(SUBSPACE * d)), n_labels * (n_labels - 1) // 2
    carrying = Y[V].sum(axis=0)
    shapes = [(n_labels, n, 2 * d) for n in (len(train), len(T))]  # sums over labels
    shapes += [(n_pairs, width, t)] * (2 * N_SUBSPACES)  # scores of test rows, twice
    shapes += [(n_labels - 1, width, n) for n in carrying] * N_SUBSPACES  # of validation rows
    shapes += [(len(V), d, t)]  # distances
    shapes += [(n_labels - 1, n, t) for n in carrying] * 2  # confusion sums
    rng = np.random.default_rng(0)
    matrices = {(a, b): rng.random((a, b)) for m, k, n in shapes for a, b in ((m, k), (k, n))}
    out = {(m, n): np.empty((m, n)) for m, _, n in shapes}
    seconds = 0.0
    for m, k, n in shapes:
        if min(m, k, n):
            started = time.perf_counter()
            np.matmul(matrices[m, k], matrices[k, n], out=out[m, n])
            seconds += time.perf_counter() - started
    return seconds


def profile_fold(X, Y, train, test) -> dict[str, float]:
    """Shares of the time of a fold by stage."""
    profile = cProfile.Profile()
    profile.runcall(run_fold, X, Y, train, test)
    stats = pstats.Stats(profile)
    spent = dict.fromkeys(STAGES, 0.0)
    for (path, _, function), (_, _, _, cumulative, callers) in stats.stats.items():
        for stage, functions in STAGES.items():
            nested = any(key[2] == function and key[0] == path for key in callers)
            if (Path(path).name, function) in functions and "pairmend" in path and not nested:
                spent[stage] += cumulative
    shares = {stage: seconds / stats.total_tt for stage, seconds in spent.items()}
    return {**shares, "rest": 1 - sum(shares.values())}


def measure(name: str, folder: Path, options, console) -> dict:
    X, Y = read(name, folder)
    folds = list(shuffled_folds(len(Y), options.folds, 0))
    rng = np.random.RandomState(0)
    run_fold(X, Y, *folds[0])
    ours, loops, products = 0.0, [], 0.0
    for train, test in track(folds, description=name, console=console, transient=True):
        started = time.perf_counter()
        run_fold(X, Y, train, test)
        ours += time.perf_counter() - started
        loops.append(time_loop(X, Y, train, test, options.sampled, rng))
        products += time_products(X, Y, train, test)
    loop = {kind: sum(fold[kind] for fold in loops) for kind in loops[0]}
    return {
        "set": name,
        "labels": Y.shape[1],
        "ours_s": ours,
        "shared_loop_s": loop["shared"],
        "times_shared": loop["shared"] / ours,
        "apart_loop_s": loop["apart"],
        "times_apart": loop["apart"] / ours,
        "products_s": products,
        "of_products": ours / products,
        "profile": profile_fold(X, Y, *folds[0]),
    }


def generate(n_labels: int, n_rows: int, n_features: int = 500, per_row: int = 19) -> tuple:
    """Rows of a few words each, drawn from what their labels speak of."""
    rng = np.random.default_rng(0)
    popularity = np.log(rng.gamma(1.0, size=n_labels) + 0.1)
    noise = popularity + rng.gumbel(size=(n_rows, n_labels))
    chosen = np.argpartition(-noise, per_row, axis=1)[:, :per_row]
    Y = np.zeros((n_rows, n_labels), dtype=bool)
    np.put_along_axis(Y, chosen, True, axis=1)
    topics = rng.integers(n_features, size=(n_labels, 5))
    spoken = rng.integers(per_row, size=(n_rows, 25))
    words = topics[np.take_along_axis(chosen, spoken, axis=1), rng.integers(5, size=spoken.shape)]
    cells = (rng.random(words.size) + 0.1, (np.repeat(np.arange(n_rows), 25), words.ravel()))
    return sparse.coo_array(cells, shape=(n_rows, n_features)).tocsr(), Y


def run_split(X, Y, n_validation: int | None = None) -> dict[str, float]:
    """Time FCM-O, fit and predict, on a 90/10 split."""
    order = np.random.RandomState(0).permutation(len(Y))
    test, train = order[: len(Y) // 10], order[len(Y) // 10 :]
    started, cpu = time.perf_counter(), time.process_time()
    share = 0.6 if n_validation is None else 1 - n_validation / len(train)
    model = CorrectedPairwiseClassifier(overlap=0.5, validation=share, random_state=0)
    model.fit(X[train], Y[train])
    fitted = time.perf_counter()
    model.predict(X[test])
    ended = time.perf_counter()
    return {
        "fit_s": fitted - started,
        "predict_s": ended - fitted,
        "total_s": ended - started,
        "processor_s": time.process_time() - cpu,  # what is left on a machine with other work
    }


def run_large(name: str, folder: Path) -> dict:
    """Run a large set in a process of its own, and tell its peak memory."""
    command = [sys.executable, __file__, "--data", str(folder), "--only", name]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {"set": name, **json.loads(ran.stdout)}


def peak_gib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def grow(console) -> list[dict]:
    """Time fit and predict while labels or rows double, with as many validation rows."""
    sizes = [(150, 3000), (300, 3000), (600, 3000), (150, 6000), (150, 12000)]
    rows = []
    for n_labels, n_rows in track(sizes, "growth", console=console, transient=True):
        X, Y = generate(n_labels, n_rows, per_row=5)
        best = min(run_split(X, Y, n_validation=1000)["processor_s"] for _ in range(3))
        before = next(
            (row for row in reversed(rows) if 2 * row["labels"] * row["rows"] == n_labels * n_rows),
            None,
        )
        times = best / before["processor_s"] if before else 1.0
        rows.append({"labels": n_labels, "rows": n_rows, "processor_s": best, "times": times})
    return rows


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
    parser.add_argument("--sets", nargs="*", default=["yeast", "plant", "medical"])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sampled", type=int, default=3, help="pairs of the loop timed in a fold")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    if options.only:
        X, Y = (
            generate(1000, 15000) if options.only == "generated" else read("corel5k", options.data)
        )
        print(json.dumps({"labels": Y.shape[1], **run_split(X, Y), "peak_gib": peak_gib()}))
        return
    console = Console()
    results: dict[str, list[dict]] = {}
    if options.sets:
        measured = [measure(name, options.data, options, console) for name in options.sets]
        plain = [{k: v for k, v in row.items() if k != "profile"} for row in measured]
        show("All four algorithms", plain, console)
        stages = [{"set": row["set"], **row["profile"]} for row in measured]
        show("What the time is spent on (shares, profiled)", stages, console)
        results["sets"] = measured
    if options.large:
        names = track(["corel5k", "generated"], "large sets", console=console, transient=True)
        results["large"] = [run_large(name, options.data) for name in names]
        show("FCM-O, 90/10 split", results["large"], console)
    if options.growth:
        results["growth"] = grow(console)
        show("Growth, 5 labels a row", results["growth"], console)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
