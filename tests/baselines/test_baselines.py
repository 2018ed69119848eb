"""What every baseline must do."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairmend import (
    BinaryRelevance,
    ClassifierChainEnsemble,
    LabelPowerset,
    MLkNN,
    RAkEL,
    ThresholdedClassifier,
)
from pairmend.thresholds import F1Thresholds

LOGISTIC = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000)
BASELINES = {
    "relevance": BinaryRelevance(LOGISTIC),
    "relevance-nb": BinaryRelevance(random_state=0),
    "powerset": LabelPowerset(LOGISTIC),
    "chains": ClassifierChainEnsemble(LOGISTIC, n_chains=3, random_state=0),
    "rakel": RAkEL(LOGISTIC, random_state=0),
    "ml-knn": MLkNN(5),
    "powerset-nb": LabelPowerset(random_state=0),
    "chains-nb": ClassifierChainEnsemble(n_chains=3, random_state=0),
    "rakel-nb": RAkEL(random_state=0),
}
every = pytest.mark.parametrize("baseline", BASELINES.values(), ids=BASELINES)


@every
def test_predictions(baseline, small_set):
    X, Y = small_set
    clf = clone(baseline).fit(X, Y)
    predicted, scores = clf.predict(X), clf.predict_proba(X)
    assert predicted.shape == scores.shape == Y.shape
    assert predicted.dtype == np.int64
    assert 0 <= scores.min() <= scores.max() <= 1
    assert np.mean(predicted == Y) > 0.65
    if not isinstance(baseline, LabelPowerset):
        np.testing.assert_array_equal(predicted, scores > 0.5)
    # A row does not depend on its company, a seeded fit on nothing but its input.
    np.testing.assert_allclose(clf.predict_proba(X[5:6])[0], scores[5], atol=1e-12)
    np.testing.assert_array_equal(clone(baseline).fit(X, Y).predict_proba(X), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), scores)


@every
def test_labels_that_never_or_always_occur(baseline, small_set):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    clf = clone(baseline).fit(X, Y)
    predicted = clf.predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 3].all()
    if isinstance(clf, BinaryRelevance | ClassifierChainEnsemble):
        np.testing.assert_allclose(clf.predict_proba(X)[:, [0, 3]], [[1 / 82, 81 / 82]] * 80)
    constant = np.tile([1, 0], (80, 1))
    np.testing.assert_array_equal(clf.fit(X, constant).predict(X), constant)


@every
def test_forms_of_input(baseline, small_set, rng):
    X, Y = small_set
    X = np.where(np.median(X) < X, X + rng.rand(*X.shape), 0)  # no two distances alike
    scores = clone(baseline).fit(X, Y).predict_proba(X)
    frame, labels = pd.DataFrame(X).add_prefix("f"), pd.DataFrame(Y, columns=list("abcd"))
    framed = clone(baseline).fit(frame, labels)
    assert framed.classes_.tolist() == list("abcd")
    assert framed.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_allclose(framed.predict_proba(frame), scores, atol=1e-10)
    for layout in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        other = clone(baseline).fit(layout(X), sparse.csr_array(Y))
        np.testing.assert_allclose(other.predict_proba(layout(X)), scores, atol=1e-3)
    one = clone(baseline).fit(X, Y[:, :1])
    assert one.predict(X).shape == one.predict_proba(X).shape == (80, 1)


@every
def test_n_jobs_changes_nothing(baseline, small_set):
    X, Y = small_set
    if "n_jobs" in baseline.get_params(deep=False):
        alone, together = (clone(baseline).set_params(n_jobs=n).fit(X, Y) for n in (1, 2))
        np.testing.assert_array_equal(alone.predict_proba(X), together.predict_proba(X))


@every
def test_a_failed_fit_leaves_the_old_one(baseline, small_set):
    X, Y = small_set
    clf = clone(baseline).fit(X, Y)
    before = clf.predict_proba(X)
    for X_bad, Y_bad in ((X[:, :3], Y + 1), (X[:40, :3], Y), (X[:, 0], Y), (X[:, :2], Y[:, :0])):
        with pytest.raises(ValueError):
            clf.fit(X_bad, Y_bad)
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    with pytest.raises(ValueError, match="X has 2 features"):
        clf.predict(X[:, :2])


@every
def test_thresholds_go_with_them(baseline, small_set):
    X, Y = small_set
    clf = ThresholdedClassifier(baseline, F1Thresholds(), random_state=0).fit(X, Y)
    assert np.mean(clf.predict(X) == Y) > 0.55


def test_seeds_reach_the_base(small_set):
    X, Y = small_set
    tree = DecisionTreeClassifier(max_features=1)
    for kind in (BinaryRelevance, LabelPowerset, RAkEL, ClassifierChainEnsemble):
        first, same, other = (
            kind(tree, random_state=seed).fit(X[:60], Y[:60]).predict_proba(X) for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, same)
        assert (first != other).any()


def test_bases_and_parameters(small_set):
    X, Y = small_set
    for kind in (BinaryRelevance, ClassifierChainEnsemble):
        with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
            kind(LinearSVC()).fit(X, Y)
    assert RAkEL(LinearSVC(), random_state=0).fit(X, Y).predict(X).shape == Y.shape
    for bad in (
        ClassifierChainEnsemble(n_chains=0),
        ClassifierChainEnsemble(max_samples=0.0),
        ClassifierChainEnsemble(max_samples=1.1),
        RAkEL(k=0),
        RAkEL(n_models=0),
        MLkNN(0),
        MLkNN(s=0),
        LabelPowerset("svm"),
        BinaryRelevance("svm"),
    ):
        with pytest.raises(ValueError, match="parameter of"):
            bad.fit(X, Y)


@parametrize_with_checks(
    [
        BinaryRelevance(),
        LabelPowerset(),
        ClassifierChainEnsemble(LogisticRegression(), n_chains=2),
        RAkEL(GaussianNB()),
        MLkNN(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
