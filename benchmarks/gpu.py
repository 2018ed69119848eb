"""Time classifiers on a GPU, and on the processors of the same machine; compare their scores.

    SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--repeats 5] [--without-cpu] [--crossover]
    SCIPY_ARRAY_API=1 python benchmarks/gpu.py --data FOLDER [--library torch cupy] [--device cuda]

Data are generated in the shapes of real sets:

- delicious: 16,105 rows, 500 features, 983 labels with 20 a row; FCM-O, 90 % of the rows for fit;
- yeast: 2,417 rows, 103 features, 14 labels with 4 a row; the same;
- large: 200,000 rows to fit and 100,000 to predict, 100 features, 50 labels; MendedClassifier with
  its logistic regression, with the default number of landmarks and with all rows as landmarks.

Times are medians in seconds after a first run, with arrays of torch in single precision that are
on the device already. "floor" is the larger of two times: the operations of the matrix products,
divided by the rate of a large product measured before, and the bytes of data and result, divided by
the rate of a large copy. "local" is the number of local corrections that were chosen. The
processors run numpy with double precision, once, after a run on part of the rows that compiles.
``--crossover`` times FCM-O with growing numbers of labels on both.

``--data`` times nothing. It fits LPW, FCM-W and FCM-O on each real set of a folder, with numpy in
double precision and with arrays of torch or CuPy in double and in single precision, and
MendedClassifiers of a logistic regression and of a Gaussian naive Bayes. It predicts a tenth of the
rows, and prints the largest difference of any score. "predicted" is the number of labels predicted
on one side only, "no tie" the number of these whose score is further from the threshold than 1e-9,
in single precision 1e-4. The exit status is 1 if scores differ
by more than these numbers, or a prediction that is no tie differs.
``--device cpu`` needs no GPU.
"""

import argparse
import importlib
import statistics
import time
from pathlib import Path

import numpy as np
import sklearn
import torch
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier
from pairmend.datasets import load

SUBSPACES, SHARE = 20, 0.2
NEWTON_STEPS, FITS = 7, 6
MAX_CELLS = 2**28
"""Cells of a real set, at the most: 2 GiB in double precision."""
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}
"""Largest differences of scores by the precision of the rows on the device."""
COMPARED = {
    "LPW": PairwiseClassifier(random_state=0),
    "FCM-W": CorrectedPairwiseClassifier(balance="labels", random_state=0),
    "FCM-O": CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
    "Mended-LR": MendedClassifier(None, random_state=0),
    "Mended-NB": MendedClassifier(GaussianNB(), random_state=0),
}
"""Classifiers whose scores are compared."""


def pairwise_set(n_rows, n_features, n_labels, n_of_row, seed=0):
    """Labels of falling frequency, and features that depend on them."""
    rng = np.random.RandomState(seed)
    log_frequency = -np.log(np.arange(n_labels) + 20.0)
    drawn = log_frequency + rng.gumbel(size=(n_rows, n_labels))
    Y = np.zeros((n_rows, n_labels), dtype=np.int8)
    chosen = np.argpartition(-drawn, n_of_row, axis=1)[:, :n_of_row]
    np.put_along_axis(Y, chosen, 1, axis=1)
    X = 0.3 * Y @ rng.randn(n_labels, n_features) + rng.randn(n_rows, n_features)
    return X.astype(np.float32), Y


def large_set(n_rows, n_features=100, n_labels=50, seed=0):
    """Labels by logistic models whose errors depend on where a row is."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows, n_features).astype(np.float32)
    scores = X @ (0.3 * rng.randn(n_features, n_labels)) - 2
    scores += 1.5 * np.sin(2 * X[:, :1]) * rng.randn(n_labels)
    return X, (scores + rng.logistic(size=scores.shape) > 0).astype(np.int8)


def fcm_o():
    """Return the classifier of the pairwise sets."""
    return CorrectedPairwiseClassifier(overlap=0.5, random_state=0)


def timed(action):
    """Return the result and the seconds of an action, with all work of the device done."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = action()
    torch.cuda.synchronize()
    return result, time.perf_counter() - start


def rates():
    """Return operations a second of products in single and double precision, and bytes a second."""
    found = []
    for dtype in (torch.float32, torch.float64):
        a, b = (torch.randn(8192, 8192, dtype=dtype, device="cuda") for _ in range(2))
        seconds = min(timed(lambda a=a, b=b: a @ b)[1] for _ in range(5))
        found.append(2 * 8192**3 / seconds)
    x = torch.randn(2**28, device="cuda")
    return (*found, 2 * 4 * 2**28 / min(timed(x.clone)[1] for _ in range(5)))


def pairwise_floor(X, Y, cut, rate):
    """Return the floor of fit and prediction of FCM-O."""
    n_labels, n_features = Y.shape[1], X.shape[1]
    n_pairs, n_queries = n_labels * (n_labels - 1) / 2, len(X) - cut
    trained, validated = 0.6 * Y[:cut].sum(), 0.4 * Y[:cut].sum()
    width = SUBSPACES * (2 * SHARE * n_features + 1)
    single = 2 * width * (n_pairs * n_queries + validated * n_labels)
    double = 2 * (2 * trained * n_labels * 2 * n_features + 2 * validated * n_labels * n_queries)
    operations = single / rate[0] + double / rate[1]
    return max(operations, 4 * (X.size + n_queries * n_labels) / rate[2])


def on_device(X, Y, cut):
    """Return the training rows, their labels and the rows to predict as tensors."""
    return [torch.asarray(part, device="cuda") for part in (X[:cut], Y[:cut], X[cut:])]


def run_on_device(make, X, Y, cut, repeats):
    """Return median seconds of fit and of prediction, the classifier, and the peak of memory."""
    rows, labels, queries = on_device(X, Y, cut)
    fits, predictions = [], []
    with sklearn.config_context(array_api_dispatch=True):
        for repeat in range(repeats + 1):
            torch.cuda.reset_peak_memory_stats()
            clf, fit = timed(lambda: make().fit(rows, labels))
            _, predict = timed(lambda clf=clf: clf.predict(queries))
            if repeat:
                fits.append(fit)
                predictions.append(predict)
    peak = torch.cuda.max_memory_allocated() / 2**30
    return statistics.median(fits), statistics.median(predictions), clf, peak


def run_on_cpu(make, X, Y, cut):
    """Return seconds of fit and of prediction with numpy."""
    few = slice(max(0, cut - 3000), cut)
    make().fit(X[few].astype(float), Y[few]).predict(X[cut : cut + 300].astype(float))
    rows, queries = X[:cut].astype(float), X[cut:].astype(float)
    start = time.perf_counter()
    clf = make().fit(rows, Y[:cut])
    middle = time.perf_counter()
    clf.predict(queries)
    return middle - start, time.perf_counter() - middle


def large_floors(clf, n_rows, n_queries, n_features, n_labels, rate):
    """Return the floors of fit and of prediction of MendedClassifier."""
    fit = FITS * NEWTON_STEPS * 2 * n_rows * n_features**2 * n_labels / rate[1]
    corrector = clf._corrector.by_label
    n_landmarks = len(corrector.landmarks)
    per_pair = 2 * (n_features + 3 * n_labels + 1)
    predict = len(corrector._local_names) * per_pair * n_queries * n_landmarks / rate[0]
    return fit, max(predict, 4 * n_queries * (n_features + n_labels) / rate[2])


def crossover():
    """Time FCM-O with growing numbers of labels."""
    for n_labels in (5, 14, 30, 60, 120, 250):
        X, Y = pairwise_set(3000, 100, n_labels, max(1, min(5, n_labels // 3)))
        fit, predict, _, _ = run_on_device(fcm_o, X, Y, 2700, 3)
        on_cpu = run_on_cpu(fcm_o, X, Y, 2700)
        print_row(f"3,000 rows, {n_labels} labels", cells(fit, predict, None, on_cpu, None))


def cells(fit, predict, floor, on_cpu, peak):
    """Return the cells of a row of the table."""
    texts = [f"{fit:.3f}", f"{predict:.3f}", f"{fit + predict:.3f}"]
    texts.append("" if floor is None else f"{floor:.3f}")
    texts.append("" if on_cpu is None else f"{on_cpu[0]:.2f} + {on_cpu[1]:.2f}")
    return [*texts, "" if peak is None else f"{peak:.2f}"]


def print_row(name, texts):
    """Print a row of the table at once: those of the processors take minutes."""
    print(f"{name:<44}" + "".join(f"{text:>10}" for text in texts[:4]) + f"{texts[4]:>18}", end="")
    print(f"{texts[5]:>10}", flush=True)


def compare_sets(folder, libraries, device):
    """Print a row for each set of a folder and library; return whether all scores are equal."""
    titles = ["library", "rows", "features", "labels"]
    titles += [f"{name} {dtype}" for dtype in TOLERANCES for name in COMPARED]
    titles += [title for _ in TOLERANCES for title in ("predicted", "no tie")]
    print(f"{'':<14}" + "".join(f"{title:>18}" for title in titles), flush=True)
    all_equal = True
    for name in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        data = load(name, folder)
        n_rows, n_features = data.X.shape
        if n_rows * n_features > MAX_CELLS:
            print(f"{name:<14}left out: {n_rows} x {n_features} cells are too many", flush=True)
            continue
        order = np.random.RandomState(0).permutation(n_rows)
        X, Y = data.X[order], np.asarray(data.Y)[order].astype(np.int8)
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        cut = int(0.9 * n_rows)
        expected = {key: outputs(clf, X[:cut], Y[:cut], X[cut:]) for key, clf in COMPARED.items()}
        for library in libraries:
            differences, counts = compare_scores(X, Y, cut, expected, library, device)
            texts = [library, str(n_rows), str(n_features), str(Y.shape[1])]
            texts += [f"{each:.1e}" for each in differences.values()]
            texts += [str(each) for each in counts]
            print(f"{name:<14}" + "".join(f"{text:>18}" for text in texts), flush=True)
            all_equal &= all(each <= TOLERANCES[dtype] for (dtype, _), each in differences.items())
            all_equal &= not any(counts[1::2])
    return all_equal


def outputs(classifier, rows, labels, queries):
    """Fit a clone; return its scores and its predictions."""
    clf = sklearn.clone(classifier).fit(rows, labels)
    return clf.predict_proba(queries), clf.predict(queries)


def compare_scores(X, Y, cut, expected, library, device):
    """Return differences from expected outputs by precision and classifier, and counts.

    For each precision there are two counts: of differing predictions, and of those without a tie.
    """
    differences, counts = {}, []
    for dtype in TOLERANCES:
        parts = [X[:cut].astype(dtype), Y[:cut], X[cut:].astype(dtype)]
        rows, labels, queries = (to_device(part, library, device) for part in parts)
        n_different = n_without_tie = 0
        for name in COMPARED:
            with sklearn.config_context(array_api_dispatch=True):
                scores, decisions = outputs(COMPARED[name], rows, labels, queries)
            expected_scores, expected_decisions = expected[name]
            differences[dtype, name] = np.abs(to_numpy(scores) - expected_scores).max()
            different = to_numpy(decisions) != expected_decisions
            n_different += np.count_nonzero(different)
            from_threshold = np.abs(expected_scores[different] - 0.5)
            n_without_tie += np.count_nonzero(from_threshold > TOLERANCES[dtype])
        counts += [n_different, n_without_tie]
    return differences, counts


def to_device(array, library, device):
    """Return an array of torch or CuPy."""
    if library == "torch":
        return torch.asarray(array, device=device)
    return importlib.import_module(library).asarray(array)


def to_numpy(array):
    """Return an array of numpy from one of torch or CuPy."""
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


def main():
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without-cpu", action="store_true")
    parser.add_argument("--crossover", action="store_true")
    parser.add_argument("--data", type=Path, help="folder with real sets, to compare scores")
    parser.add_argument("--library", choices=["torch", "cupy"], nargs="+", default=["torch"])
    parser.add_argument("--device", default="cuda", help="device of torch for --data")
    options = parser.parse_args()
    if options.data is not None:
        raise SystemExit(not compare_sets(options.data, options.library, options.device))
    if not torch.cuda.is_available():
        raise SystemExit("No GPU was found: torch.cuda.is_available() is false.")
    rate = rates()
    print(
        f"{torch.cuda.get_device_name()}: {rate[0] / 1e12:.0f} and {rate[1] / 1e12:.0f} TFLOP/s in "
        f"single and double precision, copies {rate[2] / 1e12:.1f} TB/s"
    )
    print_row("", ["fit", "predict", "both", "floor", "processors", "peak GiB"])
    if options.crossover:
        crossover()
    for name, shape in (("delicious", (16105, 500, 983, 20)), ("yeast", (2417, 103, 14, 4))):
        X, Y = pairwise_set(*shape)
        cut = int(0.9 * len(X))
        fit, predict, _, peak = run_on_device(fcm_o, X, Y, cut, options.repeats)
        on_cpu = None if options.without_cpu else run_on_cpu(fcm_o, X, Y, cut)
        floor = pairwise_floor(X, Y, cut, rate)
        print_row(f"{name}, FCM-O", cells(fit, predict, floor, on_cpu, peak))
    X, Y = large_set(300_000)
    for max_landmarks in (2500, None):

        def make(max_landmarks=max_landmarks):
            return MendedClassifier(None, max_landmarks=max_landmarks, random_state=0)

        fit, predict, clf, peak = run_on_device(make, X, Y, 200_000, max(2, options.repeats // 2))
        on_cpu = None
        if not options.without_cpu and max_landmarks:
            on_cpu = run_on_cpu(make, X, Y, 200_000)
        floors = large_floors(clf, 200_000, 100_000, X.shape[1], Y.shape[1], rate)
        n_local = len(clf._corrector.by_label.scalings)
        name = f"large, {max_landmarks or 'all'} landmarks, {n_local} local"
        print_row(name, cells(fit, predict, sum(floors), on_cpu, peak))


if __name__ == "__main__":
    main()
