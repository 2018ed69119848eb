"""Measure how often the guarantees of RecallControl and PrecisionControl fail.

Each draw has new training rows. The mean recall or precision is that of 4,000 new rows. The scores
are those of a calibration set, of out-of-fold predictions, and of MendedClassifier.
"""

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from pairmend import MendedClassifier
from pairmend.baselines import BinaryRelevance
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.thresholds import PrecisionControl, RecallControl

CONTROLS = {
    "RecallControl(0.9)": (RecallControl(0.9), recall_score),
    "RecallControl(0.9, confidence=0.9)": (RecallControl(0.9, confidence=0.9), recall_score),
    "PrecisionControl(0.7, confidence=0.9)": (PrecisionControl(0.7), precision_score),
}
WEIGHTS = np.random.default_rng(5).normal(size=(6, 4))


def draw(rng, n):
    X = rng.normal(size=(n, 6))
    logits = X @ WEIGHTS + X[:, [0]] * X[:, [1]] - 1
    return X, (rng.random((n, 4)) < 1 / (1 + np.exp(-logits))).astype(int)


def scores_and_proba(kind, X, Y, new, rng):
    """Return scores and labels to fit on, and the probabilities of new rows."""
    base = BinaryRelevance(LogisticRegression())
    if kind == "calibration set":
        rows = draw(rng, len(X))
        base.fit(X, Y)
        return base.predict_proba(rows[0]), rows[1], base.predict_proba(new)
    scores = np.empty(Y.shape)
    for train, test in MultilabelStratifiedKFold(5, random_state=0).split(X, Y):
        scores[test] = base.fit(X[train], Y[train]).predict_proba(X[test])
    return scores, Y, base.fit(X, Y).predict_proba(new)


def measured(kind, n, draws):
    rng = np.random.default_rng(0)
    new, truth = draw(np.random.default_rng(77), 4000)
    found = {name: [] for name in CONTROLS}
    for _ in range(draws):
        X, Y = draw(rng, n)
        if kind == "MendedClassifier":
            clf = MendedClassifier(LogisticRegression(), decision="labels", random_state=0)
            proba = clf.fit(X, Y).predict_proba(new)
        else:
            scores, labels, proba = scores_and_proba(kind, X, Y, new, rng)
        for name, (control, score) in CONTROLS.items():
            if kind == "MendedClassifier":
                fitted = clf.set_params(threshold=control).threshold_
            else:
                fitted = control.fit(scores, labels)
            decided = fitted.decide(proba)
            found[name].append(score(truth, decided, average="samples", zero_division=np.nan))
    return {name: np.array(values) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument(
        "--scores", nargs="+", default=["calibration set", "out-of-fold", "MendedClassifier"]
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of too few rows for a guarantee
    for kind in options.scores:
        for n in options.rows:
            for name, values in measured(kind, n, options.draws).items():
                target = CONTROLS[name][0].target
                print(
                    f"{kind}, {n} rows, {name}: mean {np.nanmean(values):.3f}, below "
                    f"{target} in {np.mean(values < target):.3f} of {len(values)} draws, no labels "
                    f"in {np.mean(np.isnan(values)):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
