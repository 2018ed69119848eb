import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from pairmend import PairwiseClassifier
from pairmend.kernels.pairs import label_pairs


class RecordingClassifier(ClassifierMixin, BaseEstimator):
    """Records its training data."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.rows, self.y, self.sample_weight = X[:, 0].astype(int), y, sample_weight
        return self

    def predict_proba(self, X):
        return np.tile([0.25, 0.75], (len(X), 1))


def test_each_pair_is_trained_on_rows_with_exactly_one_of_its_labels(small_set):
    X, Y = small_set
    weights = np.arange(len(X)) % 3.0
    clf = PairwiseClassifier(RecordingClassifier(random_state=7))
    clf.fit(np.column_stack([np.arange(len(X)), X]), Y, sample_weight=weights)
    for (i, j), model in zip(label_pairs(4), clf.learner_.models_, strict=True):
        rows = np.flatnonzero((Y[:, i] != Y[:, j]) & (weights > 0))
        assert model.rows.tolist() == rows.tolist()
        assert model.y.tolist() == Y[rows, i].tolist()
        assert model.random_state == 7
        np.testing.assert_array_equal(model.sample_weight, weights[rows])


def test_pairs_with_rows_of_one_class_have_the_smoothed_share():
    X, Y = np.eye(4), np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    clf = PairwiseClassifier(LogisticRegression()).fit(X, Y)
    np.testing.assert_allclose(clf.pair_support(X[:1]), [[0.8, 0.8, 0.5]])
    clf.fit(X, Y, sample_weight=[1.0, 0.0, 2.0, 1.0])
    np.testing.assert_allclose(clf.pair_support(X[:1]), [[0.8, 0.8, 0.5]])
