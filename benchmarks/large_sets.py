"""Loss and time of MendedClassifier and baselines on large datasets in full.

    python benchmarks/large_sets.py --data FOLDER [--sets tmc2007-500 imdb]

A fifth of the rows, at most 20,000, is the test set. All methods have the same logistic regression
as base classifier. MendedClassifier is fitted once and predicts for each metric; its losses are
those of the metric it was optimised for.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from pairmend import MendedClassifier, ThresholdedClassifier, datasets
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble
from pairmend.datasets import one_hot
from pairmend.metrics import LOSSES
from pairmend.thresholds import F1Thresholds


def methods():
    base = ScaledLogisticRegression
    yield "binary relevance", BinaryRelevance(base())
    for average in ("micro", "macro"):
        threshold = F1Thresholds(average)
        yield (
            f"binary relevance, thresholds fitted ({average} F1)",
            ThresholdedClassifier(BinaryRelevance(base()), threshold=threshold, random_state=0),
        )
    chain = ClassifierChainEnsemble(base(), n_chains=1, max_samples=1.0, random_state=0)
    yield "classifier chain", chain
    yield "MendedClassifier(None)", MendedClassifier(None, random_state=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the datasets")
    parser.add_argument("--sets", nargs="+", default=["tmc2007-500", "imdb"])
    options = parser.parse_args()
    for name in options.sets:
        data = one_hot(datasets.load(name, data_dir=options.data))
        X, Y = data.X, np.asarray(data.Y)
        order = np.random.RandomState(0).permutation(len(Y))
        n_test = min(20_000, len(Y) // 5)
        test, train = order[:n_test], order[n_test:]
        print(f"{name}: {len(train):,} training rows, {n_test:,} test rows, {X.shape[1]} features")
        titles = " ".join(f"{criterion:>9}" for criterion in LOSSES)
        print(f"  {'':46} {titles} {'fit':>8} {'rows/s':>9}", flush=True)
        for title, classifier in methods():
            started = time.perf_counter()
            classifier.fit(X[train], Y[train])
            fitted = time.perf_counter()
            classifier.predict(X[test])
            rate = n_test / (time.perf_counter() - fitted)
            losses = []
            for criterion, loss in LOSSES.items():
                if isinstance(classifier, MendedClassifier):
                    classifier.set_params(criterion=criterion)
                losses.append(loss(Y[test], classifier.predict(X[test])))
            shown = " ".join(f"{value:9.4f}" for value in losses)
            print(f"  {title:46} {shown} {fitted - started:6.1f} s {rate:9,.0f}", flush=True)


if __name__ == "__main__":
    main()
