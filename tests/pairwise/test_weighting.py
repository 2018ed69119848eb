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
