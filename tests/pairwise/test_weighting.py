"""Weights of pairs by the information of their decisions near a point."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.kernels.pairs import label_pairs


def bits(p):
    p = np.asarray(p, float)[np.asarray(p) > 0]
    return -(p * np.log2(p)).sum()


def weight(e):
    """Of one confusion matrix."""
    e = e / e.sum()
    return 1 - (bits(e.ravel()) - bits(e.sum(axis=0)))


def fit(small_set, **params):
    X, Y = small_set
    near = GaussianNeighbourhood(10.0)
    return CorrectedPairwiseClassifier(
        LogisticRegression(), neighbourhood=near, random_state=0, **params
    ).fit(X, Y)


@pytest.mark.parametrize("voting", ["soft", "votes"])
@pytest.mark.parametrize("balance", [None, "labels"])
def test_scores_by_loops(voting, balance, small_set):
    X, _ = small_set
    clf = fit(small_set, weighting="information", voting=voting, balance=balance)
    supports, confusion, scores = clf.pair_corrected(X), clf.confusion(X), clf.predict_proba(X)
    predicted = clf.predict(X)
    for row in range(len(X)):
        score, lead, mass = np.full(4, 0.5), np.zeros(4), np.zeros(4)
        for m, (i, j) in enumerate(label_pairs(4)):
            w, s = weight(confusion[row, m]), supports[row, m]
            s = float(s > 0.5) if voting == "votes" else s
            score[i] += w * (s - 0.5) / 3
            score[j] -= w * (s - 0.5) / 3
            lead[i] += w * s
            lead[j] += w * (1 - s)
            mass[[i, j]] += w
        np.testing.assert_allclose(scores[row], score, atol=1e-9)
        np.testing.assert_array_equal(predicted[row], lead / mass > 0.5)


@pytest.mark.parametrize("calibration_label", [False, True])
def test_it_takes_effect_at_prediction(calibration_label, small_set):
    X, _ = small_set
    clf = fit(small_set, calibration_label=calibration_label)
    plain, corrected = clf.predict_proba(X), clf.pair_corrected(X)
    clf.set_params(weighting="information")
    assert np.abs(clf.predict_proba(X) - plain).max() > 0.01
    np.testing.assert_array_equal(clf.pair_corrected(X), corrected)
    clf.set_params(voting="votes")
    refitted = fit(
        small_set, weighting="information", voting="votes", calibration_label=calibration_label
    )
    np.testing.assert_array_equal(refitted.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize("voting", ["soft", "votes"])
@pytest.mark.parametrize("calibration_label", [False, True])
def test_explanations_add_up(voting, calibration_label, small_set):
    X, _ = small_set
    clf = fit(
        small_set, weighting="information", voting=voting, calibration_label=calibration_label
    )
    scores = clf.predict_proba(X[:3])
    for row, explained in enumerate(clf.explain(X[:3])):
        for label in explained.labels:
            assert label.after == pytest.approx(scores[row, label.label], abs=1e-9)
            gained = sum(step.after for step in label.steps)
            assert gained == pytest.approx(label.after, abs=1e-9)


def test_classes_still_sum_to_one(rng):
    X = rng.randn(90, 3)
    y = X.argmax(axis=1)
    clf = CorrectedPairwiseClassifier(weighting="information", random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    assert clf.score(X, y) > 0.7


def test_unknown_weightings_are_refused(small_set):
    with pytest.raises(ValueError, match="'weighting' parameter of"):
        fit(small_set, weighting="gain")
