"""A virtual label among corrected pairs: by hand, in all outcomes, and for all kinds of input."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import references
from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    RandomSubspaceNB,
)

BASE = LogisticRegression(C=0.5)
SETTINGS = [
    {},
    {"balance": "labels"},
    {"balance": "pairs"},
    {"overlap": 0.5},
    {"balance": "labels", "overlap": 0.25, "voting": "votes"},
    {"threshold": 0.3},
]


def changed(clf, **setting):
    """Return the classifier with other parameters of prediction."""
    return copy(clf).set_params(**setting)


def fitted(X, Y, base=BASE, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    return CorrectedPairwiseClassifier(
        base, calibration_label=True, **{"random_state": 4, **parameters}
    ).fit(X, Y, **fit_params)


class Slow(RandomSubspaceNB):
    """The same classifier, but not in closed form."""


def test_by_hand():
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
        without, overlapping = (changed(clf, overlap=overlap, **setting) for overlap in (0.0, 1.0))
        for method in ("confusion", "pair_corrected"):
            one, other = (getattr(each, method)(X) for each in (without, overlapping))
            np.testing.assert_array_equal(one[:, virtual], other[:, virtual])
            assert (one[:, ~virtual] != other[:, ~virtual]).any()
    one, other = (changed(clf, balance=how).confusion(X) for how in ("labels", "pairs"))
    np.testing.assert_allclose(one[:, virtual], other[:, virtual])
    assert not np.allclose(one[:, ~virtual], other[:, ~virtual])


def test_pairs_of_labels_are_corrected_as_without_it(small_set):
    X, Y = small_set
    for base in (BASE, None):
        plain = CorrectedPairwiseClassifier(base, random_state=4).fit(X, Y)
        clf = fitted(X, Y, base)
        real = clf.pairs_[:, 1] < 4
        assert clf.pairs_[real].tolist() == plain.pairs_.tolist()
        for setting in SETTINGS[:4]:
            one, other = (changed(each, **setting).pair_corrected(X) for each in (clf, plain))
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


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("validation", [0.6, 3])
def test_closed_form_and_one_classifier_a_pair_give_the_same(small_set, setting, validation):
    X, Y = small_set
    fast, slow = (
        fitted(X, Y, kind(5, 0.5), validation=validation, **setting)
        for kind in (RandomSubspaceNB, Slow)
    )
    assert type(fast.learner_) is not type(slow.learner_)
    close = 1e-9
    np.testing.assert_allclose(fast.pair_corrected(X), slow.pair_corrected(X), atol=close)
    np.testing.assert_allclose(fast.confusion(X), slow.confusion(X), atol=close)
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), atol=close)
    np.testing.assert_array_equal(fast.predict(X), slow.predict(X))


def test_perfect_reference_leaves_the_ranking_uncorrected(rng):
    # With no weight near the query nothing is corrected, and the method is that of the ranking.
    X = np.vstack([rng.rand(60, 2), [[1e3, 1e3]]])
    Y = rng.rand(61, 3) < 0.5
    clf = fitted(X, Y, GaussianNB(), validation=0.5, reference="identity", random_state=0)
    clf._row_weights = np.zeros(len(clf.validation_indices_))
    T = clf.train_indices_
    ranking = CalibratedLabelRanking(GaussianNB()).fit(X[T], Y[T])
    for voting in ("soft", "votes"):
        clf.set_params(voting=voting)
        ranking.set_params(voting=voting)
        np.testing.assert_allclose(clf.predict_proba(X), ranking.predict_proba(X), atol=1e-9)
        np.testing.assert_array_equal(clf.predict(X), ranking.predict(X))


def test_votes_are_counted_against_those_of_the_virtual_label(small_set):
    X, Y = small_set
    clf = fitted(X, Y, voting="votes")
    found = 0
    for supports, predicted in zip(clf.pair_corrected(X), clf.predict(X), strict=True):
        votes = [0.0] * 5
        for (i, j), support in zip(references.pairs(5), supports, strict=True):
            won = references.crisp_rrc(round(support, 12))
            votes[i] += won
            votes[j] += 1 - won
        assert predicted.tolist() == [int(v > votes[-1]) for v in votes[:-1]]
        found += predicted.sum()
    assert 0 < found < Y.size


def test_parameters_of_prediction_need_no_new_fit(small_set):
    X, Y = small_set
    clf = fitted(X, Y)
    found = set()
    for setting in SETTINGS:
        at_prediction = changed(clf, **setting).predict(X)
        singly = clone(clf).set_params(**setting).fit(X, Y)
        np.testing.assert_array_equal(at_prediction, singly.predict(X))
        found.add(at_prediction.tobytes())
    assert len(found) > 3


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
    with pytest.raises(ValueError, match="'calibration_label' parameter .* 'bool'"):
        clf.set_params(calibration_label="yes").fit(X, Y)


def test_classes_instead_of_labels(small_set):
    X, Y = small_set
    y = np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]
    clf = fitted(X, y)
    assert clf.pairs_.max() == 3
    sums = references.scores(clf.pair_corrected(X), 4)[:, :3]
    scores = clf.predict_proba(X)
    np.testing.assert_allclose(scores, sums / sums.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    assert clf.score(X, y) > 0.6


def test_whole_sample_weights_are_repetitions_of_validation_rows(small_set):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(3, size=len(Y)).astype(float)
    clf = fitted(X, Y, weights=weights, validation=0.5, neighbourhood=GaussianNeighbourhood(5.0))
    assert (weights[clf.validation_indices_] > 0).all()
    repeated = clone(clf).fit(X, Y, sample_weight=weights)
    V = clf.validation_indices_
    times = weights[V].astype(int)
    own = np.repeat(np.arange(len(V)), times)
    around = clf.neighbourhood_.weights(X[:5])[:, own]
    for setting in SETTINGS[:4]:
        p_decide = np.vectorize(references.rrc)(repeated.pair_support(X[V][own]))
        e = references.confusion(
            around, Y[V][own], p_decide, virtual=True,
            overlap=setting.get("overlap", 0.0), how=setting.get("balance"),
        )  # fmt: skip
        shares = e / around.sum(axis=1)[:, None, None, None]
        np.testing.assert_allclose(changed(clf, **setting).confusion(X[:5]), shares, atol=1e-10)


@pytest.mark.parametrize("base", [None, LogisticRegression(max_iter=1000)], ids=["nb", "logistic"])
@pytest.mark.parametrize("validation", [0.6, 3])
def test_sparse_rows_and_frames(small_set, base, validation):
    X, Y = small_set
    plain = fitted(X, Y, base, validation=validation)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=["sea", "sun", "rain", "snow"])
    for rows, target in ((sparse.csr_array(X), sparse.csr_array(Y)), (frame, labels)):
        clf = fitted(rows, target, base, validation=validation)
        np.testing.assert_allclose(clf.predict_proba(rows), plain.predict_proba(X), atol=1e-8)
    assert clf.classes_.tolist() == ["sea", "sun", "rain", "snow"]


@settings(max_examples=20)
@given(st.data())
def test_any_labels(data):
    """Rare, constant and shared labels never break anything; the order of labels is no matter."""
    n, n_labels = data.draw(st.integers(6, 25)), data.draw(st.integers(1, 4))
    rng = np.random.RandomState(data.draw(st.integers(0, 10**6)))
    X = rng.randint(3, size=(n, 3)).astype(float)
    Y = rng.rand(n, n_labels) < rng.choice([0, 0.1, 0.5, 1], size=n_labels)
    clf = fitted(
        X,
        Y,
        RandomSubspaceNB(3, 0.5),
        balance=data.draw(st.sampled_from([None, "pairs", "labels"])),
        overlap=data.draw(st.sampled_from([0.0, 0.5])),
        voting=data.draw(st.sampled_from(["soft", "votes"])),
        validation=data.draw(st.sampled_from([0.5, 2])),
        random_state=0,
    )
    scores = clf.predict_proba(X)
    assert ((scores >= 0) & (scores <= 1)).all()
    order = rng.permutation(n_labels)
    permuted = clone(clf).fit(X, Y[:, order])
    np.testing.assert_allclose(permuted.predict_proba(X), scores[:, order], atol=1e-6)


@pytest.mark.parametrize("base", [RandomSubspaceNB(), GaussianNB()], ids=["closed", "generic"])
def test_labels_that_never_or_always_occur_are_decided_so(small_set, base):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    predicted = fitted(X, Y, base, validation=3).predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 3].all()


def test_the_number_of_labels_is_right_where_the_plain_vote_takes_half(small_set):
    X, _ = small_set
    Y = np.eye(4, dtype=int)[X[:, :4].argmax(axis=1)]
    base = LogisticRegression(max_iter=1000)
    plain = CorrectedPairwiseClassifier(base, validation=5, random_state=4).fit(X, Y)
    assert abs(fitted(X, Y, base, validation=5).predict(X).sum(axis=1).mean() - 1) < 0.3
    assert plain.predict(X).sum(axis=1).mean() > 1.5
