"""The whole method against the whole method as loops."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import references
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    PairwiseClassifier,
)
from pairmend.pairwise import CorrectedBinaryRelevance

BASE = LogisticRegression(C=0.5)


def pair_supports(X, Y, queries, weights, virtual=False):
    """Supports (n_queries, P) of logistic regressions trained pair by pair."""
    columns = []
    if virtual:  # the last label, which no row has
        Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    for i, j in references.pairs(Y.shape[1]):
        is_virtual = virtual and j == Y.shape[1] - 1
        rows = [k for k in range(len(Y)) if is_virtual or Y[k, i] != Y[k, j]]
        if not rows:
            columns.append(np.full(len(queries), 0.5))
        elif len({Y[k, i] for k in rows}) == 1:
            n_i = sum(Y[k, i] for k in rows)
            columns.append(np.full(len(queries), (n_i + 1) / (len(rows) + 2)))
        else:
            model = clone(BASE).fit(X[rows], Y[rows, i], weights[rows])
            columns.append(model.predict_proba(queries)[:, 1])
    return np.column_stack(columns)


def reference(name, supports):
    return np.vectorize(references.RRC[name], otypes=[float])(supports)


def weights_around(neighbourhood, points, queries):
    points, queries = (references.scale_by_range(points, rows) for rows in (points, queries))
    if isinstance(neighbourhood, GaussianNeighbourhood):
        return references.gaussian_weights(queries, points, neighbourhood.beta)
    if isinstance(neighbourhood, AdaptiveNeighbourhood):
        return references.adaptive_weights(queries, points, neighbourhood.k)
    return np.ones((len(queries), len(points)))


def by_loops(clf, X, Y, queries, weights):
    """All outputs of the method for a fitted classifier's split and parameters."""
    virtual, T, V = clf.calibration_label, clf.train_indices_, clf.validation_indices_
    folds = [(T, np.arange(len(V)))]
    if isinstance(clf.validation, int):
        rng = np.random.RandomState(clf.random_state)
        rng.randint(np.iinfo(np.int32).max)  # the seed of the base classifiers comes first
        folds = KFold(clf.validation, shuffle=True, random_state=rng).split(Y)
    on_validation = np.empty((len(V), len(clf.pairs_)))
    for rest, fold in folds:
        on_validation[fold] = pair_supports(X[rest], Y[rest], X[V[fold]], weights[rest], virtual)
    support = pair_supports(X[T], Y[T], queries, weights[T], virtual)
    around = weights_around(clf.neighbourhood_, X[V], queries)
    options = {"overlap": clf.overlap, "how": clf.balance, "virtual": virtual}
    on_validation = reference(clf.reference, on_validation)
    confusion = references.confusion(around, Y[V], on_validation, row_weights=weights[V], **options)
    p_decide = reference(clf.reference, support)
    corrected = np.empty(p_decide.shape)
    for a, m in np.ndindex(p_decide.shape):
        corrected[a, m] = references.correct(p_decide[a, m], confusion[a, m])
    return support, corrected, confusion / (around @ weights[V])[:, None, None, None]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"balance": "pairs"},
        {"balance": "labels"},
        {"overlap": 0.5},
        {"balance": "labels", "overlap": 0.25, "validation": 3},
        {"validation": 4, "neighbourhood": GaussianNeighbourhood(16.0)},
        {"reference": "identity", "validation": 0.3},
        {"reference": "crisp", "overlap": 1.0},
        {"neighbourhood": AdaptiveNeighbourhood(k=4)},
        {"neighbourhood": GlobalNeighbourhood(), "validation": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize(("virtual", "weighted"), [(False, True), (True, False)])
def test_equals_the_loops(small_set, parameters, weighted, virtual):
    X, Y = (part[:60] for part in small_set)
    parameters = {**parameters, "calibration_label": virtual}
    weights = np.random.RandomState(0).rand(len(Y)) + 0.5 if weighted else np.ones(len(Y))
    clf = CorrectedPairwiseClassifier(BASE, random_state=4, **parameters)
    clf.fit(X, Y, sample_weight=weights if weighted else None)
    support, corrected, shares = by_loops(clf, X, Y, X[:8], weights)
    score = references.calibrated_scores if virtual else references.scores
    scores = score(corrected, Y.shape[1])
    np.testing.assert_allclose(clf.pair_support(X[:8]), support, atol=1e-10)
    np.testing.assert_allclose(clf.confusion(X[:8]), shares, atol=1e-10)
    np.testing.assert_allclose(clf.pair_corrected(X[:8]), corrected, atol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(X[:8]), scores, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[:8]), scores > 0.5)
    clf.set_params(voting="votes")
    votes = score(np.vectorize(references.crisp_rrc)(corrected), Y.shape[1])
    np.testing.assert_allclose(clf.predict_proba(X[:8]), votes, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kind", "score", "n_labels"),
    [
        (PairwiseClassifier, references.scores, 4),
        (CalibratedLabelRanking, references.calibrated_scores, 4),
        (CalibratedLabelRanking, references.calibrated_scores, 1),
    ],
)
def test_uncorrected_votes_equal_the_loops(small_set, kind, score, n_labels, weighted):
    X, Y = small_set[0], small_set[1][:, :n_labels]
    weights = 1.0 + np.arange(len(X)) % 3 if weighted else np.ones(len(X))
    clf = kind(BASE).fit(X, Y, sample_weight=weights if weighted else None)
    support = pair_supports(X, Y, X, weights, kind is CalibratedLabelRanking)
    np.testing.assert_allclose(clf.pair_support(X), support, atol=1e-10)
    for voting, votes in (("soft", support), ("votes", (support > 0.5) * 1.0)):
        clf.set_params(voting=voting)
        expected = score(votes, n_labels)
        np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-10)
        np.testing.assert_array_equal(clf.predict(X), np.round(expected, 9) > 0.5)


def test_pairs_with_rows_of_one_class_have_the_smoothed_share():
    X, Y = np.eye(4), np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    clf = PairwiseClassifier(BASE).fit(X, Y)
    np.testing.assert_allclose(clf.pair_support(X[:1]), [[0.8, 0.8, 0.5]])
    clf.fit(X, Y, sample_weight=[1.0, 0.0, 2.0, 1.0])
    np.testing.assert_allclose(clf.pair_support(X[:1]), [[0.8, 0.8, 0.5]])


def test_splits(small_set):
    X, Y = small_set
    clf = CorrectedPairwiseClassifier(BASE, random_state=0).fit(X, Y)
    T, V = clf.train_indices_, clf.validation_indices_
    assert len(T) == 48
    assert sorted([*T, *V]) == list(range(80))
    other = CorrectedPairwiseClassifier(BASE, random_state=1).fit(X, Y)
    assert other.train_indices_.tolist() != T.tolist()
    crossed = CorrectedPairwiseClassifier(BASE, validation=5).fit(X, Y)
    for rows in (crossed.train_indices_, crossed.validation_indices_):
        np.testing.assert_array_equal(rows, np.arange(80))


def test_without_weight_nearby_the_vote_is_left_uncorrected():
    # Both labels' rows are so far from the query that their weights vanish beside the nearest.
    X = np.array([[0.0]] * 10 + [[1.0]] * 20)
    Y = np.zeros((30, 2), dtype=int)
    Y[10:20, 0] = Y[20:, 1] = 1
    clf = CorrectedPairwiseClassifier(
        BASE, neighbourhood=GaussianNeighbourhood(1e6), random_state=0
    ).fit(X, Y)
    query = np.array([[0.0]])
    p_decide = np.vectorize(references.rrc)(clf.pair_support(query))
    np.testing.assert_allclose(clf.pair_corrected(query), p_decide, atol=1e-10)
    assert not clf.confusion(query).any()


def test_ties_are_not_accepted_whatever_the_blocks(rng):
    class Tenths(LogisticRegression):
        """Predicts tenths, so that sums often tie at one half except for rounding."""

        def predict_proba(self, X):
            tenths = np.floor(11 * super().predict_proba(X)[:, 1]) / 10
            return np.column_stack([1 - np.clip(tenths, 0, 1), np.clip(tenths, 0, 1)])

    X, Y = rng.rand(400, 5), rng.rand(400, 6) < 0.5
    clf = PairwiseClassifier(Tenths()).fit(X, Y)
    exact = np.round(clf.pair_support(X) * 10).astype(int)
    sums = np.zeros((400, 6), dtype=int)
    for m, (i, j) in enumerate(references.pairs(6)):
        sums[:, i] += exact[:, m]
        sums[:, j] += 10 - exact[:, m]
    assert (sums == 25).sum() > 50  # ties there are
    np.testing.assert_array_equal(clf.predict(X), sums > 25)
    with config_context(working_memory=0.01):
        np.testing.assert_array_equal(clf.predict(X), sums > 25)


def test_distances_are_checked_before_anything_is_trained(small_set):
    class Never(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained")

    X, Y = small_set
    for neighbourhood in (GaussianNeighbourhood(-1.0), AdaptiveNeighbourhood(k=999)):
        with pytest.raises(ValueError, match="beta|smaller k"):
            CorrectedPairwiseClassifier(Never(), neighbourhood=neighbourhood).fit(X, Y)


def weight(e):
    """Weight of a pair by the information of its decisions, from its confusion matrix."""
    e = e / e.sum()
    return 1 - (entropy(e.ravel(), base=2) - entropy(e.sum(axis=0), base=2))


@pytest.mark.parametrize("voting", ["soft", "votes"])
@pytest.mark.parametrize("balance", [None, "labels"])
def test_weights_of_pairs_equal_the_loops(voting, balance, small_set):
    X, Y = small_set
    near, options = GaussianNeighbourhood(10.0), {"voting": voting, "balance": balance}
    clf = CorrectedPairwiseClassifier(
        BASE, weighting="information", neighbourhood=near, random_state=0, **options
    ).fit(X, Y)
    supports, confusion, scores = clf.pair_corrected(X), clf.confusion(X), clf.predict_proba(X)
    predicted = clf.predict(X)
    for row in range(len(X)):
        score, lead, mass = np.full(4, 0.5), np.zeros(4), np.zeros(4)
        for m, (i, j) in enumerate(references.pairs(4)):
            w, s = weight(confusion[row, m]), supports[row, m]
            s = float(s > 0.5) if voting == "votes" else s
            score[i] += w * (s - 0.5) / 3
            score[j] -= w * (s - 0.5) / 3
            lead[i] += w * s
            lead[j] += w * (1 - s)
            mass[[i, j]] += w
        np.testing.assert_allclose(scores[row], score, atol=1e-9)
        np.testing.assert_array_equal(predicted[row], lead / mass > 0.5)


@pytest.mark.parametrize("validation", [0.6, 3])
def test_each_label_is_corrected_alone_against_the_virtual_one(small_set, validation):
    X, Y = small_set
    settings = {"validation": validation, "neighbourhood": GaussianNeighbourhood(5.0)}
    pairs = CorrectedPairwiseClassifier(BASE, calibration_label=True, random_state=4, **settings)
    every = clone(pairs).fit(X, Y)
    corrected = every.pair_corrected(X)[:, every.pairs_[:, 1] == 4]
    relevance = CorrectedBinaryRelevance(BASE, random_state=4, **settings).fit(X, Y)
    np.testing.assert_allclose(relevance.predict_proba(X), corrected, atol=1e-9)
    for label in range(4):
        clf = clone(pairs).fit(X, Y[:, [label]])
        assert clf.pairs_.tolist() == [[0, 1]]
        np.testing.assert_allclose(clf.pair_corrected(X), corrected[:, [label]], atol=1e-12)
        np.testing.assert_allclose(clf.predict_proba(X), corrected[:, [label]], atol=1e-12)
    with pytest.raises(ValueError, match="one label only"):
        CorrectedPairwiseClassifier(BASE).fit(X, Y[:, :1])
