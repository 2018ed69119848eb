"""Corrected binary relevance and the corrected classifier of several classes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    RandomSubspaceNB,
)
from pairmend.pairwise import CorrectedMulticlassClassifier

LOGISTIC = LogisticRegression(C=0.1, tol=1e-10, max_iter=1000)


@pytest.mark.parametrize(
    ("base", "neighbourhood", "validation", "reference"),
    [
        (RandomSubspaceNB(subspace=0.5), None, 0.6, "beta"),
        (LOGISTIC, GaussianNeighbourhood(50.0), 3, "identity"),
        (GaussianNB(), AdaptiveNeighbourhood(5), 3, "crisp"),
        (GaussianNB(), GlobalNeighbourhood(), 0.6, "beta"),
    ],
)
def test_two_classes_are_a_pair(base, neighbourhood, validation, reference, rng):
    X = rng.randn(90, 4)
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.randn(90) > 0.5, "yes", "no")
    weights = rng.randint(4, size=90).astype(float)
    params = {
        "estimator": base,
        "neighbourhood": neighbourhood,
        "validation": validation,
        "reference": reference,
        "random_state": 7,
    }
    pair = CorrectedPairwiseClassifier(**params).fit(X, y, sample_weight=weights)
    both = CorrectedMulticlassClassifier(**params).fit(X, y, sample_weight=weights)
    queries = rng.randn(40, 4)
    np.testing.assert_array_equal(both.validation_indices_, pair.validation_indices_)
    np.testing.assert_allclose(both.predict_proba(queries), pair.predict_proba(queries), atol=1e-9)
    np.testing.assert_allclose(both.confusion(queries), pair.confusion(queries)[:, 0], atol=1e-9)
    np.testing.assert_array_equal(both.predict(queries), pair.predict(queries))


def test_classes_that_a_part_lacks(rng):
    X = rng.randn(30, 2)
    y = np.where(np.arange(30) < 29, np.where(X[:, 0] > 0, "a", "b"), "rare")
    for seed in range(3):  # the rare class on either side of the split
        clf = CorrectedMulticlassClassifier(GaussianNB(), random_state=seed).fit(X, y)
        scores = clf.predict_proba(X)
        np.testing.assert_allclose(scores.sum(axis=1), 1)
    crossed = CorrectedMulticlassClassifier(LOGISTIC, validation=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(crossed.predict_proba(X).sum(axis=1), 1)
    # A training part of one class: nothing to train, and the validation rows decide.
    two, split = np.array(["b"] + ["a"] * 9), {"validation": 0.6, "random_state": 3}
    pair = CorrectedPairwiseClassifier(LOGISTIC, **split).fit(X[:10], two)
    assert 0 in pair.validation_indices_
    clf = CorrectedMulticlassClassifier(LOGISTIC, **split).fit(X[:10], two)
    assert clf.learner_.classifier.shares == pytest.approx((7 / 8, 1 / 8))
    np.testing.assert_allclose(clf.predict_proba(X), pair.predict_proba(X), atol=1e-12)


def test_the_base_is_trained_on_the_names_of_classes(rng):
    X = rng.rand(120, 3)
    y = np.array(["ant", "bee", "cat"])[(X + rng.rand(120, 3)).argmax(axis=1)]
    weighted = LogisticRegression(class_weight={"ant": 1.0, "bee": 100.0, "cat": 1.0})
    clf = CorrectedMulticlassClassifier(weighted, random_state=0).fit(X, y)
    assert (clf.learner_.classifier.predict(X) == "bee").mean() > 0.8


def test_indicators_for_classes_are_refused(small_set):
    with pytest.raises(ValueError, match="y has 4 columns, but CorrectedMulticlassClassifier"):
        CorrectedMulticlassClassifier().fit(*small_set)
