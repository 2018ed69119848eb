"""MendedClassifier on arrays of other libraries, and what it computes on a device."""

from functools import partial
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from array_libraries import LIBRARIES, Library, dispatched, moved_to_numpy
from pairmend import MendedClassifier
from pairmend._utils.namespaces import Namespace
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.kernels.local_sums import LandmarkSums, nearest_landmark, sums_around, tabulate
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended import landmark_sums
from pairmend.mended.device import LabelLogisticRegression, marginals
from pairmend.mended.label_sets import PROBA_MARGIN, LabelSets

NUMPY = Namespace(np, "cpu")


@pytest.fixture(scope="module")
def label_set():
    """300 rows, and 40 to predict; one label is rare."""
    X, Y = make_multilabel_classification(340, n_features=8, n_classes=4, random_state=1)
    Y[3:, 3] = 0
    Y[:3, 3] = 1
    return X[:300], Y[:300], X[300:]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(
    ("options", "weighted"),
    [
        ({"criterion": "hamming"}, False),
        ({"criterion": "macro_f1", "max_landmarks": 60}, True),
        ({"criterion": "zero_one", "scaling": "range", "guard": False}, False),
        ({"threshold": 0.3, "decision": "labels"}, True),
    ],
)
def test_the_correction_is_that_of_numpy(options, weighted, name, label_set):
    """Naive Bayes is not iterative: both libraries have the same base classifier."""
    library, (X, Y, queries) = Library(name), label_set
    params = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if weighted else {}
    clf = MendedClassifier(GaussianNB(), random_state=0, **options)
    ours = clone(clf).fit(X, Y, **params)
    with dispatched():
        own = {key: library(value) for key, value in params.items()}
        theirs = clone(clf).fit(library(X), library(Y), **own)
        proba = library.numpy(theirs.predict_proba(library(queries)))
        predicted = library.numpy(theirs.predict(library(queries)))
    np.testing.assert_allclose(proba, ours.predict_proba(queries), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(predicted, ours.predict(queries))
    moved = moved_to_numpy(theirs)
    np.testing.assert_allclose(moved.predict_proba(queries), proba, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
def test_single_precision_is_close(name, label_set):
    library, (X, Y, queries) = Library(name, "float32"), label_set
    clf = MendedClassifier(GaussianNB(), random_state=0)
    with dispatched():
        fitted = clone(clf).fit(library(X), library(Y))
        proba = library.numpy(fitted.predict_proba(library(queries)))
    np.testing.assert_allclose(proba, clf.fit(X, Y).predict_proba(queries), rtol=0, atol=1e-4)


@pytest.mark.parametrize("base", ["auto", None, LogisticRegression(), LinearDiscriminantAnalysis()])
def test_base_classifiers_that_take_arrays(base, label_set):
    library, (X, Y, queries) = Library("strict"), label_set
    with dispatched():
        clf = MendedClassifier(base, random_state=0).fit(library(X), library(Y))
        proba = library.numpy(clf.predict_proba(library(queries)))
    assert ((proba >= 0) & (proba <= 1)).all()
    assert list(clf.base_weights_.values()) == [1.0]
    # Iterative base classifiers stop at a tolerance, after other steps than scikit-learn's.
    expected = MendedClassifier(None if base == "auto" else base, random_state=0).fit(X, Y)
    np.testing.assert_allclose(proba, expected.predict_proba(queries), rtol=0, atol=0.05)


def test_auto_is_the_logistic_regression(label_set):
    library, (X, Y, queries) = Library("strict"), label_set
    found = []
    with dispatched():
        for base in ("auto", None):
            clf = MendedClassifier(base, random_state=0).fit(library(X), library(Y))
            found.append(library.numpy(clf.predict_proba(library(queries))))
    np.testing.assert_array_equal(*found)


def test_a_base_classifier_for_numpy_only_is_refused(label_set):
    library, (X, Y, _) = Library("strict"), label_set
    with dispatched(), pytest.raises(ValueError, match="takes arrays of numpy only"):
        MendedClassifier(RandomForestClassifier()).fit(library(X), library(Y))


def test_classes_in_one_dimension(label_set):
    library, (X, _, queries) = Library("strict"), label_set
    y = np.array([4, 6, 8])[np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))]
    clf = MendedClassifier(GaussianNB(), random_state=0)
    with dispatched():
        predicted = library.numpy(clone(clf).fit(library(X), library(y)).predict(library(queries)))
    np.testing.assert_array_equal(predicted, clf.fit(X, y).predict(queries))


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_logistic_regression_is_that_of_scikit_learn(C):
    rng = np.random.RandomState(0)
    X = rng.randn(200, 5) * [1, 10, 0.1, 5, 0] + 3
    Y = X[:, :3] @ rng.randn(3, 4) + rng.randn(200, 4) > 0
    Y[:, 2] = X[:, 0] > 3  # separable
    Y[:, 3] = True
    weights = 1.0 + np.arange(200) % 2
    found = LabelLogisticRegression(C=C).fit(X, Y, weights).predict_proba(X)
    Z = StandardScaler().fit(X, sample_weight=weights).transform(X)
    for label in range(3):
        model = LogisticRegression(C=C, tol=1e-10, max_iter=10000).fit(Z, Y[:, label], weights)
        np.testing.assert_allclose(found[:, label], model.predict_proba(Z)[:, 1], atol=1e-6)
    np.testing.assert_allclose(found[:, 3], 301 / 302)


def test_logistic_regression_of_labels_that_do_not_vary(label_set):
    library, (X, Y, queries) = Library("strict"), label_set
    constant, rare = Y * 0, Y * 0
    constant[:, 0] = 1
    rare[3, 1] = 1
    for labels in (constant, rare):
        with dispatched():
            clf = MendedClassifier(None, random_state=0).fit(library(X), library(labels))
            found = library.numpy(clf.predict_proba(library(queries)))
        expected = MendedClassifier(None, random_state=0).fit(X, labels).predict_proba(queries)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("C", [0, -1.0])
def test_invalid_parameters_of_the_base_classifier_are_refused(C, label_set):
    library, (X, Y, _) = Library("strict"), label_set
    with dispatched(), pytest.raises(ValueError, match="'C' parameter of LogisticRegression"):
        MendedClassifier(ScaledLogisticRegression(C=C)).fit(library(X), library(Y))


def test_logistic_regression_with_one_dominating_row():
    """The optimum is reached for the other rows as well."""
    rng = np.random.RandomState(0)
    X = rng.randn(200, 5)
    Y = X @ rng.randn(5, 3) + rng.randn(200, 3) > 0
    weights = np.ones(200)
    weights[3] = 1e7
    # The heavy row counts as one row: with this C the others have the weight 1.
    found = LabelLogisticRegression(C=1e7).fit(X, Y, weights).predict_proba(X)
    Z = StandardScaler().fit(X, sample_weight=weights).transform(X)
    for label in range(3):
        exact = LogisticRegression(tol=1e-13, solver="newton-cholesky")
        expected = exact.fit(Z, Y[:, label], weights).predict_proba(Z)[:, 1]
        np.testing.assert_allclose(found[:, label], expected, rtol=0, atol=1e-7)


def test_logistic_regression_does_not_divide_by_rounding():
    """The mean of a constant feature, and so its deviation, has the rounding of a long sum."""
    rng = np.random.RandomState(0)
    X = np.column_stack([np.full(100_000, 0.1), rng.randn(100_000)])
    Y = X[:, 1:] + rng.randn(100_000, 1) > 0
    clf = LabelLogisticRegression().fit(X, Y, rng.rand(100_000))
    assert clf.scale_[0] == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mostly_zeros", [False, True])
def test_with_logistic_regression_results_are_those_of_an_exact_solver(
    mostly_zeros, weighted, label_set
):
    library, (X, Y, queries) = Library("strict"), label_set
    if mostly_zeros:
        rng = np.random.RandomState(0)
        X = rng.randint(1, 4, size=(300, 40)) * (rng.rand(300, 40) < 0.04)
        Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(300, 4) > 0.9).astype(int)
        X, queries = X[:260] * 1.0, X[260:] * 1.0
        Y = Y[:260]
    params = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if weighted else {}
    clf = MendedClassifier(None, random_state=0)
    exact = partial(LogisticRegression, tol=1e-10, solver="newton-cholesky")
    if mostly_zeros:  # the other solver takes no sparse rows
        exact = partial(LogisticRegression, tol=1e-10)
    with mock.patch("pairmend.base_classifiers.LogisticRegression", exact):
        ours = clone(clf).fit(X, Y, **params)
    with dispatched():
        theirs = clone(clf).fit(library(X), library(Y), **params)
        proba = library.numpy(theirs.predict_proba(library(queries)))
    assert list(theirs.beta_) == list(ours.beta_)
    np.testing.assert_allclose(proba, ours.predict_proba(queries), rtol=0, atol=1e-6)
    moved = moved_to_numpy(theirs)
    np.testing.assert_allclose(moved.predict_proba(queries), proba, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def confusion_table():
    """Landmarks, their table, queries, their landmarks and what each query adds."""
    rng = np.random.RandomState(2)
    Y, proba = rng.rand(30, 3) < 0.4, rng.rand(30, 3)
    summands = tabulate(Y, REFERENCES["beta"](proba), 0.5 + rng.rand(30))
    points, own = rng.randn(20, 4), np.arange(30) % 20
    table = np.zeros((20, summands.shape[1]))
    np.add.at(table, own, summands)
    return points, table, rng.randn(30, 4), own, summands


@pytest.mark.parametrize("max_bytes", [2**30, 2**10])
def test_sums_around_queries(max_bytes, confusion_table):
    points, table, queries, _, _ = confusion_table
    space = Namespace(np, "cpu")
    space.__dict__["max_bytes"] = max_bytes
    landmarks = landmark_sums.DenseLandmarks(points, table, 0.7)
    expected = LandmarkSums(points, table, 0.7).around(queries)
    np.testing.assert_allclose(landmarks.sums(queries, np.float64, space), expected, rtol=1e-10)
    single = landmarks.sums(queries, np.float32, space)
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-6)


def test_far_queries_are_computed_in_double_precision(confusion_table):
    points, table, queries, _, _ = confusion_table
    landmarks = landmark_sums.DenseLandmarks(points, table, 0.7)
    found = landmarks.sums(queries + 1000.0, np.float32, NUMPY)
    expected = LandmarkSums(points, table, 0.7).around(queries + 1000.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_ties_of_landmarks_are_resolved_as_with_numpy():
    """Log-odds of probabilities 0 and 1 are equal for many rows, but for rounding."""
    rng = np.random.RandomState(0)
    corners = np.array([-6.9, 6.9])[rng.randint(2, size=(300, 4))]
    points = corners * (1 + 1e-12 * rng.randn(300, 4))
    queries = points[rng.permutation(300)]
    found = landmark_sums.nearest(queries, points, NUMPY)
    assert len(np.unique(found)) <= 2**4
    np.testing.assert_array_equal(found, nearest_landmark(queries, points))


@pytest.mark.parametrize("scale", [1e-80, 1e80])
def test_nearest_of_very_short_and_very_long_points(scale):
    points = scale * np.arange(1.0, 6.0)[:, np.newaxis]
    found = landmark_sums.nearest(points[::-1].copy(), points, NUMPY)
    assert found.tolist() == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_beta_beyond_single_precision(name, label_set):
    library, (X, Y, queries) = Library(name), label_set
    clf = MendedClassifier(GaussianNB(), beta=1e39, scaling="range", guard=False, random_state=0)
    expected = clone(clf).fit(X, Y).predict_proba(queries)
    with dispatched():
        found = clone(clf).fit(library(X), library(Y)).predict_proba(library(queries))
    np.testing.assert_allclose(library.numpy(found), expected, rtol=0, atol=1e-9)


def test_a_distant_landmark_does_not_make_the_others_equal():
    points = np.random.RandomState(0).randn(200, 3)
    points[150] = [1e4, 0, 0]
    found = landmark_sums.nearest(points, points, NUMPY)
    np.testing.assert_array_equal(found, np.arange(200))


def test_each_row_is_left_out_of_its_own_sums(confusion_table):
    points, table, queries, own, summands = confusion_table
    single = [part.astype(np.float32) for part in (queries, summands, points, table)]
    expected = sums_around(single[0], own, single[1], single[2], single[3], 0.3, 3)
    sums_over = landmark_sums.LeaveOneOutSums(points, table.astype(np.float32), NUMPY)
    found = sums_over(queries, own, summands, 0.3, 3)
    for part, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(part, reference, rtol=2e-4, atol=1e-6)


def test_sums_by_landmark(confusion_table):
    points, _, X, _, _ = confusion_table
    rng = np.random.RandomState(4)
    Y, proba, weights = rng.rand(30, 3) < 0.4, rng.rand(30, 3), 0.5 + rng.rand(30)
    mean, factor = rng.randn(4), 1 + rng.rand(4)
    scalings = {"range": (mean, factor, points)}
    total, sums = landmark_sums.sums_by_landmark(
        X, Y, proba, weights, scalings, ["beta", "crisp"], 1e-3, NUMPY
    )
    nearest = nearest_landmark((X - mean) * factor, points)
    for name in ("beta", "crisp"):
        summands, expected = tabulate(Y, REFERENCES[name](proba), weights), np.zeros((20, 10))
        np.add.at(expected, nearest, summands)
        np.testing.assert_allclose(sums["range"][name], expected, atol=1e-12)
        np.testing.assert_allclose(total[name][0], summands.sum(axis=0))


def test_marginals_of_label_sets():
    rng = np.random.RandomState(5)
    sets, _ = LabelSets.from_indicators(rng.rand(60, 5) < 0.4)
    proba = rng.rand(12, 5)
    proba[0, 0] = 0
    members = sets.members.toarray()
    found = marginals(proba, members, sets._prior, PROBA_MARGIN, NUMPY)
    np.testing.assert_allclose(found, sets.marginals(proba), atol=1e-12)


def test_a_moved_classifier_explains_its_predictions(label_set):
    library, (X, Y, queries) = Library("strict"), label_set
    with dispatched():
        clf = MendedClassifier(None, random_state=0).fit(library(X), library(Y))
        expected = library.numpy(clf.predict_proba(library(queries)))
        with pytest.raises(ValueError, match="explain takes arrays of numpy"):
            clf.explain(library(queries))
    (explanation,) = moved_to_numpy(clf).explain(queries[:1])
    after = [label.after for label in explanation.labels]
    np.testing.assert_allclose(after, expected[0], atol=1e-9)
