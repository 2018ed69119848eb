"""Overlap-aware pairs against slow loops."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import overlap_references as references
from pairmend.baselines import BinaryRelevance
from pairmend.pairwise import (
    BradleyTerryClassifier,
    FourClassPairsClassifier,
    ParallelHyperplanesSVM,
    SharedFirstClassifier,
)


@pytest.fixture
def few(small_set):
    """Three labels; 0 and 2 share no row."""
    X, Y = small_set[0], small_set[1][:, [0, 1, 3]].copy()
    Y[Y[:, 0] == 1, 2] = 0
    assert min((Y[:, 0] & Y[:, 1]).sum(), (Y[:, 1] & Y[:, 2]).sum()) > 3
    return X, Y


def relevance(X, Y, query):
    return [references.support(GaussianNB, X, Y[:, i].tolist(), query) for i in range(3)]


def test_bradley_terry(few):
    X, Y = few
    clf = BradleyTerryClassifier(GaussianNB(), prior=0.2).fit(X[:60], Y[:60])
    scores, supports = clf.predict_proba(X[58:64]), clf.pair_supports(X[58:64])
    for row, query in enumerate(X[58:64]):
        at_least = np.zeros((3, 3))
        for i, j in combinations(range(3), 2):
            at_least[i, j], at_least[j, i] = references.overlap_supports(
                GaussianNB, X[:60], Y[:60], i, j, query
            )
        virtual = relevance(X[:60], Y[:60], query)
        expected = [at_least[i, j] for i, j in clf.pairs_ if j < 3]
        np.testing.assert_allclose(supports[row, clf.pairs_[:, 1] < 3, 0], expected, atol=1e-12)
        strengths, _ = references.bradley_terry(at_least, virtual, 0.2)
        np.testing.assert_allclose(scores[row], strengths / (1 + strengths), atol=1e-5)
    np.testing.assert_array_equal(clf.predict(X[58:64]), scores > 0.5)
    # 0 and 2 share no row, so one classifier will do; those of the virtual label stand alone.
    assert [len(own) for own in clf.models_] == [2, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("voting", ["soft", "votes"])
def test_shared_first(few, voting):
    X, Y = few
    clf = SharedFirstClassifier(GaussianNB(), voting=voting).fit(X[:60], Y[:60])
    expected = []
    for query in X[58:68]:
        supports_of_pairs = {
            (i, j): references.shared_first_supports(
                GaussianNB, X[:60], Y[:60], i, j, query, voting
            )
            for i, j in combinations(range(3), 2)
        }
        virtual = relevance(X[:60], Y[:60], query)
        if voting == "votes":
            virtual = [float(v > 0.5) for v in virtual]
        expected.append(references.calibrated_scores(3, supports_of_pairs, virtual))
    np.testing.assert_allclose(clf.predict_proba(X[58:68]), expected, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[58:68]), np.round(expected, 9) > 0.5)


def test_the_second_classifier_is_asked_only_where_one_label_is_found(few):
    class Noting(GaussianNB):
        n_rows = 0

        def predict_proba(self, X):
            Noting.n_rows += len(X)
            return super().predict_proba(X)

    X, Y = few
    clf = SharedFirstClassifier(Noting(), voting="votes").fit(X, Y)
    supports = clf.pair_supports(X)
    real = clf.pairs_[:, 1] < 3
    n_both = np.count_nonzero((supports[:, real] == 1).all(axis=2))
    assert n_both > 10
    constant = sum(not isinstance(m, Noting) for m in clf.shared_models_ + clf.pair_models_)
    assert constant == 1  # whether 0 and 2 share a row
    assert Noting.n_rows == 80 * (2 + 3 + 3) - n_both


@pytest.mark.parametrize("pair_weight", [0.5, 0.8])
def test_four_classes(few, pair_weight):
    X, Y = few
    clf = FourClassPairsClassifier(GaussianNB(), pair_weight=pair_weight).fit(X[:60], Y[:60])
    expected = [
        [
            references.four_class_score(GaussianNB, X[:60], Y[:60], i, query, pair_weight)
            for i in range(3)
        ]
        for query in X[58:66]
    ]
    np.testing.assert_allclose(clf.predict_proba(X[58:66]), expected, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[58:66]), np.array(expected) > 0.5)
    kinds = clf.pair_classes(X)
    np.testing.assert_allclose(kinds.sum(axis=2), 1)
    assert not kinds[:, 1, 3].any()  # 0 and 2 are never both there
    alone = clf.set_params(pair_weight=0.0).predict_proba(X)
    single = BinaryRelevance(GaussianNB()).fit(X[:60], Y[:60]).predict_proba(X)
    np.testing.assert_allclose(alone, single, atol=1e-11)


def test_parallel_hyperplanes(few):
    X, Y = few[0][:30] / 10, few[1][:30]
    clf = ParallelHyperplanesSVM(C=0.5, voting="votes").fit(X, Y)
    got = np.zeros((len(X), 4))
    for number, (i, j) in enumerate(clf.pairs_):
        first = Y[:, i] == 1
        second = Y[:, j] == 1 if j < 3 else ~first
        rows = np.flatnonzero(first | second)
        w, (a, b), _ = references.parallel_hyperplanes(
            X[rows], np.column_stack([first, second])[rows], np.full(len(rows), 0.5)
        )
        np.testing.assert_allclose(clf.coef_[number], w, atol=1e-4)
        np.testing.assert_allclose(clf.thresholds_[number], [a, b], atol=1e-4)
        got[:, i] += X @ w > a
        got[:, j] += X @ w < b
    scores = (1 + got[:, :3] / 3 - got[:, 3:] / 3) / 2
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), np.round(scores, 9) > 0.5)
    soft = clf.set_params(voting="soft").pair_supports(X)
    along = X @ clf.coef_.T
    np.testing.assert_allclose(soft[..., 0], 1 / (1 + np.exp(clf.thresholds_[:, 0] - along)))
    np.testing.assert_allclose(soft[..., 1], 1 / (1 + np.exp(along - clf.thresholds_[:, 1])))


@pytest.mark.parametrize("labels", [[], [0], [1, 3], [0, 1, 2, 3]])
def test_right_pairs_give_right_labels(labels):
    # Supports of pairs with a label of the row are right; those of other pairs are arbitrary.
    truth = np.isin(np.arange(4), labels)
    supports_against = np.ones((1, 5, 5))
    has_label = np.append(truth, False)
    for i, j in combinations(range(5), 2):
        if has_label[i] != has_label[j]:
            supports_against[0, i, j], supports_against[0, j, i] = (
                float(has_label[i]),
                float(has_label[j]),
            )
        if j == 4:
            supports_against[0, i, j], supports_against[0, j, i] = (
                float(has_label[i]),
                float(not has_label[i]),
            )
    supports_against[0, range(5), range(5)] = 0
    for merge in (SharedFirstClassifier()._merge, BradleyTerryClassifier(prior=0.01)._merge):
        np.testing.assert_array_equal(merge(None, supports_against)[0] > 0.5, truth)
