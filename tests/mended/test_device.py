"""MendedClassifier on arrays of other libraries, against the same with numpy."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _array_api

from array_libraries import LIBRARIES, Library, dispatched, moved_to_numpy
from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression


@pytest.fixture(scope="module")
def label_set():
    """300 rows, and 40 to predict; one label is rare."""
    X, Y = make_multilabel_classification(340, n_features=8, n_classes=4, random_state=1)
    Y[3:, 3], Y[:3, 3] = 0, 1
    return X[:300], Y[:300], X[300:]


def compare(clf, library, X, Y, queries, atol=1e-12, **params):
    """Fit with both libraries, compare predictions, and return both classifiers."""
    ours = clone(clf).fit(X, Y, **params)
    with dispatched():
        own = {key: library(value) for key, value in params.items()}
        theirs = clone(clf).fit(library(X), library(Y), **own)
        proba = library.numpy(theirs.predict_proba(library(queries)))
        predicted = library.numpy(theirs.predict(library(queries)))
    np.testing.assert_allclose(proba, ours.predict_proba(queries), rtol=0, atol=atol)
    np.testing.assert_array_equal(predicted, ours.predict(queries))
    moved = moved_to_numpy(theirs)
    np.testing.assert_allclose(moved.predict_proba(queries), proba, rtol=0, atol=atol)
    (explanation,) = moved.explain(queries[:1], labels=range(len(moved.classes_)))
    after = [label.proba for label in explanation.labels]
    np.testing.assert_allclose(after, proba[0], rtol=0, atol=atol)
    return ours, theirs


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "hamming"},
        {"criterion": "macro_f1", "max_landmarks": 60},
        {"criterion": "zero_one", "scaling": "range"},
        {"threshold": 0.3, "decision": "labels"},
        {"beta": 1e39, "scaling": "range", "shrinkage": 1e300},
    ],
)
def test_the_correction_is_that_of_numpy(options, name, label_set):
    """Naive Bayes is not iterative: both libraries have the same base classifier."""
    weighted = {"criterion", "threshold"} >= options.keys() - {"decision", "max_landmarks"}
    params = {"sample_weight": 1.0 + np.arange(300) % 3} if weighted else {}
    clf = MendedClassifier(GaussianNB(), cv=3, random_state=0, **options)
    compare(clf, Library(name), *label_set, **params)
    with sklearn.config_context(working_memory=0.02):  # a few rows at a time
        compare(clf, Library(name, "float32"), *label_set, atol=1e-4, **params)


def test_far_queries_and_ties_of_landmarks(label_set, rng):
    X, Y, queries = label_set
    queries = np.round(np.vstack([queries, queries + 500]))  # without error in single precision
    clf = MendedClassifier(GaussianNB(), scaling="range", beta=1.0, random_state=0)
    compare(clf, Library("strict", "float32"), np.round(X), Y, queries, atol=1e-4)
    # Log-odds of probabilities 0 and 1 are equal for many rows.
    X = np.where(rng.rand(300, 4) < 0.5, 7.0, -7.0)
    Y = (X[:, :3] + 9 * rng.randn(300, 3) > 0).astype(int)
    clf = MendedClassifier(GaussianNB(), scaling="log_odds", max_landmarks=40, random_state=0)
    compare(clf, Library("strict"), X, Y, X[:50])


def test_transformers_and_what_is_refused(label_set):
    library, (X, Y, _) = Library("strict"), label_set
    clf = MendedClassifier(GaussianNB(), transformer=StandardScaler(), n_jobs=1, random_state=0)
    with pytest.warns(UserWarning, match="n_jobs=1 has no effect"):
        compare(clf, library, *label_set)
    cases = [
        (RandomForestClassifier(), "takes arrays of numpy only"),
        (ScaledLogisticRegression(C=-1.0), "'C' parameter of LogisticRegression"),
    ]
    for base, match in cases:
        with dispatched(), pytest.raises(ValueError, match=match):
            MendedClassifier(base).fit(library(X), library(Y))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_default_is_that_of_numpy(seed, name, label_set, rng):
    """The forest is trained with numpy, the kernel ridge regression predicts on the device."""
    X, _, queries = label_set
    noise = rng.randn(300, 2)
    Y = np.column_stack([X[:, 0] * X[:, 1] > 20, X[:, 2] + noise[:, 0] > 3, X[:, 3] > X[:, 4]])
    cases = [
        (X, queries, {}),
        (X, queries, {"sample_weight": 1.0 + np.arange(300) % 3}),
        (np.where(rng.rand(300, 40) < 0.04, rng.rand(300, 40), 0), np.eye(40), {}),
    ]
    rows, queried, params = cases[seed]
    cv = KFold(3, shuffle=True, random_state=0) if seed == 1 else 5
    clf, library = MendedClassifier(cv=cv, random_state=seed), Library(name)
    ours, theirs = compare(clf, library, rows, Y.astype(int), queried, atol=1e-6, **params)
    assert ours.base_weights_.keys() == theirs.base_weights_.keys()
    with dispatched():
        xp, _, device = _array_api.get_namespace_and_device(library(X))
        moved = _array_api.move_estimator_to(ours, xp, device)
        found = library.numpy(moved.predict_proba(library(queried)))
    np.testing.assert_allclose(found, ours.predict_proba(queried), rtol=0, atol=1e-6)


@pytest.mark.parametrize("base", [LogisticRegression(), LinearDiscriminantAnalysis()])
def test_base_classifiers_that_take_arrays(base, label_set):
    """Iterative ones stop at a tolerance, after other steps than scikit-learn's with numpy."""
    clf = MendedClassifier(base, decision="labels", random_state=0)
    _, theirs = compare(clf, Library("strict"), *label_set, atol=0.05)
    assert list(theirs.base_weights_.values()) == [1.0]
    X, _, queries = label_set
    y = np.array([4, 6, 8])[np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))]
    compare(MendedClassifier(GaussianNB(), random_state=0), Library("strict"), X, y, queries)


@pytest.mark.parametrize("kind", ["plain", "weighted", "heavy row", "mostly zeros", "constant"])
def test_the_logistic_regression_is_that_of_numpy(kind, label_set):
    """Also with a separable label, and a feature whose mean has the rounding of a long sum."""
    X, Y, queries = label_set
    X, queries = (np.column_stack([rows, np.full(len(rows), 0.1)]) for rows in (X, queries))
    Y, params = Y.copy(), {}
    Y[:, 2] = X[:, 0] > np.median(X[:, 0])
    if kind == "weighted":
        params = {"sample_weight": 1.0 + np.arange(300) % 3}
    elif kind == "heavy row":
        params = {"sample_weight": np.where(np.arange(300) == 3, 1e3, 1.0)}
    elif kind == "mostly zeros":
        rng = np.random.RandomState(0)
        X = rng.randint(1, 4, size=(300, 40)) * (rng.rand(300, 40) < 0.04) * 1.0
        Y, queries = (X[:, :20] @ rng.rand(20, 4) + rng.rand(300, 4) > 0.9).astype(int), X[:40]
    elif kind == "constant":
        Y = Y * 0 + [1, 0, 0, 0]
        Y[3, 1] = 1
    clf = MendedClassifier(ScaledLogisticRegression(C=10.0), cv=3, random_state=0)
    ours, theirs = compare(clf, Library("strict"), X, Y, queries, atol=1e-9, **params)
    assert list(theirs.beta_) == list(ours.beta_)
