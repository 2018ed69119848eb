"""Calibrated label ranking, and a virtual label among corrected pairs, against loops."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
)
from pairmend.pairwise import CorrectedBinaryRelevance

BASE = LogisticRegression(C=0.5)


def test_ranking_by_hand():
    # Each classifier predicts its class frequencies: 2/3 for 0 against 1 (rows 0, 2 and 3), 3/4 for
    # 0 and 1/2 for 1 against the virtual label. Means: 17/24, 10/24, and 9/24 for the latter.
    Y = np.array([[1, 0], [1, 1], [1, 0], [0, 1]])
    X = np.zeros((4, 1))
    clf = CalibratedLabelRanking(DummyClassifier(strategy="prior")).fit(X, Y)
    np.testing.assert_allclose(clf.pair_support(X[:1]), [[2 / 3, 3 / 4, 1 / 2]])
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[2 / 3, 25 / 48]])
    assert clf.predict(X[:1]).tolist() == [[1, 1]]
    # Two votes, half a vote, half a vote: label 1 is level with the virtual label.
    clf.set_params(voting="votes")
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[0.875, 0.5]])
    assert clf.predict(X[:1]).tolist() == [[1, 0]]


def fitted(X, Y, base=BASE, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    return CorrectedPairwiseClassifier(
        base, calibration_label=True, **{"random_state": 4, **parameters}
    ).fit(X, Y, **fit_params)


@pytest.mark.parametrize("validation", [0.6, 3])
def test_each_label_is_corrected_alone_against_the_virtual_one(small_set, validation):
    X, Y = small_set
    settings = {"validation": validation, "neighbourhood": GaussianNeighbourhood(5.0)}
    every = fitted(X, Y, **settings)
    corrected = every.pair_corrected(X)[:, every.pairs_[:, 1] == 4]
    relevance = CorrectedBinaryRelevance(BASE, random_state=4, **settings).fit(X, Y)
    np.testing.assert_allclose(relevance.predict_proba(X), corrected, atol=1e-9)
    np.testing.assert_allclose(
        relevance.confusion(X), every.confusion(X)[:, every.pairs_[:, 1] == 4], atol=1e-9
    )
    for label in range(4):
        clf = fitted(X, Y[:, [label]], **settings)
        assert clf.pairs_.tolist() == [[0, 1]]
        np.testing.assert_allclose(clf.pair_corrected(X), corrected[:, [label]], atol=1e-12)
        np.testing.assert_allclose(clf.predict_proba(X), corrected[:, [label]], atol=1e-12)
        np.testing.assert_array_equal(clf.predict(X)[:, 0], np.round(corrected[:, label], 12) > 0.5)
    with pytest.raises(ValueError, match="one label only"):
        CorrectedPairwiseClassifier(BASE).fit(X, Y[:, :1])


@pytest.mark.parametrize("before", [False, True])
def test_the_label_itself_needs_a_new_fit(small_set, before):
    X, Y = small_set
    clf = CorrectedPairwiseClassifier(BASE, calibration_label=before, random_state=4).fit(X, Y)
    scores, supports = clf.predict_proba(X), clf.pair_corrected(X)
    explained = clf.explain(X[:1])
    clf.set_params(calibration_label=not before)
    np.testing.assert_array_equal(clf.predict_proba(X), scores)
    np.testing.assert_array_equal(clf.pair_corrected(X), supports)
    assert clf.explain(X[:1]) == explained
    assert clf.fit(X, Y).pair_corrected(X).shape != supports.shape
