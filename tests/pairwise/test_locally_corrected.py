"""Corrected binary relevance and the corrected classifier of several classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    RandomSubspaceNB,
)
from pairmend.baselines import BinaryRelevance
from pairmend.pairwise import CorrectedBinaryRelevance, CorrectedMulticlassClassifier

LOGISTIC = LogisticRegression(C=0.1, tol=1e-10, max_iter=1000)
BASES = {"nb": RandomSubspaceNB(subspace=0.5), "logistic": LOGISTIC, "gaussian": GaussianNB()}
NEIGHBOURHOODS = {
    "wide": None,
    "narrow": GaussianNeighbourhood(50.0),
    "adaptive": AdaptiveNeighbourhood(5),
    "global": GlobalNeighbourhood(),
}
BOTH = pytest.mark.parametrize("kind", [CorrectedBinaryRelevance, CorrectedMulticlassClassifier])


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(
        120, 6, n_informative=4, n_classes=3, flip_y=0.1, class_sep=0.7, random_state=0
    )
    return X, np.array(["ant", "bee", "cat"])[y]


def target_for(kind, classes, small_set):
    return small_set if kind is CorrectedBinaryRelevance else classes


@pytest.mark.parametrize(
    ("base", "neighbourhood", "validation", "reference"),
    [
        ("nb", "wide", 0.6, "beta"),
        ("logistic", "narrow", 3, "identity"),
        ("gaussian", "adaptive", 3, "crisp"),
        ("gaussian", "global", 0.6, "beta"),
    ],
)
def test_two_classes_are_a_pair(base, neighbourhood, validation, reference, rng):
    X = rng.randn(90, 4)
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.randn(90) > 0.5, "yes", "no")
    weights = rng.randint(4, size=90).astype(float)
    params = {
        "estimator": BASES[base],
        "neighbourhood": NEIGHBOURHOODS[neighbourhood],
        "validation": validation,
        "reference": reference,
        "random_state": 7,
    }
    pair = CorrectedPairwiseClassifier(**params).fit(X, y, sample_weight=weights)
    both = CorrectedMulticlassClassifier(**params).fit(X, y, sample_weight=weights)
    queries = rng.randn(40, 4)
    np.testing.assert_array_equal(both.validation_indices_, pair.validation_indices_)
    np.testing.assert_allclose(both.predict_proba(queries), pair.predict_proba(queries), atol=1e-9)
    np.testing.assert_allclose(both.confusion(queries), pair.confusion(queries)[:, 0], atol=1e-9)
    np.testing.assert_array_equal(both.predict(queries), pair.predict(queries))
    # A label against the rest is the same problem once more, the label being the second class.
    label = CorrectedBinaryRelevance(**params).fit(X, (y == "yes")[:, None], sample_weight=weights)
    np.testing.assert_allclose(
        label.predict_proba(queries)[:, 0], both.predict_proba(queries)[:, 1], atol=1e-9
    )


def slow_correction(clf, model, X, Y, queries, reference):
    """One label after another, one validation row after another."""
    weights = clf.neighbourhood_.weights(queries)
    decisions = clf.validation_indices_
    on_validation, on_queries = (reference(model.predict_proba(x)) for x in (X[decisions], queries))
    out = np.empty((len(queries), Y.shape[1]))
    for t in range(len(queries)):
        for label in range(Y.shape[1]):
            e = np.zeros((2, 2))
            for k, row in enumerate(decisions):
                truth = 0 if Y[row, label] else 1
                p = on_validation[k, label]
                e[truth] += weights[t, k] * np.array([p, 1 - p])
            p_true_given_decision = e[0] / e.sum(axis=0)
            p = on_queries[t, label]
            out[t, label] = p * p_true_given_decision[0] + (1 - p) * p_true_given_decision[1]
    return out


def test_relevance_by_loops(small_set):
    X, Y = small_set
    clf = CorrectedBinaryRelevance(
        LOGISTIC, neighbourhood=GaussianNeighbourhood(5.0), reference="identity", random_state=0
    ).fit(X[:60], Y[:60])
    train = clf.train_indices_
    assert len(train) == 36
    assert not set(train) & set(clf.validation_indices_)
    plain = BinaryRelevance(LOGISTIC).fit(X[train], Y[train])
    expected = slow_correction(clf, plain, X, Y, X[60:], lambda s: s)
    np.testing.assert_allclose(clf.predict_proba(X[60:]), expected, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X[60:]), expected > 0.5)


def test_it_mends_what_a_line_cannot_part(rng):
    X = rng.uniform(-1, 1, (600, 2))
    ring = np.digitize(np.linalg.norm(X, axis=1), [0.5, 0.9])
    Y = np.column_stack([ring == 0, ring > 1]).astype(int)
    settings = {"validation": 5, "neighbourhood": GaussianNeighbourhood(100.0), "random_state": 0}
    plain = LogisticRegression().fit(X[:400], ring[:400]).score(X[400:], ring[400:])
    classes = CorrectedMulticlassClassifier(LogisticRegression(), **settings)
    assert classes.fit(X[:400], ring[:400]).score(X[400:], ring[400:]) > plain + 0.2
    plain = BinaryRelevance(LogisticRegression()).fit(X[:400], Y[:400]).score(X[400:], Y[400:])
    labels = CorrectedBinaryRelevance(LogisticRegression(), **settings).fit(X[:400], Y[:400])
    assert labels.score(X[400:], Y[400:]) > plain + 0.2


@BOTH
def test_threads_and_searches(kind, classes, small_set):
    X, y = target_for(kind, classes, small_set)
    clf = kind(LOGISTIC, validation=3, random_state=0)
    fitted = clone(clf).fit(X, y)
    scores = fitted.predict_proba(X)
    assert fitted.confusion(X).shape[-2:] == ((2, 2) if y.ndim == 2 else (3, 3))
    np.testing.assert_allclose(fitted.confusion(X).sum(axis=(-2, -1)), 1)
    together = clone(clf).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(together.predict_proba(X), scores)
    quick = kind(GaussianNB(), neighbourhood=GaussianNeighbourhood(), random_state=0)
    grid = {"neighbourhood__beta": [0.5, 8.0], "reference": ["beta", "crisp"]}
    search = GridSearchCV(quick, grid, cv=2).fit(X, y)
    assert search.best_params_["reference"] in grid["reference"]


def test_classes_that_a_part_lacks(rng):
    X = rng.randn(30, 2)
    y = np.where(np.arange(30) < 29, np.where(X[:, 0] > 0, "a", "b"), "rare")
    for seed in range(3):  # the rare class on either side of the split
        clf = CorrectedMulticlassClassifier(GaussianNB(), random_state=seed).fit(X, y)
        scores = clf.predict_proba(X)
        np.testing.assert_allclose(scores.sum(axis=1), 1)
    crossed = CorrectedMulticlassClassifier(LOGISTIC, validation=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(crossed.predict_proba(X).sum(axis=1), 1)
    # A training part of one class: nothing to train, and the validation rows decide.
    two, split = np.array(["b"] + ["a"] * 9), {"validation": 0.6, "random_state": 3}
    pair = CorrectedPairwiseClassifier(LOGISTIC, **split).fit(X[:10], two)
    assert 0 in pair.validation_indices_
    clf = CorrectedMulticlassClassifier(LOGISTIC, **split).fit(X[:10], two)
    assert clf.learner_.classifier.shares == pytest.approx((7 / 8, 1 / 8))
    np.testing.assert_allclose(clf.predict_proba(X), pair.predict_proba(X), atol=1e-12)


def test_the_base_is_trained_on_the_names_of_classes(classes):
    X, y = classes
    weighted = LogisticRegression(class_weight={"ant": 1.0, "bee": 100.0, "cat": 1.0})
    clf = CorrectedMulticlassClassifier(weighted, random_state=0).fit(X, y)
    assert (clf.learner_.classifier.predict(X) == "bee").mean() > 0.8


@BOTH
def test_invalid_input(kind, classes, small_set):
    X, y = target_for(kind, classes, small_set)
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        kind(LinearSVC()).fit(X, y)
    for bad in ({"validation": 1.5}, {"reference": "gauss"}, {"neighbourhood": "near"}):
        with pytest.raises(ValueError, match="parameter of"):
            kind(**bad).fit(X, y)
    if kind is CorrectedMulticlassClassifier:
        with pytest.raises(ValueError, match="y has 4 columns, but CorrectedMulticlassClassifier"):
            kind().fit(*small_set)
