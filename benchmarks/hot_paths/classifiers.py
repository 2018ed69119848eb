"""Fit and prediction of classifiers on generated rows."""

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from pairmend import (
    CorrectedPairwiseClassifier,
    MendedClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
)
from pairmend.baselines import BinaryRelevance

CLASSIFIERS = {
    "BinaryRelevance": BinaryRelevance(LogisticRegression()),
    "PairwiseClassifier": PairwiseClassifier(random_state=0),
    "CorrectedPairwiseClassifier": CorrectedPairwiseClassifier(random_state=0),
    "MendedClassifier": MendedClassifier(LogisticRegression(), random_state=0),
}


def generated(n_rows: int, n_features: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and labels that depend on them."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, n_features))
    weights = rng.normal(size=(n_features, n_labels))
    return X, (X @ weights + rng.normal(size=(n_rows, n_labels)) > 1).astype(int)


class Classifiers:
    """1,500 rows, 30 features and 12 labels."""

    params = tuple(CLASSIFIERS)
    param_names = ("classifier",)

    def setup(self, name):
        """Fit a classifier."""
        self.X, self.Y = generated(1500, 30, 12)
        self.fitted = clone(CLASSIFIERS[name]).fit(self.X, self.Y)
        self.fitted.predict(self.X[:100])

    def time_fit(self, name):
        """Fit."""
        clone(CLASSIFIERS[name]).fit(self.X, self.Y)

    def time_predict(self, name):
        """Predict the training rows."""
        self.fitted.predict(self.X)

    def peakmem_fit_and_predict(self, name):
        """Peak memory of fit and prediction."""
        clone(CLASSIFIERS[name]).fit(self.X, self.Y).predict(self.X)


class ManyLabels:
    """Pairs of 100 labels."""

    def setup(self):
        """Fit a classifier with 4,950 pairs."""
        self.X, self.Y = generated(1000, 40, 100)
        self.fitted = CorrectedPairwiseClassifier(random_state=0).fit(self.X, self.Y)
        self.fitted.predict(self.X[:20])

    def time_fit(self):
        """Fit."""
        CorrectedPairwiseClassifier(random_state=0).fit(self.X, self.Y)

    def time_predict(self):
        """Predict 100 rows."""
        self.fitted.predict(self.X[:100])


class NaiveBayes:
    """The base classifier of the paper's study."""

    def setup(self):
        """Generate rows of five classes."""
        self.X, Y = generated(5000, 50, 5)
        self.y = Y.argmax(axis=1)
        self.fitted = RandomSubspaceNB(random_state=0).fit(self.X, self.y)

    def time_fit(self):
        """Fit."""
        RandomSubspaceNB(random_state=0).fit(self.X, self.y)

    def time_predict_proba(self):
        """Predict probabilities."""
        self.fitted.predict_proba(self.X)
