import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from pairmend import RandomSubspaceNB
from pairmend.kernels.pairs import LabelRows, label_pairs
from pairmend.kernels.rrc import identity_reference, unfold
from pairmend.pairwise.learners.generic import ConstantClassifier, GenericPairLearner
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


@pytest.fixture
def learner(small_set):
    X, Y = small_set
    numbered = np.column_stack([np.arange(len(X)), X])
    fitted = GenericPairLearner(RecordingClassifier(), n_jobs=None, seed=7)
    return fitted.fit(TrainingRows(numbered, Y.astype(bool), {}), label_pairs(4))


def test_each_pair_is_trained_on_rows_with_exactly_one_of_its_labels(learner, small_set):
    _, Y = small_set
    for (i, j), model in zip(label_pairs(4), learner.models_, strict=True):
        assert model.rows.tolist() == np.flatnonzero(Y[:, i] != Y[:, j]).tolist()
        assert model.y.tolist() == Y[model.rows, i].tolist()
        assert model.random_state == 7


def test_pairs_get_the_weights_of_their_rows_without_zeros(small_set):
    X, Y = small_set
    numbered = np.column_stack([np.arange(len(X)), X])
    weights = np.arange(len(X)) % 3.0
    learner = GenericPairLearner(RecordingClassifier(), n_jobs=None, seed=0)
    rows = TrainingRows(numbered, Y.astype(bool), {"sample_weight": weights})
    learner.fit(rows, label_pairs(4))
    for model in learner.models_:
        np.testing.assert_array_equal(model.sample_weight, weights[model.rows])
        assert (model.sample_weight > 0).all()


def test_pairs_with_rows_of_one_class_have_the_smoothed_share():
    Y = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    learner = GenericPairLearner(LogisticRegression(), n_jobs=None, seed=0)
    learner.fit(TrainingRows(np.eye(4), Y, {}), label_pairs(3))
    assert [model.shares for model in learner.models_] == [(0.2, 0.8), (0.2, 0.8), (0.5, 0.5)]
    np.testing.assert_allclose(
        next(learner.supports(np.eye(4)[:1], [slice(0, 2)])), [[0.8, 0.8, 0.5]]
    )
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    learner.fit(TrainingRows(np.eye(4), Y, {"sample_weight": weights}), label_pairs(3))
    assert learner.models_[0] == ConstantClassifier((1 / (3 + 2), (3 + 1) / (3 + 2)))


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


def test_supports_at_no_rows(small_set):
    X, Y = small_set
    learner = GenericPairLearner(LogisticRegression(), n_jobs=None, seed=0)
    learner.fit(TrainingRows(X, Y.astype(bool), {}), label_pairs(4))
    no_rows = LabelRows.of(np.zeros_like(Y, dtype=bool))
    assert learner.decide(X, no_rows, identity_reference).shape == (0, 4)


def test_pairs_share_feature_statistics_of_all_rows(small_set):
    X, Y = small_set
    learner = GenericPairLearner(RandomSubspaceNB(), n_jobs=None, seed=0)
    learner.fit(TrainingRows(X, Y.astype(bool), {}), label_pairs(4))
    shared = [model.feature_statistics_ for model in learner.models_]
    assert all(feature_statistics is shared[0] for feature_statistics in shared)
    own = RandomSubspaceNB().feature_statistics(X)
    np.testing.assert_array_equal(shared[0].floor, own.floor)
