"""Time the four algorithms of the study against a loop over pairs with scikit-learn, in one run.

    python benchmarks/pair_learning.py --data FOLDER [--out RESULTS.json]
        [--large] [--growth] [--bases] [--density]

Fits and predicts LPW, FCM, FCM-W and FCM-O in ten folds on real sets, and compares the time with

- a loop that trains one ``BaggingClassifier(GaussianNB(), n_estimators=20, max_features=0.2,
  bootstrap=False)`` for each pair, timed on a sample of pairs and scaled up: once with one
  training for the three corrected algorithms ("shared"), as in pairmend, and once with a
  training for each ("separate");
- the matrix products of the same shapes alone: sums over labels, scores of all pairs in all
  subspaces, distances, confusion sums.

In each of several rounds, each variant is timed over all folds; the table gives medians. The loop
gets dense rows, pairmend those of the loader, which are dense where few cells are zero. A second
table gives the shares of the time by stage, in one thread. ``--large`` runs FCM-O on a 90/10 split
of Corel5k and of a generated set of 1,000 labels; ``--growth`` doubles labels, rows, features and
labels per row; both run in separate processes and report peak memory. ``--bases`` compares
other base classifiers with a loop over the pairs. ``--density`` compares medical as an array, which
is mostly zeros, with the same numbers as CSR, by the shortest time of several rounds. All ratios
are of times measured in the same run; processor times are more reliable on a machine with other
work.
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
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier
from pairmend._utils.arrays import densify
from pairmend.datasets import load
from pairmend.kernels.pairs import label_pairs
from pairmend.model_selection import validation_split

SETTINGS = [{}, {"balance": "labels"}, {"overlap": 0.5}]
"""FCM, FCM-W and FCM-O."""

STAGES = {
    "rows": [("arrays.py", "take_rows"), ("pair_learning.py", "take")],
    "checks": [
        ("base.py", "_validate_params"),
        ("base.py", "_check_predict"),
        ("base.py", "_read_problem"),
        ("base.py", "_remember_problem"),
        ("classifiers.py", "seed_estimator"),
        ("estimator.py", "read_numbers"),
    ],
    "feature statistics": [
        ("estimator.py", "statistics_of_values"),
        ("features.py", "of"),
    ],
    "design matrix": [
        ("features.py", "expand"),
        ("features.py", "from_rows"),
        ("likelihood.py", "of"),
    ],
    "sums": [("likelihood.py", "over")],
    "terms": [("naive_bayes.py", "_update_scorers")],
    "supports": [
        ("likelihood.py", "scores"),
        ("likelihood.py", "at"),
        ("likelihood.py", "supports"),
        ("likelihood.py", "supports_of_pairs"),
        ("likelihood.py", "folded_supports_at"),
        ("logistic.py", "mean_logistic"),
        ("logistic.py", "folded_mean_logistic"),
    ],
    "reference": [("rrc.py", "decide"), ("rrc.py", "beta_reference")],
    "distances": [("neighbourhoods.py", "fit"), ("corrected.py", "_weights")],
    "confusion": [("confusion.py", "confusion")],
    "correction": [("confusion.py", "correct")],
    "votes": [("votes.py", "sum_supports")],
    "blocks": [
        ("naive_bayes.py", "_own_supports"),
        ("naive_bayes.py", "_all_rows"),
        ("naive_bayes.py", "_at_labels"),
        ("naive_bayes.py", "_select"),
        ("naive_bayes.py", "_fill_separable_at"),
        ("naive_bayes.py", "_label_scores"),
    ],
}
"""Stages of a profile by file and function; functions they call count unless in other stages."""

N_SUBSPACES, SUBSPACE = 20, 0.2


def read(name: str, folder: Path) -> tuple:
    data = load(name, data_dir=folder)
    return densify(data.X), np.asarray(data.Y).astype(bool)


def take(X, Y, rows) -> tuple:
    return X[rows], Y[rows]


def run_fold(X, Y, train, test) -> None:
    queries, _ = take(X, Y, test)
    rows = take(X, Y, train)
    PairwiseClassifier(random_state=0).fit(*rows).predict(queries)
    corrected = CorrectedPairwiseClassifier(random_state=0).fit(*rows)
    for setting in SETTINGS:
        corrected.set_params(**setting).predict(queries)


def now() -> np.ndarray:
    """Return wall time and processor time."""
    return np.array([time.perf_counter(), time.process_time()])


def time_loop(X, Y, train, test, n_sampled: int, rng) -> dict[str, np.ndarray]:
    """Estimate the seconds of the loop in a fold from a sample of pairs."""
    X = X.toarray() if sparse.issparse(X) else X
    T, V, _ = validation_split(train, 0.6, np.random.RandomState(0))
    n_labels = Y.shape[1]
    n_pairs = n_labels * (n_labels - 1) // 2
    first, second = np.triu_indices(n_labels, k=1)
    plain, corrected = [], []
    for m in rng.choice(n_pairs, min(n_sampled, n_pairs), replace=False):
        i, j = first[m], second[m]
        members = V[Y[V, i] | Y[V, j]]
        plain.append(time_pair(X, Y[:, i], train[Y[train, i] != Y[train, j]], [test]))
        corrected.append(time_pair(X, Y[:, i], T[Y[T, i] != Y[T, j]], [test, members]))
    mean = np.mean(plain, axis=0), np.mean(corrected, axis=0)
    return {"shared": n_pairs * (mean[0] + mean[1]), "separate": n_pairs * (mean[0] + 3 * mean[1])}


def time_pair(X, y, rows, queries) -> np.ndarray:
    started = now()
    if len(np.unique(y[rows])) == 2:  # a pair of one class is not trained
        model = BaggingClassifier(
            GaussianNB(), n_estimators=N_SUBSPACES, max_features=SUBSPACE, bootstrap=False
        ).fit(X[rows], y[rows])
        for chosen in queries:
            if len(chosen):
                model.predict_proba(X[chosen])
    return now() - started


def time_products(X, Y, train, test) -> np.ndarray:
    """Time the matrix products of a fold on prepared dense matrices.

    One thread: BLAS threads are slow on a machine with other work.
    """
    T, V, _ = validation_split(train, 0.6, np.random.RandomState(0))
    d, n_labels, t = X.shape[1], Y.shape[1], len(test)
    width, n_pairs = 2 * max(1, round(SUBSPACE * d)), n_labels * (n_labels - 1) // 2
    n_positive = Y[V].sum(axis=0)
    shapes = [(n_labels, n, 2 * d) for n in (len(train), len(T))]  # sums over labels
    shapes += [(n_pairs, width, t)] * (2 * N_SUBSPACES)  # scores of test rows, twice
    shapes += [(n_labels - 1, width, n) for n in n_positive] * N_SUBSPACES  # of validation rows
    shapes += [(len(V), d, t)]  # distances
    shapes += [(n_labels - 1, n, t) for n in n_positive] * 2  # confusion sums
    rng = np.random.default_rng(0)
    matrices = {(a, b): rng.random((a, b)) for m, k, n in shapes for a, b in ((m, k), (k, n))}
    out = {(m, n): np.empty((m, n)) for m, _, n in shapes}
    with threadpool_limits(limits=1):
        started = now()
        for m, k, n in shapes:
            np.matmul(matrices[m, k], matrices[k, n], out=out[m, n])
        return now() - started


def profile_folds(X, Y, folds) -> dict[str, float]:
    """Return the shares of the time by stage, in one thread."""
    profile = cProfile.Profile()
    with threadpool_limits(limits=1):
        for train, test in folds:
            profile.runcall(run_fold, X, Y, train, test)
    stats = pstats.Stats(profile).stats
    stage_of = {
        key: stage
        for key in stats
        for stage, functions in STAGES.items()
        if (Path(key[0]).name, key[2]) in functions
    }
    # The own time of a function belongs to its stage, or is divided among its callers' stages.
    spent = dict.fromkeys([*STAGES, "rest"], 0.0)
    shares: dict[tuple, dict[str, float]] = {}

    def stages(key: tuple, seen: frozenset) -> dict[str, float]:
        if key in stage_of:
            return {stage_of[key]: 1.0}
        if key in seen:
            return {}
        if key not in shares:
            mixed = dict.fromkeys(spent, 0.0)
            callers = stats[key][4]
            total = sum(caller[3] for caller in callers.values()) or 1.0
            for caller, (_, _, _, cumulative) in callers.items():
                for stage, share in stages(caller, seen | {key}).items():
                    mixed[stage] += share * cumulative / total
            shares[key] = mixed
        return shares[key]

    whole = sum(own for _, _, own, _, _ in stats.values())
    for key, (_, _, own, _, _) in stats.items():
        found = stages(key, frozenset())
        for stage, share in found.items():
            spent[stage] += share * own / whole
        spent["rest"] += (1 - sum(found.values())) * own / whole
    return spent


def measure(name: str, folder: Path, options, console) -> dict:
    X, Y = read(name, folder)
    folds = list(KFold(options.folds, shuffle=True, random_state=0).split(Y))
    rng = np.random.RandomState(0)
    run_fold(X, Y, *folds[0])
    rounds = []
    for _ in track(range(options.rounds), description=name, console=console, transient=True):
        started = now()
        for train, test in folds:
            run_fold(X, Y, train, test)
        ours = now() - started
        products = sum(time_products(X, Y, train, test) for train, test in folds)
        looped = [time_loop(X, Y, train, test, options.sampled, rng) for train, test in folds]
        rounds.append(
            [
                ours,
                products,
                *(sum(fold[kind] for fold in looped) for kind in ("shared", "separate")),
            ]
        )
    ours, products, shared, separate = np.median(rounds, axis=0)
    return {
        "set": name,
        "labels": Y.shape[1],
        "ours_s": ours[0],
        "loop_s": shared[0],
        "times_shared": shared[0] / ours[0],
        "times_separate": separate[0] / ours[0],
        "products_s": products[0],
        "of_products": ours[0] / products[0],
        "processor_s": ours[1],
        "processor_times_shared": shared[1] / ours[1],
        "processor_of_products": ours[1] / products[1],
        "profile": profile_folds(X, Y, folds[:3]),
    }


def generate(n_labels: int, n_rows: int, n_features: int = 500, per_row: int = 19) -> tuple:
    """Generate sparse rows of 25 words each, drawn from the words of their labels."""
    rng = np.random.default_rng(0)
    popularity = np.log(rng.gamma(1.0, size=n_labels) + 0.1)
    noise = popularity + rng.gumbel(size=(n_rows, n_labels))
    chosen = np.argpartition(-noise, per_row, axis=1)[:, :per_row]
    Y = np.zeros((n_rows, n_labels), dtype=bool)
    np.put_along_axis(Y, chosen, True, axis=1)
    topics = rng.integers(n_features, size=(n_labels, 5))
    label = rng.integers(per_row, size=(n_rows, 25))
    words = topics[np.take_along_axis(chosen, label, axis=1), rng.integers(5, size=label.shape)]
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
        "processor_s": time.process_time() - cpu,
    }


def run_in_process(only: list, folder: Path) -> dict:
    """Run a split of a set in a separate process; return times and peak memory."""
    command = [sys.executable, __file__, "--data", str(folder), "--only", *map(str, only)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def run_here(only: list[str], folder: Path) -> dict:
    """Run the arguments of :func:`run_in_process`: a set, or the size of a generated one."""
    if only[0] != "generated":
        return {**run_split(*read(only[0], folder)), "peak_gib": peak_gib()}
    n_labels, n_rows, n_features, per_row, n_validation, times = map(int, only[1:])
    rows = generate(n_labels, n_rows, n_features, per_row)
    runs = [run_split(*rows, n_validation or None) for _ in range(times)]
    return {**min(runs, key=lambda run: run["processor_s"]), "peak_gib": peak_gib()}


def peak_gib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def grow(folder: Path, console) -> list[dict]:
    """Time fit and predict while one size doubles, with a fixed number of validation rows."""
    start = {"labels": 150, "rows": 3000, "features": 500, "labels_per_row": 5}
    steps = [("", 1), *((name, times) for name in start for times in (2, 4))]
    rows: list[dict] = []
    for name, times in track(steps, "growth", console=console, transient=True):
        size = {**start, **({name: start[name] * times} if name else {})}
        ran = run_in_process(["generated", *size.values(), 1000, 3], folder)
        before = rows[-1] if times == 4 else rows[0] if rows else ran
        rows.append(
            {
                "doubled": name,
                **size,
                "processor_s": ran["processor_s"],
                "times": ran["processor_s"] / before["processor_s"],
                "peak_gib": ran["peak_gib"],
            }
        )
    return rows


def compare_bases(folder: Path, console) -> list[dict]:
    """Time LPW with other base classifiers on one fold against a loop over the pairs."""
    X, Y = read("yeast", folder)
    train, test = next(iter(KFold(10, shuffle=True, random_state=0).split(Y)))
    bases = [LogisticRegression(max_iter=500), DecisionTreeClassifier(max_depth=8, random_state=0)]
    rows = []
    for base in track(bases, "bases", console=console, transient=True):
        started = now()
        for i, j in label_pairs(Y.shape[1]):
            here = train[Y[train, i] != Y[train, j]]
            if len(np.unique(Y[here, i])) == 2:
                clone(base).fit(X[here], Y[here, i]).predict_proba(X[test])
        loop = now() - started
        times = {}
        for n_jobs in (1, 2):
            started = now()
            PairwiseClassifier(base, n_jobs=n_jobs).fit(X[train], Y[train]).predict(X[test])
            times[n_jobs] = now() - started
        rows.append(
            {
                "base": type(base).__name__,
                "loop_s": loop[0],
                "ours_s": times[1][0],
                "two_jobs_s": times[2][0],
                "processor_of_loop": times[1][1] / loop[1],
            }
        )
    return rows


def compare_forms(folder: Path, rounds: int, console) -> list[dict]:
    """Time fit and predict on one fold of medical as CSR and as an array."""
    data = load("medical", data_dir=folder)
    X, Y = sparse.csr_array(data.X), np.asarray(data.Y).astype(bool)
    train, test = next(iter(KFold(10, shuffle=True, random_state=0).split(Y)))
    forms = {"csr": X, "array": X.toarray()}
    parts = {name: (form[train], form[test]) for name, form in forms.items()}
    models = {
        "LPW": PairwiseClassifier(random_state=0),
        "FCM-O": CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
        "MendedClassifier": MendedClassifier(None, random_state=0),
    }
    rows = []
    for name, model in track(models.items(), "density", console=console, transient=True):
        seconds: dict[str, list] = {form: [] for form in forms}
        predicted = {}
        for _ in range(rounds):
            for form, (X_train, X_test) in parts.items():
                started = time.perf_counter()
                predicted[form] = clone(model).fit(X_train, Y[train]).predict(X_test)
                seconds[form].append(time.perf_counter() - started)
        csr, array = (min(seconds[form]) for form in forms)
        equal = bool((predicted["csr"] == predicted["array"]).all())
        rows.append(
            {
                "classifier": name,
                "csr_s": csr,
                "array_s": array,
                "times": array / csr,
                "same_predictions": equal,
            }
        )
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
    parser.add_argument("--rounds", type=int, default=7, help="number of timings of each variant")
    parser.add_argument(
        "--sampled", type=int, default=2, help="pairs of the loop to time in each fold"
    )
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--bases", action="store_true")
    parser.add_argument("--density", action="store_true")
    parser.add_argument("--only", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(run_here(options.only, options.data)))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    results: dict[str, list[dict]] = {}
    if options.sets:
        measured = [measure(name, options.data, options, console) for name in options.sets]
        plain = [{k: v for k, v in row.items() if k != "profile"} for row in measured]
        show("All four algorithms", plain, console)
        stages = [{"set": row["set"], **row["profile"]} for row in measured]
        show("Shares of the time by stage (profiled)", stages, console)
        results["sets"] = measured
    if options.large:
        large = [["corel5k"], ["generated", 1000, 15000, 500, 19, 0, 1]]
        names = track(large, "large sets", console=console, transient=True)
        results["large"] = [{"set": o[0], **run_in_process(o, options.data)} for o in names]
        show("FCM-O, 90/10 split", results["large"], console)
    if options.growth:
        results["growth"] = grow(options.data, console)
        show("Growth, FCM-O", results["growth"], console)
    if options.bases:
        results["bases"] = compare_bases(options.data, console)
        show("Other bases on yeast, LPW, one fold", results["bases"], console)
    if options.density:
        results["density"] = compare_forms(options.data, options.rounds, console)
        show("medical as CSR and as an array, one fold", results["density"], console)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
