"""Simulate datasets on which a correction cannot help, and measure what it costs.

    python benchmarks/no_gain.py [--draws 20] [--scenarios ...] [--bases ...]

In each draw a training set and a test set of 2,000 rows are generated. MendedClassifier, optimised
for each metric, is compared with the best threshold of its base classifier: the threshold, among
1/2, one fitted for all labels and one fitted for each label, with the least mean loss on the test
sets, which a user could not know. The Markdown table has the mean loss of both, the standard
deviation of the latter over the draws, which is the standard error of a loss that is measured once,
and the difference in units of it.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.ensemble import RandomForestClassifier

from pairmend import MendedClassifier, RandomSubspaceNB, ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.metrics import LOSS_TITLES, LOSSES
from pairmend.thresholds import F1Thresholds, FixedThreshold

N_TEST = 2000
N_FEATURES, N_LABELS = 10, 6


def linear(rng: np.random.RandomState, X: np.ndarray, scale: float = 2.0) -> np.ndarray:
    """Draw labels from logistic models: the logistic regression has no error to correct."""
    coefficients = np.random.RandomState(0).normal(size=(N_FEATURES, N_LABELS)) * scale / 3
    proba = 1 / (1 + np.exp(-(X @ coefficients - 0.5)))
    return (rng.uniform(size=proba.shape) < proba).astype(int)


def noise(rng: np.random.RandomState, X: np.ndarray, share: float = 0.3) -> np.ndarray:
    """Draw labels that do not depend on the features."""
    return (rng.uniform(size=(len(X), N_LABELS)) < share).astype(int)


def noisy(rng: np.random.RandomState, X: np.ndarray) -> np.ndarray:
    """Draw labels of logistic models, of which one in five is replaced by its opposite."""
    Y = linear(rng, X, scale=4.0)
    return np.where(rng.uniform(size=Y.shape) < 0.2, 1 - Y, Y)


SCENARIOS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "logistic labels, 400 rows": (400, linear),
    "logistic labels, 40 rows": (40, linear),
    "a fifth of the labels wrong, 400 rows": (400, noisy),
    "labels without relation to the features, 400 rows": (400, noise),
    "rare labels without relation (3 %), 400 rows": (400, partial(noise, share=0.03)),
}
BASES: dict[str, Callable[[], object]] = {
    "logistic regression": ScaledLogisticRegression,
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "naive Bayes": RandomSubspaceNB,
}
THRESHOLDS = {
    "1/2": FixedThreshold(0.5),
    "common": F1Thresholds("micro"),
    "per label": F1Thresholds("macro"),
}


def losses_of_draw(scenario: str, base: str, seed: int) -> dict[tuple[str, str], float]:
    """Return losses by metric and method."""
    n_rows, labels = SCENARIOS[scenario]
    rng = np.random.RandomState(seed)
    X, X_test = rng.normal(size=(n_rows, N_FEATURES)), rng.normal(size=(N_TEST, N_FEATURES))
    Y, Y_test = labels(rng, X), labels(rng, X_test)
    make = BASES[base]
    found = {}
    mended = MendedClassifier(make(), random_state=seed).fit(X, Y)
    chosen = MendedClassifier(random_state=seed).fit(X, Y)
    for metric, loss in LOSSES.items():
        for name, classifier in (("mended", mended), ("auto", chosen)):
            predicted = classifier.set_params(criterion=metric).predict(X_test)
            found[metric, name] = loss(Y_test, predicted)
    plain = make() if base == "forest" else BinaryRelevance(make())
    for name, threshold in THRESHOLDS.items():
        classifier = ThresholdedClassifier(plain, threshold=threshold, random_state=seed)
        predicted = classifier.fit(X, Y).predict(X_test)
        for metric, loss in LOSSES.items():
            found[metric, name] = loss(Y_test, predicted)
    return found


def lines_of(scenario: str, base: str, n_draws: int) -> list[str]:
    """Return the lines of the table for a scenario and a base classifier."""
    draws: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in range(n_draws):
        for key, loss in losses_of_draw(scenario, base, seed).items():
            draws[key].append(loss)
    lines = []
    for metric in LOSSES:
        best = min(THRESHOLDS, key=lambda name: np.mean(draws[metric, name]))
        error = np.std(draws[metric, best], ddof=1)
        cells = [scenario, base, LOSS_TITLES[metric], best, f"{np.mean(draws[metric, best]):.4f}"]
        cells.append(f"{error:.4f}")
        for name in ("mended", "auto"):
            mean = np.mean(draws[metric, name])
            change = (mean - np.mean(draws[metric, best])) / max(error, 1e-12)
            cells.append(f"{mean:.4f} ({change:+.1f})")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    options = parser.parse_args()
    pairs = [(scenario, base) for scenario in options.scenarios for base in options.bases]
    console = Console(stderr=True)
    print("| data | base | metric | best threshold | its loss | standard error "
          "| MendedClassifier(base) | MendedClassifier() |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for scenario, base in track(pairs, console=console):
        print("\n".join(lines_of(scenario, base, options.draws)), flush=True)


if __name__ == "__main__":
    main()
