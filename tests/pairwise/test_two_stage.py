"""Two-stage voting against a slow loop, by hand, and where it must equal the full vote."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from pairmend import CalibratedLabelRanking
from pairmend.baselines import BinaryRelevance
from pairmend.pairwise import QWeightedVoting, TwoStageVoting


def winner(support):
    return 0.5 if abs(support - 0.5) < 1e-12 else float(support > 0.5)


def two_stages(pairs, supports, n_labels, threshold):
    """Scores, and the number of models evaluated, of one row, as described in the paper."""
    by_pair = dict(zip(map(tuple, pairs.tolist()), supports, strict=True))
    first = [by_pair[i, n_labels] for i in range(n_labels)]
    votes = [winner(support) for support in first]
    virtual = sum(1 - vote for vote in votes)
    n_evaluated = n_labels
    for (i, j), support in by_pair.items():
        if j == n_labels:
            continue
        if first[i] > threshold and first[j] > threshold:
            votes[i] += winner(support)
            votes[j] += 1 - winner(support)
            n_evaluated += 1
        elif first[i] > threshold:
            votes[i] += 1
        elif first[j] > threshold:
            votes[j] += 1
    return [(1 + (vote - virtual) / n_labels) / 2 for vote in votes], n_evaluated


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("base", [GaussianNB(), None, SVC()])
def test_against_a_loop(small_set, base, threshold):
    X, Y = small_set
    clf = TwoStageVoting(base, candidate_threshold=threshold, random_state=0).fit(X, Y)
    loops = [two_stages(clf.pairs_, row, 4, threshold) for row in clf.pair_support(X)]
    scores = np.array([scores for scores, _ in loops])
    counted = clf.predict_counted(X)
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    np.testing.assert_array_equal(counted.labels, np.round(scores, 9) > 0.5)
    np.testing.assert_array_equal(counted.n_evaluated, [n_evaluated for _, n_evaluated in loops])
    np.testing.assert_array_equal(counted.labels, clf.predict(X))


def test_by_hand():
    # Each classifier predicts its class frequencies. First stage: 3/4 for label 0, 1/2 for label 1,
    # 1/8 for label 2, of eight rows. With the threshold 0.2, labels 0 and 1 are candidates.
    Y = np.zeros((8, 3), dtype=int)
    Y[:6, 0], Y[4:, 1], Y[7, 2] = 1, 1, 1
    X = np.zeros((8, 1))
    clf = TwoStageVoting(DummyClassifier(strategy="prior")).fit(X, Y)
    # 0 beats 1 (4 of 6 rows) and, unasked, 2; with the first stage it has 3 votes. 1 has one
    # over 2 and half a vote of the first stage, the virtual label 1.5 in all: they are level.
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[0.75, 0.5, 0.25]])
    counted = clf.predict_counted(X[:1])
    assert counted.labels.tolist() == [[1, 0, 0]]
    assert counted.n_evaluated.tolist() == [4]
    # Above 0.6 there is one candidate, which wins both pairs; 1 has half a vote.
    clf.set_params(candidate_threshold=0.6)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[0.75, 1 / 3, 0.25]])
    assert clf.predict_counted(X[:1]).n_evaluated.tolist() == [3]
    # Above 0.9 there is none: the first stage's votes alone count, 1 against 1.5.
    clf.set_params(candidate_threshold=0.9)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[5 / 12, 1 / 3, 0.25]])
    assert clf.predict(X[:1]).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("base", [GaussianNB(), None], ids=["generic", "closed"])
def test_threshold_zero_is_the_full_vote(small_set, base):
    X, Y = small_set
    clf = TwoStageVoting(base, candidate_threshold=0.0, random_state=0).fit(X, Y)
    full = CalibratedLabelRanking(base, voting="votes", random_state=0).fit(X, Y)
    np.testing.assert_allclose(clf.predict_proba(X), full.predict_proba(X), atol=1e-12)
    assert (clf.predict_counted(X).n_evaluated == len(clf.pairs_)).all()


def test_it_asks_less_than_qweighted_and_may_decide_otherwise(small_set):
    X, Y = small_set
    base = LogisticRegression(C=0.1)
    clf, exact = (
        kind(base).fit(X[:40], Y[:40]).predict_counted(X[40:])
        for kind in (TwoStageVoting, QWeightedVoting)
    )
    assert clf.n_evaluated.mean() < 10
    assert (clf.labels != exact.labels).any()
    relevance = BinaryRelevance(base).fit(X[:40], Y[:40]).predict(X[40:])
    assert (clf.labels != relevance).any()


def test_classes_without_a_vote_go_by_the_first_stage():
    # No class has a support above the threshold; class 2 has the largest.
    X, y = np.zeros((10, 1)), np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    clf = TwoStageVoting(DummyClassifier(strategy="prior"), candidate_threshold=0.5).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[0.3, 0.3, 0.4]])
    assert clf.predict(X[:1]).tolist() == [2]
    # Without probabilities, predictions give no vote to any class either.
    clf = TwoStageVoting(SVC()).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[1 / 3] * 3])
