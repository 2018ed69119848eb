"""Time and memory of MendedClassifier beside binary relevance with 2,000 labels.

    python benchmarks/many_labels.py [--rows 8000] [--labels 2000]

Rows are generated: which of 1,000 words occur in each, about 45 of them, and about five labels
each. A label has eight words of its own, which are more frequent in its rows; few labels are
frequent, most are rare, labels of a group occur together, and a fifth of them is not recorded.
Each method runs in a process of its own, with the same logistic regression. A quarter as many rows
is predicted. Times are those of the processor, memory is the peak of the process beyond the data.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance

N_WORDS, N_OWN, N_GROUP, LENGTH = 1_000, 8, 10, 60
METHODS = {
    "binary relevance": lambda: BinaryRelevance(ScaledLogisticRegression()),
    "`MendedClassifier(None)`": lambda: MendedClassifier(
        None, criterion="micro_f1", random_state=0
    ),
    "`MendedClassifier()`": lambda: MendedClassifier(criterion="micro_f1", random_state=0),
}


def generate(n_rows: int, n_labels: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return which words occur in rows, and labels."""
    rng = np.random.RandomState(0)
    frequency = 1 / np.arange(5, 5 + n_labels)
    own = rng.randint(N_WORDS, size=(n_labels, N_OWN))
    common = 1 / np.arange(10, 10 + N_WORDS)
    common /= common.sum()
    Y = np.zeros((n_rows, n_labels), dtype=np.int8)
    occurs = sparse.lil_array((n_rows, N_WORDS))
    order = rng.permutation(n_labels)  # groups have frequent and rare labels
    for row in range(n_rows):
        first = rng.choice(n_labels, size=1 + rng.poisson(2), p=frequency / frequency.sum())
        group = order[(np.argsort(order)[first[0]] // N_GROUP * N_GROUP) :][:N_GROUP]
        labels = np.union1d(first, group[rng.rand(len(group)) < 0.25])
        Y[row, labels] = 1
        words = rng.choice(N_WORDS, size=LENGTH, p=common)
        topical = rng.rand(LENGTH) < 0.7
        words[topical] = own[rng.choice(labels, LENGTH), rng.randint(N_OWN, size=LENGTH)][topical]
        occurs[row, np.unique(words)] = 1
        Y[row] *= rng.rand(n_labels) < 0.8
    return sparse.csr_array(occurs), Y


def peak() -> float:
    """Return the peak of the memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(method: str, n_rows: int, n_labels: int) -> dict[str, float]:
    """Return time, memory and micro F1 of a method."""
    X, Y = generate(n_rows + n_rows // 4, n_labels)
    before, start = peak(), time.process_time()
    classifier = METHODS[method]().fit(X[:n_rows], Y[:n_rows])
    fitted = time.process_time()
    predicted = classifier.predict(X[n_rows:])
    end = time.process_time()
    f1 = f1_score(Y[n_rows:], predicted, average="micro")
    return {"fit": fitted - start, "predict": end - fitted, "GiB": peak() - before, "micro F1": f1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--labels", type=int, default=2_000)
    parser.add_argument("--method", choices=METHODS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.method:
        print(json.dumps(measure(options.method, options.rows, options.labels)))
        return
    print("| | fit, s | ratio | predict, s | memory, GiB | micro F1 |")
    print("|---|---|---|---|---|---|")
    first = None
    for method in METHODS:
        command = [sys.executable, *sys.argv, "--method", method]
        found = json.loads(subprocess.run(command, stdout=-1, check=True).stdout)
        first = first or found["fit"]
        cells = found["fit"], found["fit"] / first, found["predict"], found["GiB"]
        shown = " | ".join(f"{cell:.1f}" for cell in cells)
        print(f"| {method} | {shown} | {found['micro F1']:.3f} |", flush=True)


if __name__ == "__main__":
    main()
