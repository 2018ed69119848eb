import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from pairmend import PairwiseClassifier, RandomSubspaceNB
from pairmend.kernels.pairs import LabelRows, label_pairs
from pairmend.kernels.rrc import identity_reference, unfold
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.voting import TrainingRows


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


def test_supports_at_rows_of_labels_equal_those_at_all_rows(small_set):
    X, Y = small_set
    learner = GenericPairLearner(LogisticRegression(), n_jobs=None, seed=0)
    learner.fit(TrainingRows(X, Y.astype(bool), {}), label_pairs(4))
    blocks = [slice(0, 1), slice(1, 3)]
    at_all_rows = np.hstack(list(learner.supports(X, blocks)))
    label_rows = LabelRows.of(Y.astype(bool))
    at, _ = unfold(learner.decide(X, label_rows, identity_reference))
    for m, (i, j) in enumerate(label_pairs(4)):
        for own, other, support in ((i, j, at_all_rows[:, m]), (j, i, 1 - at_all_rows[:, m])):
            entries = label_rows.entries(own)
            np.testing.assert_allclose(at[entries, other], support[label_rows.rows[entries]])


def test_pairs_share_feature_statistics_of_all_rows(small_set):
    X, Y = small_set
    learner = GenericPairLearner(RandomSubspaceNB(), n_jobs=None, seed=0)
    learner.fit(TrainingRows(X, Y.astype(bool), {}), label_pairs(4))
    shared = [model.feature_statistics_ for model in learner.models_]
    assert all(statistics.floor is shared[0].floor for statistics in shared)
    own = RandomSubspaceNB().feature_statistics(X)
    np.testing.assert_array_equal(shared[0].floor, own.floor)
