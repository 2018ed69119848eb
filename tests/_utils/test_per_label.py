"""One classifier per label."""

import numpy as np
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from pairmend import BinaryRelevance
from pairmend._utils.per_label import PerLabelClassifier, smoothed_share, varying_labels


def test_equals_scikit_learn_and_binary_relevance(small_set):
    X, Y = small_set
    weights = np.arange(1.0, 81.0)
    proba = PerLabelClassifier(GaussianNB()).fit(X, Y, sample_weight=weights).predict_proba(X)
    by_label = MultiOutputClassifier(GaussianNB()).fit(X, Y, sample_weight=weights)
    expected = np.column_stack([column[:, 1] for column in by_label.predict_proba(X)])
    np.testing.assert_array_equal(proba, expected)
    relevance = BinaryRelevance(GaussianNB()).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(proba, relevance.predict_proba(X))


def test_constant_labels_have_their_smoothed_share():
    X, Y = np.array([[0.0], [1.0]]), np.array([[1, 0, 0], [1, 1, 0]])
    assert varying_labels(Y).tolist() == [1]
    proba = PerLabelClassifier(GaussianNB()).fit(X, Y).predict_proba(X)
    assert proba[:, [0, 2]].tolist() == [[0.75, 0.25]] * 2
    assert smoothed_share(Y[:, :2] == 1, np.array([1.0, 0.5])).tolist() == [0.8, 0.4]
