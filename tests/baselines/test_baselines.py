"""Baselines against slow loops; their base classifiers, weights and seeds."""

from itertools import combinations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pairmend import PairwiseClassifier
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL

WRAPPING = {
    "relevance": BinaryRelevance(),
    "powerset": LabelPowerset(),
    "chains": ClassifierChainEnsemble(n_chains=3),
    "rakel": RAkEL(),
}


def with_base(baseline, base):
    return clone(baseline).set_params(estimator=base, random_state=0)


def test_labels_that_never_or_always_occur(small_set):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    for kind in (BinaryRelevance, ClassifierChainEnsemble):
        proba = kind(random_state=0).fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(proba[:, [0, 3]], [[1 / 82, 81 / 82]] * 80)
    constant = np.tile([1, 0], (80, 1))
    for baseline in WRAPPING.values():
        np.testing.assert_array_equal(clone(baseline).fit(X, constant).predict(X), constant)


def test_seeds_reach_the_base(small_set):
    X, Y = small_set
    tree = DecisionTreeClassifier(max_features=1)
    for kind in (
        BinaryRelevance, LabelPowerset, RAkEL, ClassifierChainEnsemble, PairwiseClassifier
    ):  # fmt: skip
        own, same, other, none, another = (
            kind(tree, random_state=seed).fit(X[:60], Y[:60]).predict_proba(X)
            for seed in (0, 0, 1, None, None)
        )
        np.testing.assert_array_equal(own, same)
        assert (own != other).any()
        assert (none != another).any()
    fixed = clone(tree).set_params(random_state=3)
    found = (
        BinaryRelevance(fixed, random_state=seed).fit(X, Y).predict_proba(X) for seed in (1, 2)
    )
    np.testing.assert_array_equal(*found)


def test_bases_and_parameters(small_set):
    X, Y = small_set
    assert RAkEL(LinearSVC(), random_state=0).fit(X, Y).predict(X).shape == Y.shape
    for bad in (ClassifierChainEnsemble(max_samples=1.1), RAkEL(n_models=0), MLkNN(s=0)):
        with pytest.raises(ValueError, match="parameter of"):
            bad.fit(X, Y)


def test_a_base_may_have_its_classes_in_any_order(small_set):
    X, Y = small_set

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
        assert isinstance(made, ClassifierChain)
        expected.append(made.predict_proba(X))
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
    votes, n_voters = np.zeros((80, 4)), np.zeros(4)
    for labels in clf.labelsets_.tolist():
        votes[:, labels] += powerset(X[:60], Y[:60][:, labels], X)[0]
        n_voters[labels] += 1
    voted = n_voters > 0
    np.testing.assert_array_equal(clf.predict(X)[:, voted], (votes > n_voters / 2)[:, voted])
    smoothed = ((votes + 1) / (n_voters + 2))[:, voted]
    np.testing.assert_allclose(clf.predict_proba(X)[:, voted], smoothed)


def test_a_label_in_no_labelset_has_its_share(small_set):
    X, Y = small_set
    clf = RAkEL(GaussianNB(), k=2, n_models=1, random_state=0).fit(X, Y)
    left_out = np.setdiff1d(np.arange(4), clf.labelsets_)
    assert len(left_out) == 2
    for k, n_models in ((2, 6), (2, 99), (4, 3), (1, 6)):  # all labelsets where they are few
        found = RAkEL(GaussianNB(), k=k, n_models=n_models).fit(X, Y).labelsets_
        assert found.tolist() == [list(labels) for labels in combinations(range(4), k)]
    share = (Y.sum(axis=0) + 1) / 82
    np.testing.assert_allclose(clf.predict_proba(X)[:, left_out], np.tile(share[left_out], (80, 1)))


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


def test_ml_knn_with_few_or_equal_rows(rng):
    X, Y = rng.rand(4, 2), np.eye(4, 3, dtype=int)
    few = MLkNN(10).fit(X, Y)
    assert few.posterior_.shape == (3, 4)
    np.testing.assert_allclose(few.predict_proba(X), MLkNN(3).fit(X, Y).predict_proba(X))
    same = MLkNN(2).fit(np.zeros((30, 2)), np.tile(Y, (8, 1))[:30]).predict_proba(np.zeros((1, 2)))
    assert ((same > 0) & (same < 1)).all()
    with pytest.raises(ValueError, match="1 sample, expected at least 2"):
        MLkNN().fit(X[:1], Y[:1])


@pytest.mark.parametrize("baseline", [*WRAPPING.values(), PairwiseClassifier()], ids=str)
def test_metadata_routing(baseline, small_set):
    X, Y = small_set
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 1e-6)
    direct = with_base(baseline, GaussianNB()).fit(X, Y, sample_weight=weights).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = GaussianNB().set_fit_request(sample_weight=True)
        routed = with_base(baseline, requesting).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.predict_proba(X), direct)
        silent = with_base(baseline, GaussianNB().set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            silent.fit(X, Y, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        inside = with_base(baseline, make_pipeline(scaler, requesting))
        inside.fit(X, Y, sample_weight=weights)
    named = with_base(baseline, make_pipeline(StandardScaler(), GaussianNB()))
    named.fit(X, Y, gaussiannb__sample_weight=weights)
    np.testing.assert_array_equal(inside.predict_proba(X), named.predict_proba(X))
