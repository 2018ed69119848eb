"""Calibrated label ranking, and a virtual label among corrected pairs, against loops."""

from copy import copy
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GlobalNeighbourhood,
    PairwiseClassifier,
    RandomSubspaceNB,
)
from pairmend.pairwise.learners import PairLearner

BASE = LogisticRegression(C=0.5)
SETTINGS = [{}, {"balance": "labels"}, {"balance": "pairs"}, {"overlap": 0.5}]


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
@pytest.mark.parametrize("n_labels", [1, 4])
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


def test_the_number_of_labels_is_right_where_the_plain_vote_takes_half(small_set):
    # Rows with one label of four: half of the labels is one too many.
    X, _ = small_set
    Y = np.eye(4, dtype=int)[X[:, :4].argmax(axis=1)]
    clf = CalibratedLabelRanking(LogisticRegression(max_iter=1000), voting="votes").fit(X, Y)
    plain = PairwiseClassifier(LogisticRegression(max_iter=1000), voting="votes").fit(X, Y)
    assert abs(clf.predict(X).sum(axis=1).mean() - 1) < 0.3
    assert plain.predict(X).sum(axis=1).mean() > 1.5


def test_a_failing_binary_problem_is_named(small_set):
    class Fragile(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if len(y) == 80:
                raise RuntimeError("cannot")
            return super().fit(X, y, sample_weight)

    with pytest.raises(RuntimeError) as caught:
        CalibratedLabelRanking(Fragile()).fit(*small_set)
    assert "while training label number 0 against its absence on" in caught.value.__notes__[0]


def fitted(X, Y, base=BASE, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    return CorrectedPairwiseClassifier(
        base, calibration_label=True, **{"random_state": 4, **parameters}
    ).fit(X, Y, **fit_params)


def with_params(clf, **setting):
    """Return the classifier with other parameters of prediction."""
    return copy(clf).set_params(**setting)


class Slow(RandomSubspaceNB):
    """The same classifier, but not in closed form."""


def test_correction_by_hand():
    # Every classifier predicts 1/2 everywhere, so the corrected support is the share of the label
    # among the validation rows of the pair: all rows, for a pair with the virtual label.
    X, Y = np.zeros((40, 1)), np.array([[1, 0], [0, 1], [0, 1], [0, 0]] * 10)
    clf = fitted(
        X, Y, DummyClassifier(strategy="uniform"), neighbourhood=GlobalNeighbourhood(), validation=2
    )
    assert clf.pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(clf.pair_corrected(X[:1]), [[1 / 3, 1 / 4, 1 / 2]], atol=1e-12)
    # Means over two pairs each: 7/24, 7/12 and, for the virtual label, 5/8.
    scores = [[0.5 + (7 / 24 - 5 / 8) / 2, 0.5 + (7 / 12 - 5 / 8) / 2]]
    np.testing.assert_allclose(clf.predict_proba(X[:1]), scores, atol=1e-12)
    # On the virtual label's side every row counts that lacks the label, 30 and 20 of 40.
    shares = clf.confusion(X[:1])[0].sum(axis=2)
    np.testing.assert_allclose(shares, [[1 / 4, 1 / 2], [1 / 4, 3 / 4], [1 / 2, 1 / 2]])
    balanced = clf.set_params(balance="labels").confusion(X[:1])[0].sum(axis=2)
    np.testing.assert_allclose(balanced, [[1 / 4, 1 / 4], [1 / 4, 1 / 4], [1 / 2, 1 / 2]])
    np.testing.assert_allclose(
        clf.set_params(balance="pairs").confusion(X[:1])[0].sum(axis=2), balanced
    )


def test_overlap_plays_no_role_against_the_virtual_label(small_set):
    X, Y = small_set
    clf = fitted(X, Y)
    virtual = clf.pairs_[:, 1] == 4
    for setting in ({}, {"balance": "labels"}, {"balance": "pairs"}):
        without, overlapping = (
            with_params(clf, overlap=overlap, **setting) for overlap in (0.0, 1.0)
        )
        for method in ("confusion", "pair_corrected"):
            one, other = (getattr(each, method)(X) for each in (without, overlapping))
            np.testing.assert_array_equal(one[:, virtual], other[:, virtual])
            assert (one[:, ~virtual] != other[:, ~virtual]).any()
    one, other = (with_params(clf, balance=how).confusion(X) for how in ("labels", "pairs"))
    np.testing.assert_allclose(one[:, virtual], other[:, virtual])
    assert not np.allclose(one[:, ~virtual], other[:, ~virtual])


def test_pairs_of_labels_are_corrected_as_without_it(small_set):
    X, Y = small_set
    for base in (BASE, None):
        plain = CorrectedPairwiseClassifier(base, random_state=4).fit(X, Y)
        clf = fitted(X, Y, base)
        real = clf.pairs_[:, 1] < 4
        assert clf.pairs_[real].tolist() == plain.pairs_.tolist()
        for setting in SETTINGS:
            one, other = (with_params(each, **setting).pair_corrected(X) for each in (clf, plain))
            np.testing.assert_allclose(one[:, real], other, atol=1e-10)


def test_binary_problems_are_corrected_alone_for_a_single_label(small_set):
    X, Y = small_set
    every, virtual = fitted(X, Y), fitted(X, Y).pairs_[:, 1] == 4
    for label in range(4):
        clf = fitted(X, Y[:, [label]])
        assert clf.pairs_.tolist() == [[0, 1]]
        corrected_supports = every.pair_corrected(X)[:, virtual][:, [label]]
        np.testing.assert_allclose(clf.pair_corrected(X), corrected_supports, atol=1e-12)
        np.testing.assert_allclose(clf.predict_proba(X), corrected_supports, atol=1e-12)
        np.testing.assert_array_equal(clf.predict(X), np.round(corrected_supports, 12) > 0.5)
    with pytest.raises(ValueError, match="one label only"):
        CorrectedPairwiseClassifier(BASE).fit(X, Y[:, :1])


@pytest.mark.parametrize("validation", [0.6, 3])
def test_closed_form_and_one_classifier_a_pair_give_the_same(small_set, validation):
    X, Y = small_set
    fast, slow = (
        fitted(X, Y, kind(5, 0.5), validation=validation) for kind in (RandomSubspaceNB, Slow)
    )
    assert type(fast.learner_) is not type(slow.learner_)
    for setting in ({}, {"balance": "labels", "overlap": 0.25, "voting": "votes"}):
        one, other = (with_params(each, **setting) for each in (fast, slow))
        for method in ("pair_corrected", "confusion", "predict_proba"):
            found, expected = (getattr(each, method)(X) for each in (one, other))
            np.testing.assert_allclose(found, expected, atol=1e-9)


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
