"""Baselines against slow loops, and by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from pairmend import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.baselines.powerset import _draw_labelsets


def test_binary_relevance(small_set):
    X, Y = small_set
    weights = 1.0 + np.arange(60) % 3
    clf = BinaryRelevance(GaussianNB()).fit(X[:60], Y[:60], sample_weight=weights)
    models = [GaussianNB().fit(X[:60], y, weights) for y in Y[:60].T]
    scores = np.column_stack([model.predict_proba(X)[:, 1] for model in models])
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), np.column_stack([m.predict(X) for m in models]))


def test_binary_relevance_takes_what_its_base_takes(small_set):
    X, Y = small_set
    texts = ["sun sea" if y else "rain" for y in Y[:, 0]]
    words = BinaryRelevance(make_pipeline(CountVectorizer(), LogisticRegression())).fit(texts, Y)
    np.testing.assert_array_equal(words.predict(texts)[:, 0], Y[:, 0])
    gaps = np.where(X > 12, np.nan, X)
    assert np.isfinite(BinaryRelevance(random_state=0).fit(gaps, Y).predict_proba(gaps)).all()

    class Reversed(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.classes_ = self.classes_[::-1].copy()
            return self

        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    same = (BinaryRelevance(base).fit(X, Y).predict_proba(X) for base in (Reversed(), GaussianNB()))
    np.testing.assert_array_equal(*same)


def powerset(X, Y, queries):
    """Predicted label sets and probabilities of labels."""
    sets = sorted({tuple(y) for y in Y.tolist()})
    model = GaussianNB().fit(X, [sets.index(tuple(y)) for y in Y.tolist()])
    predicted = np.array([sets[number] for number in model.predict(queries)])
    scores = np.zeros(predicted.shape)
    for row, probabilities in zip(scores, model.predict_proba(queries), strict=True):
        for labels, p in zip(sets, probabilities, strict=True):
            row += p * np.array(labels)
    return predicted, scores


def test_label_powerset(small_set):
    X, Y = small_set
    clf = LabelPowerset(GaussianNB()).fit(X[:60], Y[:60])
    predicted, scores = powerset(X[:60], Y[:60], X)
    np.testing.assert_array_equal(clf.predict(X), predicted)
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    assert {tuple(y) for y in clf.predict(X).tolist()} <= {tuple(y) for y in Y[:60].tolist()}
    without = LabelPowerset(LinearSVC()).fit(X, Y)
    assert without.predict(X).shape == Y.shape
    assert not hasattr(without, "predict_proba")


def test_label_powerset_where_the_best_set_is_not_of_the_best_labels():
    # Sets {0, 1}, {0, 2}, {1, 2} with frequencies 2/5, 2/5, 1/5 and a classifier that sees
    # nothing: P(0) = 4/5, P(1) = P(2) = 3/5, but no set has all three labels.
    Y = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1], [0, 1, 1]])
    clf = LabelPowerset(LogisticRegression(C=1e-9)).fit(np.arange(5.0).reshape(-1, 1), Y)
    np.testing.assert_allclose(clf.predict_proba([[2.0]]), [[0.8, 0.6, 0.6]], atol=1e-3)
    assert clf.predict([[2.0]]).sum() == 2


def chain(X, Y, queries, order, weights):
    """Probabilities of one chain."""
    features, inputs = X, queries
    scores = np.zeros((len(queries), Y.shape[1]))
    for label in order:
        model = GaussianNB().fit(features, Y[:, label], weights)
        scores[:, label] = model.predict_proba(inputs)[:, 1]
        features = np.column_stack([features, Y[:, label]])
        inputs = np.column_stack([inputs, model.predict(inputs)])
    return scores


class Remembering(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        self.X_, self.weights_ = X, sample_weight
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("share", "size"), [(0.67, 41), (1.0, 60)])
@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(60)], ids=["plain", "weighted"])
def test_classifier_chain_ensemble(small_set, share, size, weights):
    X, Y = small_set
    X = X + np.arange(80)[:, np.newaxis] / 1e4  # rows differ
    clf = ClassifierChainEnsemble(Remembering(), n_chains=4, max_samples=share, random_state=0)
    clf.fit(X[:60], Y[:60], sample_weight=weights)
    orders, samples, expected = set(), set(), []
    for made in clf.chains_:
        first = made.estimators_[0]
        rows = [X.tolist().index(row) for row in first.X_[:, :6].tolist()]
        assert len(set(rows)) == size
        assert max(rows) < 60
        if weights is not None:
            np.testing.assert_array_equal(first.weights_, weights[rows])
        assert sorted(made.order_.tolist()) == [0, 1, 2, 3]
        orders.add(tuple(made.order_))
        samples.add(tuple(sorted(rows)))
        expected.append(chain(X[rows], Y[rows], X, made.order_, first.weights_))
    assert len(orders) > 1
    assert len(samples) == (4 if size < 60 else 1)
    scores = np.mean(expected, axis=0)
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), scores > 0.5)


def test_chains_whose_rows_lack_a_label(small_set):
    # One row of 80 has label 0: a chain without that row predicts the share in all rows.
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0] = np.arange(80) == 7
    clf = ClassifierChainEnsemble(GaussianNB(), n_chains=12, random_state=0).fit(X, Y)
    has_label = [0 in labels for labels in clf.chain_labels_]
    assert {len(labels) for labels in clf.chain_labels_} == {3, 4}
    predictions = [
        made.predict_proba(X)[:, 0] for made, own in zip(clf.chains_, has_label, strict=True) if own
    ]
    expected = (np.sum(predictions, axis=0) + (12 - sum(has_label)) * 2 / 82) / 12
    np.testing.assert_allclose(clf.predict_proba(X)[:, 0], expected)
    alone = ClassifierChainEnsemble(GaussianNB(), n_chains=9, random_state=0).fit(X, Y[:, :1])
    assert None in alone.chains_
    assert not alone.predict(X)[np.arange(80) != 7].any()


@pytest.mark.parametrize(("k", "n_models"), [(1, None), (2, 3), (3, None), (2, 100), (9, 5)])
def test_rakel(small_set, k, n_models):
    X, Y = small_set
    clf = RAkEL(GaussianNB(), k=k, n_models=n_models, random_state=2).fit(X[:60], Y[:60])
    votes = [[[] for _ in range(4)] for _ in X]
    for labels in clf.labelsets_.tolist():
        predicted, _ = powerset(X[:60], Y[:60][:, labels], X)
        for row, predictions in zip(votes, predicted, strict=True):
            for label, vote in zip(labels, predictions, strict=True):
                row[label].append(vote)
    voted = [label for label in range(4) if votes[0][label]]
    share = np.array([[np.mean(row[label]) for label in voted] for row in votes])
    np.testing.assert_array_equal(clf.predict(X)[:, voted], share > 0.5)
    n_voters = np.array([len(votes[0][label]) for label in voted])
    smoothed = (share * n_voters + 1) / (n_voters + 2)
    np.testing.assert_allclose(clf.predict_proba(X)[:, voted], smoothed)


@pytest.mark.parametrize(("n_labels", "k", "n_sets"), [(4, 2, 6), (4, 2, 99), (5, 5, 3), (3, 1, 6)])
def test_all_labelsets_where_they_are_few(rng, n_labels, k, n_sets):
    found = _draw_labelsets(n_labels, k, n_sets, rng).tolist()
    assert found == [list(labels) for labels in combinations(range(n_labels), k)]


def test_labelsets_are_different_and_equally_likely():
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for seed in range(600):
        found = [tuple(s) for s in _draw_labelsets(5, 2, 4, np.random.RandomState(seed)).tolist()]
        assert len(set(found)) == 4
        for labels in found:
            counts[labels] += 1
    # 240 each in the mean, with a standard deviation of 12.
    assert all(180 < count < 300 for count in counts.values())


def test_a_label_in_no_labelset_has_its_share(small_set):
    X, Y = small_set
    clf = RAkEL(GaussianNB(), k=2, n_models=1, random_state=0).fit(X, Y)
    left_out = np.setdiff1d(np.arange(4), clf.labelsets_)
    assert len(left_out) == 2
    share = (Y.sum(axis=0) + 1) / 82
    np.testing.assert_allclose(clf.predict_proba(X)[:, left_out], np.tile(share[left_out], (80, 1)))


def test_ml_knn_by_hand():
    # Rows 0 and 1 are each other's neighbours, and so are rows 2 and 3.
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    Y = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]])
    clf = MLkNN(1).fit(X, Y)
    np.testing.assert_allclose(clf.prior_, [1 / 2, 1 / 2, 1 / 3])
    # Label 0: its neighbour has it at both rows with it, at no row without it. Label 1: the
    # other way round. Label 2: P(0 | with) = 2/3, P(0 | without) = 3/5, so the posterior of 0 is
    # 1/3 2/3 : (1/3 2/3 + 2/3 3/5) = 5/14, and that of 1 is 1/3 1/3 : (1/3 1/3 + 2/3 2/5) = 5/17.
    np.testing.assert_allclose(clf.posterior_, [[1 / 4, 3 / 4], [3 / 4, 1 / 4], [5 / 14, 5 / 17]])
    np.testing.assert_allclose(
        clf.predict_proba([[0.4], [5.8]]), [[3 / 4, 1 / 4, 5 / 14], [1 / 4, 1 / 4, 5 / 17]]
    )
    assert clf.predict([[0.4], [5.8]]).tolist() == [[1, 0, 0], [0, 0, 0]]


def nearest(X, query, k, without=None):
    others = [a for a in range(len(X)) if a != without]
    return sorted(others, key=lambda a: sum((X[a] - query) ** 2))[:k]


def ml_knn(X, Y, queries, k, s):
    scores = np.zeros((len(queries), Y.shape[1]))
    for label, y in enumerate(Y.T):
        prior = (s + sum(y)) / (2 * s + len(y))
        seen = {0: [0] * (k + 1), 1: [0] * (k + 1)}
        for a in range(len(X)):
            seen[y[a]][sum(y[b] for b in nearest(X, X[a], k, without=a))] += 1
        for row, query in enumerate(queries):
            count = sum(y[b] for b in nearest(X, query, k))
            odds = [
                share * (s + seen[c][count]) / (s * (k + 1) + sum(seen[c]))
                for c, share in ((0, 1 - prior), (1, prior))
            ]
            scores[row, label] = odds[1] / sum(odds)
    return scores


@pytest.mark.parametrize(("k", "s"), [(10, 1.0), (3, 0.5)])
def test_ml_knn(rng, k, s):
    X = rng.randn(50, 3)
    Y = (X + rng.randn(50, 3) > 0.3).astype(int)
    clf = MLkNN(k, s=s).fit(X[:40], Y[:40])
    expected = ml_knn(X[:40], Y[:40], X, k, s)
    np.testing.assert_allclose(clf.predict_proba(X), expected)
    np.testing.assert_array_equal(clf.predict(X), expected > 0.5)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("n_features", [3, 20])
def test_of_equally_far_rows_the_first_are_neighbours(rng, n_features, metric):
    X = rng.randint(1, 3, size=(60, n_features))
    Y = (rng.rand(60, 4) < 0.4).astype(int)
    dense, csr = (
        MLkNN(5, metric=metric).fit(rows, Y).predict_proba(rows)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(csr, dense)
    if metric == "euclidean":
        np.testing.assert_allclose(dense, ml_knn(X, Y, X, 5, 1.0), rtol=1e-12)


def test_rounding_does_not_decide_between_equal_rows(rng):
    """Far from the origin, where squares of equal distances differ by rounding."""
    X = np.repeat(1e4 + rng.randn(12, 6), 8, axis=0)[rng.permutation(96)]
    Y = (rng.rand(96, 4) < 0.4).astype(int)
    dense, csr = (MLkNN(5).fit(make(X), Y) for make in (np.asarray, sparse.csr_array))
    np.testing.assert_array_equal(csr.predict_proba(X), dense.predict_proba(X))
    np.testing.assert_allclose(dense.predict_proba(X), ml_knn(X, Y, X, 5, 1.0), rtol=1e-12)


def test_ml_knn_with_few_or_equal_rows(rng):
    X, Y = rng.rand(4, 2), np.eye(4, 3, dtype=int)
    few = MLkNN(10).fit(X, Y)
    assert few.posterior_.shape == (3, 4)
    np.testing.assert_allclose(few.predict_proba(X), MLkNN(3).fit(X, Y).predict_proba(X))
    same = MLkNN(2).fit(np.zeros((30, 2)), np.tile(Y, (8, 1))[:30]).predict_proba(np.zeros((1, 2)))
    assert ((same > 0) & (same < 1)).all()
    with pytest.raises(ValueError, match="1 sample, expected at least 2"):
        MLkNN().fit(X[:1], Y[:1])
