"""Calibrated label ranking against loops, by hand, and in all outcomes of small votes."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend import CalibratedLabelRanking, PairwiseClassifier, RandomSubspaceNB
from pairmend.pairwise.learners import PairLearner


def calibrated_ranking(base, X, Y, queries, voting, weights):
    """Scores of labels, and which rank above the virtual one, by a loop of clones."""
    n_labels = Y.shape[1]
    sums = np.zeros((len(queries), n_labels + 1))
    for i in range(n_labels):
        for j in range(i + 1, n_labels + 1):
            if j == n_labels:
                rows = list(range(len(Y)))
            else:
                rows = [k for k in range(len(Y)) if Y[k, i] != Y[k, j]]
            model = clone(base).fit(X[rows], Y[rows, i], sample_weight=weights[rows])
            for a, s in enumerate(model.predict_proba(queries)[:, 1]):
                if voting == "votes":
                    s = 0.5 if abs(s - 0.5) < 1e-12 else float(s > 0.5)
                sums[a, i] += s
                sums[a, j] += 1 - s
    relevant = [[round(s - row[-1], 9) > 0 for s in row[:-1]] for row in sums]
    scores = [[(1 + (s - row[-1]) / n_labels) / 2 for s in row[:-1]] for row in sums]
    return np.array(scores), np.array(relevant)


@pytest.mark.parametrize("voting", ["soft", "votes"])
@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression(C=0.1)], ids=["nb", "logistic"])
def test_against_a_loop_of_clones(small_set, base, n_labels, voting):
    X, Y = small_set
    Y, weights = Y[:, :n_labels], 1.0 + np.arange(len(X)) % 3
    clf = CalibratedLabelRanking(base, voting=voting).fit(X, Y, sample_weight=weights)
    scores, relevant = calibrated_ranking(base, X, Y, X[:40], voting, weights)
    np.testing.assert_allclose(clf.predict_proba(X[:40]), scores, atol=1e-9)
    np.testing.assert_array_equal(clf.predict(X[:40]), relevant)
    assert relevant.any()
    assert not relevant.all()


def test_by_hand():
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


class Oracle(PairLearner):
    """A learner whose supports are the rows themselves."""

    def fit(self, rows, pairs, owner=None):
        return self

    def supports(self, X, blocks):
        return (X for _ in blocks)  # all pairs are in one block


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_relevant_is_what_beats_the_virtual_label(n_labels):
    pairs = [(i, j) for i in range(n_labels + 1) for j in range(i + 1, n_labels + 1)]
    outcomes = np.array(list(product([0.0, 0.5, 1.0], repeat=len(pairs))))
    Y = np.eye(2, n_labels, dtype=int)
    clf = CalibratedLabelRanking(GaussianNB(), voting="votes").fit(outcomes[:2], Y)
    clf.learner_ = Oracle()
    for outcome, predicted in zip(outcomes, clf.predict(outcomes), strict=True):
        votes = [0.0] * (n_labels + 1)
        for (i, j), support in zip(pairs, outcome, strict=True):
            votes[i] += support
            votes[j] += 1 - support
        assert predicted.tolist() == [int(v > votes[-1]) for v in votes[:-1]]


def test_one_label_is_its_binary_problem(small_set):
    X, Y = small_set
    clf = CalibratedLabelRanking(LogisticRegression()).fit(X, Y[:, :1])
    single = LogisticRegression().fit(X, Y[:, 0])
    assert clf.pairs_.tolist() == [[0, 1]]
    np.testing.assert_allclose(clf.predict_proba(X)[:, 0], single.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(clf.predict(X)[:, 0], single.predict(X))
    naive = CalibratedLabelRanking(random_state=5).fit(X, Y[:, :1])
    seed = naive.learner_.seed
    single = RandomSubspaceNB(random_state=seed).fit(X, Y[:, 0])
    np.testing.assert_allclose(naive.predict_proba(X)[:, 0], single.predict_proba(X)[:, 1])


@pytest.mark.parametrize("base", [RandomSubspaceNB(), GaussianNB()], ids=["closed", "generic"])
@pytest.mark.parametrize("voting", ["soft", "votes"])
def test_labels_that_never_or_always_occur_are_decided_so(small_set, base, voting):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    predicted = CalibratedLabelRanking(base, voting=voting, random_state=0).fit(X, Y).predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 3].all()


def test_pairs_of_labels_are_those_of_the_plain_vote(small_set):
    X, Y = small_set
    plain, clf = (
        kind(random_state=0).fit(X, Y) for kind in (PairwiseClassifier, CalibratedLabelRanking)
    )
    real = clf.pairs_[:, 1] < 4
    assert clf.pairs_[real].tolist() == plain.pairs_.tolist()
    np.testing.assert_allclose(clf.pair_support(X)[:, real], plain.pair_support(X), atol=1e-12)


def test_the_number_of_labels_is_right_where_the_plain_vote_takes_half(small_set):
    # Rows with one label of four: half of the labels is one too many.
    X, _ = small_set
    Y = np.eye(4, dtype=int)[X[:, :4].argmax(axis=1)]
    clf = CalibratedLabelRanking(LogisticRegression(max_iter=1000), voting="votes").fit(X, Y)
    plain = PairwiseClassifier(LogisticRegression(max_iter=1000), voting="votes").fit(X, Y)
    assert abs(clf.predict(X).sum(axis=1).mean() - 1) < 0.3
    assert plain.predict(X).sum(axis=1).mean() > 1.5


def test_settings_of_prediction(small_set):
    X, Y = small_set
    clf = CalibratedLabelRanking(random_state=0).fit(X, Y)
    soft = clf.predict_proba(X)
    votes = CalibratedLabelRanking(voting="votes", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        clf.set_params(voting="votes").predict_proba(X), votes.predict_proba(X)
    )
    assert (soft != votes.predict_proba(X)).any()


def test_a_failing_binary_problem_is_named(small_set):
    class Fragile(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if len(y) == 80:
                raise RuntimeError("cannot")
            return super().fit(X, y, sample_weight)

    with pytest.raises(RuntimeError) as caught:
        CalibratedLabelRanking(Fragile()).fit(*small_set)
    assert "while training label number 0 against its absence on" in caught.value.__notes__[0]
