"""Loss against cost of MendedClassifier by the number of landmarks.

    python benchmarks/landmarks.py --data FOLDER [--sets tmc2007-500 imdb corel5k narrow]

For each dataset a fifth of the rows, at most 5,000, is the test set. "landmarks" is
MendedClassifier(max_landmarks=M); "subset" has a validation set of M rows and no others, which is
what landmarks without the errors of the rows nearest to them would be. "narrow" is generated: 400
clusters with label sets of their own, which a linear base classifier cannot separate. The base
classifier is trained once for each dataset.
"""

import argparse
import time
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from pairmend import MendedClassifier, datasets
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.metrics import LOSSES

SETS = ("tmc2007-500", "imdb", "corel5k", "narrow")
SIZES = (500, 1000, 2500, 5000, 10_000, None)
FITTED: dict[str, BinaryRelevance] = {}


class TrainedOnce(ClassifierMixin, BaseEstimator):
    """Binary relevance that is trained once on the same rows."""

    def fit(self, X, Y):
        """Fit, or take the classifier fitted on the same rows before."""
        key = joblib.hash((X, Y))
        if key not in FITTED:
            FITTED[key] = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y)
        self.fitted_ = FITTED[key]
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X):
        """Return the probabilities of labels."""
        return self.fitted_.predict_proba(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags


def narrow(n_rows: int = 60_000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of 400 clusters, each with a label set of its own, and 5 % of labels changed."""
    rng = np.random.RandomState(0)
    centres, sets = rng.randn(400, 10), rng.rand(400, 8) < 0.3
    cluster = rng.randint(400, size=n_rows)
    X = centres[cluster] + 0.35 * rng.randn(n_rows, 10)
    return X, sets[cluster] ^ (rng.rand(n_rows, 8) < 0.05)


def load(name: str, folder: Path):
    if name == "narrow":
        return narrow()
    data = datasets.load(name, data_dir=folder)
    X = data.one_hot().X if hasattr(data, "one_hot") else data.X
    return (sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)), np.asarray(data.Y)


def subset_of(splits, n_rows: int | None, rng: np.random.RandomState):
    """Return splits whose test parts have n_rows rows in all."""
    if n_rows is None:
        return splits
    n_all = sum(len(test) for _, test in splits)
    return [(a, np.sort(rng.permutation(b)[: round(len(b) * n_rows / n_all)])) for a, b in splits]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the datasets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    options = parser.parse_args()
    head = " ".join(f"{name:>9}" for name in LOSSES)
    for name in options.sets:
        X, Y = load(name, options.data)
        order = np.random.RandomState(0).permutation(X.shape[0])
        n_test = min(5000, X.shape[0] // 5)
        test, train = order[:n_test], order[n_test:]
        splits = list(KFold(5).split(train))
        print(f"{name}: {len(train):,} rows, {X.shape[1]} features, {Y.shape[1]} labels")
        print(f"  {'':9} {'M':>7} {'brier':>9} {head} {'fit':>8} {'rows/s':>8}", flush=True)
        plain = TrainedOnce().fit(X[train], Y[train])
        proba = plain.predict_proba(X[test])
        losses = [mean_squared_error(Y[test], proba)]
        losses += [loss(Y[test], proba >= 0.5) for loss in LOSSES.values()]
        print(f"  {'BR':9} {'':7} " + " ".join(f"{value:9.4f}" for value in losses), flush=True)
        for size in SIZES:
            if size is not None and size >= len(train):
                continue
            for way in ("subset", "landmarks") if size else ("landmarks",):
                cv = subset_of(splits, size if way == "subset" else None, np.random.RandomState(1))
                clf = MendedClassifier(TrainedOnce(), cv=cv, max_landmarks=size, random_state=0)
                started = time.perf_counter()
                clf.fit(X[train], Y[train])
                seconds = time.perf_counter() - started
                started = time.perf_counter()
                proba = clf.predict_proba(X[test])
                rate = n_test / (time.perf_counter() - started)
                losses = [mean_squared_error(Y[test], proba)]
                for criterion, loss in LOSSES.items():
                    clf.set_params(criterion=criterion)
                    losses.append(loss(Y[test], clf.predict(X[test])))
                shown = " ".join(f"{value:9.4f}" for value in losses)
                kept = f"{size:7,}" if size else f"{'all':>7}"
                print(f"  {way:9} {kept} {shown} {seconds:6.1f} s {rate:8,.0f}", flush=True)
        FITTED.clear()


if __name__ == "__main__":
    main()
