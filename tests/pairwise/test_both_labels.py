"""Classifiers whose pairs use rows with both labels: against slow loops, and what all must do."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import overlap_references as references
from pairmend.baselines import BinaryRelevance
from pairmend.kernels.bradley_terry import bradley_terry
from pairmend.pairwise import (
    BradleyTerryClassifier,
    FourClassPairsClassifier,
    ParallelHyperplanesSVM,
    SharedFirstClassifier,
)
from pairmend.pairwise.parallel_hyperplanes import fit_parallel_hyperplanes


def test_machines_that_do_not_converge_are_told(small_set):
    X, Y = small_set
    hasty = ParallelHyperplanesSVM(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="of 10 pairs did not converge in 1 steps"):
        hasty.fit(X, Y)
    assert hasty.n_iter_ == 1


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
    given = GaussianNB, X[:60], Y[:60]
    clf = BradleyTerryClassifier(GaussianNB(), prior=0.2).fit(*given[1:])
    scores, supports = clf.predict_proba(X[58:64]), clf.pair_supports(X[58:64])
    for row, query in enumerate(X[58:64]):
        at_least = np.zeros((3, 3))
        for i, j in combinations(range(3), 2):
            at_least[i, j], at_least[j, i] = references.overlap_supports(*given, i, j, query)
        virtual = relevance(*given[1:], query)
        expected = [at_least[i, j] for i, j in clf.pairs_ if j < 3]
        np.testing.assert_allclose(supports[row, clf.pairs_[:, 1] < 3, 0], expected, atol=1e-12)
        (strengths,), _ = bradley_terry(at_least[np.newaxis], np.array([virtual]), prior=0.2)
        np.testing.assert_allclose(scores[row], strengths / (1 + strengths), atol=1e-11)
    np.testing.assert_array_equal(clf.predict(X[58:64]), scores > 0.5)
    # 0 and 2 share no row, so one classifier will do; those of the virtual label stand alone.
    assert [len(own) for own in clf.models_] == [2, 1, 1, 2, 1, 1]


@given(
    st.integers(1, 5).flatmap(
        lambda n: arrays(float, (n, n + 1), elements=st.sampled_from([0, 0.2, 0.5, 0.99, 1.0]))
    )
)
def test_strengths_maximise_the_likelihood_locally(comparisons):
    # Zeros and ones: labels that always or never win, contradictory pairs.
    wins_or_ties, against_virtual = comparisons[:, :-1], comparisons[:, -1]
    strengths, factors = bradley_terry(
        wins_or_ties[np.newaxis], against_virtual[np.newaxis], prior=0.1
    )
    assert np.isfinite(strengths).all()
    assert (strengths > 0).all()
    assert (factors > 1).all()
    found = np.append(np.log(strengths[0]), np.log(np.log(factors[0])))
    best = references.bradley_terry_loss(found, wins_or_ties, against_virtual, 0.1)
    for direction in np.eye(len(found)):
        for step in (-1e-3, 1e-3):
            neighbour = found + step * direction
            assert (
                references.bradley_terry_loss(neighbour, wins_or_ties, against_virtual, 0.1) > best
            )


@pytest.mark.parametrize("voting", ["soft", "votes"])
def test_shared_first(few, voting):
    X, Y = few
    # Its probabilities are near 0.5 for some of the rows, as those of naive Bayes are not.
    base = partial(LogisticRegression, C=0.01)
    clf = SharedFirstClassifier(base(), voting=voting).fit(X[:60], Y[:60])
    expected = []
    for query in X[50:80]:
        given = base, X[:60], Y[:60]
        supports_of_pairs = {
            (i, j): references.shared_first_supports(*given, i, j, query, voting)
            for i, j in combinations(range(3), 2)
        }
        virtual = [references.support(base, X[:60], own.tolist(), query) for own in Y[:60].T]
        if voting == "votes":
            virtual = [float(v > 0.5) for v in virtual]
        expected.append(references.calibrated_scores(3, supports_of_pairs, virtual))
    np.testing.assert_allclose(clf.predict_proba(X[50:80]), expected, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[50:80]), np.round(expected, 9) > 0.5)


def test_four_classes(few):
    (X, Y), pair_weight = few, 0.8
    clf = FourClassPairsClassifier(GaussianNB(), pair_weight=pair_weight).fit(X[:60], Y[:60])
    given = GaussianNB, X[:60], Y[:60]
    expected = [
        [references.four_class_score(*given, i, query, pair_weight) for i in range(3)]
        for query in X[58:66]
    ]
    np.testing.assert_allclose(clf.predict_proba(X[58:66]), expected, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[58:66]), np.array(expected) > 0.5)
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
        w, (a, b) = references.parallel_hyperplanes(
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


def ordered_rows(seed, n=24, d=3, noise=0.5):
    """Rows with the second label, both, the first label along some direction, with noise."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * rng.uniform(0.3, 3, size=d) + rng.randn(d)
    along = (X - X.mean(axis=0)) @ rng.randn(d) + noise * rng.randn(n)
    Y = np.column_stack([along > -0.5, along < 0.5])
    Y[:3] = [[True, False], [True, True], [False, True]]
    return X, Y, rng.uniform(0.1, 3, size=n)


def fit(X, Y, costs):
    return fit_parallel_hyperplanes(X, Y, costs, tol=1e-9, max_iter=2000)[:3]


def test_rows_far_from_zero():
    X, Y, costs = ordered_rows(5, n=50)
    w, thresholds, _ = fit(X, Y, costs)
    shifted, places, converged = fit(X + 1000, Y, costs)
    np.testing.assert_allclose(shifted, w, atol=1e-5)
    np.testing.assert_allclose(places, thresholds + 1000 * w.sum(), atol=1e-2)
    assert converged


def test_label_that_all_or_no_rows_have_has_an_infinite_threshold():
    X, Y, costs = ordered_rows(1)
    Y[:, 0] = True
    _, (a, b), _ = fit(X, Y, costs)
    assert a == -np.inf
    assert np.isfinite(b)
    w, (a, b), converged = fit(X, np.tile([False, True], (24, 1)), costs)
    assert (a, b) == (np.inf, np.inf)
    assert not w.any()
    assert converged


def test_threshold_that_is_not_unique_lies_in_the_middle():
    # Rows with the first label or both are mixed around 0 and determine the direction; the row
    # with only the second label is far away.
    X = np.array([[-1.0], [0.5], [0.0], [1.0], [-60.0]])
    Y = np.array([[1, 1], [1, 1], [1, 0], [1, 0], [0, 1]], dtype=bool)
    w, (a, b), _ = fit(X, Y, np.ones(5))
    assert w[0] > 0
    assert a == pytest.approx(w[0] * (-60 - 1) / 2, rel=1e-9)
    assert a < b
