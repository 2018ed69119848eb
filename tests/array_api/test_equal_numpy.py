"""Classifiers on arrays of other libraries equal those on arrays of numpy."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from array_libraries import LIBRARIES, Library, dispatched, moved_to, moved_to_numpy
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
)
from pairmend.base_classifiers import ScaledLogisticRegression


def fcm(**params):
    return CorrectedPairwiseClassifier(random_state=0, **params)


NAIVE_BAYES = GaussianNB()


def mended(base=NAIVE_BAYES, **params):
    """Naive Bayes is not iterative: both libraries have the same base classifier."""
    return MendedClassifier(base, random_state=0, **params)


VARIANTS = {
    "lpw": PairwiseClassifier(random_state=0),
    "clr": CalibratedLabelRanking(random_state=0),
    "fcm": fcm(),
    "fcm-w-pairs-o": fcm(balance="pairs", overlap=0.3),
    "crossed": fcm(overlap=0.5, validation=3, neighbourhood=AdaptiveNeighbourhood()),
    "weighted": fcm(weighting="information", voting="votes"),
    "global-crisp": fcm(neighbourhood=GlobalNeighbourhood(), reference="crisp"),
    "standard": fcm(neighbourhood=GaussianNeighbourhood(scale="standard")),
    "virtual-crossed": fcm(calibration_label=True, balance="labels", overlap=0.5, validation=3),
    "mended-range": mended(cv=3, criterion="zero_one", scaling="range"),
    "mended": mended(cv=3),
    "mended-extreme": mended(cv=3, beta=1e39, scaling="range", shrinkage=1e300),
    "mended-landmarks": mended(cv=3, criterion="macro_f1", max_landmarks=60),
    "mended-transformer": mended(cv=3, transformer=StandardScaler()),
    "mended-threshold": mended(cv=3, threshold=0.3, decision="labels"),
}
"""Every second one is fitted with weights."""
every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_library = pytest.mark.parametrize("name", LIBRARIES)


@pytest.fixture(scope="module")
def mixed_set():
    """Numeric, two-valued and four-valued features; a rare label, and one that is nearly shared."""
    rng = np.random.RandomState(3)
    Y = (rng.rand(120, 6) < [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]).astype(int)
    Y[:2, 5] = 1
    Y[:, 4] = Y[:, 0]
    Y[:5, 4] = 1
    X = Y @ rng.randn(6, 9) + rng.randn(120, 9)
    X[:, 3] = X[:, 3] > 0
    X[:, 4] = np.clip(np.round(X[:, 4]), 0, 3)
    queries = X[:30] + 0.1 * (np.arange(9) < 3)
    queries[0, 3] = 7  # never seen in training
    return X, Y, queries


@pytest.fixture(scope="module")
def label_set():
    """300 rows, and 40 to predict; one label is rare."""
    X, Y = make_multilabel_classification(340, n_features=8, n_classes=4, random_state=1)
    Y[3:, 3], Y[:3, 3] = 0, 1
    return X[:300], Y[:300], X[300:]


@pytest.fixture
def problem(variant, mixed_set, label_set):
    """Rows, labels, rows to predict, and parameters of fit."""
    rows = label_set if variant.startswith("mended") else mixed_set
    is_weighted = list(VARIANTS).index(variant) % 2
    return rows, {"sample_weight": 1.0 + np.arange(len(rows[0])) % 3} if is_weighted else {}


def fitted_both(clf, library, X, Y, **params):
    """Return a classifier fitted on numpy's arrays, and one on those of a library."""
    own = {name: library(value) for name, value in params.items()}
    with dispatched():
        other = clone(clf).fit(library(X), library(Y), **own)
    return clone(clf).fit(X, Y, **params), other


def compare(clf, library, X, Y, queries, atol, **params):
    """Fit with both libraries, compare all results, and return both classifiers."""
    ours, theirs = fitted_both(clf, library, X, Y, **params)
    for method in ("predict_proba", "predict", "pair_support", "pair_corrected", "confusion"):
        if hasattr(ours, method):
            with dispatched():
                found = library.numpy(getattr(theirs, method)(library(queries)))
            expected = getattr(ours, method)(queries)
            np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
            assert found.dtype == expected.dtype
    return ours, theirs


@every_library
@every_variant
def test_all_results_are_those_of_numpy(variant, name, problem):
    rows, params = problem
    atol = 1e-12 if variant.startswith("mended") else 1e-9
    compare(VARIANTS[variant], Library(name), *rows, atol, **params)


@every_library
@pytest.mark.parametrize(
    "variant",
    ["lpw", "virtual-crossed", "mended", "mended-landmarks", "mended-range", "mended-threshold"],
)
def test_precision_and_chunks(variant, name, problem):
    (X, Y, queries), params = problem
    for dtype, megabytes, tolerance in (("float32", 0.02, 1e-4), ("float64", 2**-6, 1e-11)):
        library = Library(name, dtype)
        with config_context(working_memory=megabytes):
            ours, theirs = fitted_both(VARIANTS[variant], library, X, Y, **params)
            with dispatched():
                found = library.numpy(theirs.predict_proba(library(queries)))
        np.testing.assert_allclose(found, ours.predict_proba(queries), rtol=0, atol=tolerance)


def test_a_label_that_is_nearly_always_shared_keeps_its_variance():
    """Sums over its few own rows are no differences of large sums."""
    rng = np.random.RandomState(0)
    Y = (rng.rand(400, 3) < 0.5).astype(int)
    Y[:, 1] = Y[:, 0]
    Y[:4, :2] = [0, 1]
    X = 1e6 * rng.rand(400, 3)
    X[:4] = 5e5 + 1e-3 * rng.rand(4, 3)
    compare(VARIANTS["lpw"], Library("strict"), X, Y, X[:4] + 1e-3, 1e-9)


def test_far_queries_and_ties_of_landmarks(label_set, rng):
    X, Y, queries = label_set
    queries = np.round(np.vstack([queries, queries + 500]))  # without error in single precision
    library = Library("strict", "float32")
    compare(mended(scaling="range", beta=1.0), library, np.round(X), Y, queries, 1e-4)
    # Log-odds of probabilities 0 and 1 are equal for many rows.
    X = np.where(rng.rand(300, 4) < 0.5, 7.0, -7.0)
    Y = (X[:, :3] + 9 * rng.randn(300, 3) > 0).astype(int)
    clf = mended(scaling="log_odds", max_landmarks=40)
    compare(clf, Library("strict"), X, Y, X[:50], 1e-12)


@every_library
@pytest.mark.parametrize("seed", range(3))
def test_the_default_is_that_of_numpy(seed, name, label_set, rng):
    """The forest is trained with numpy, the kernel ridge regression predicts on the device."""
    X, _, new = label_set
    noise = rng.randn(300, 2)
    Y = np.column_stack([X[:, 0] * X[:, 1] > 20, X[:, 2] + noise[:, 0] > 3, X[:, 3] > X[:, 4]])
    cases = [
        (X, new, {}),
        (X, new, {"sample_weight": 1.0 + np.arange(300) % 3}),
        (np.where(rng.rand(300, 40) < 0.04, rng.rand(300, 40), 0), np.eye(40), {}),
    ]
    rows, queries, params = cases[seed]
    cv = KFold(3, shuffle=True, random_state=0) if seed == 1 else 5
    clf, library = MendedClassifier(cv=cv, random_state=seed), Library(name)
    ours, theirs = compare(clf, library, rows, Y.astype(int), queries, 1e-6, **params)
    assert ours.base_weights_.keys() == theirs.base_weights_.keys()
    expected = ours.predict_proba(queries)
    with dispatched():
        found = library.numpy(moved_to(ours, library(rows)).predict_proba(library(queries)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    (explanation,) = moved_to_numpy(theirs).explain(queries[:1], labels=range(3))
    of_labels = [label.proba for label in explanation.labels]
    np.testing.assert_allclose(of_labels, expected[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("base", [LogisticRegression(), LinearDiscriminantAnalysis()])
def test_base_classifiers_that_take_arrays(base, label_set):
    """Iterative ones stop at a tolerance, after other steps than scikit-learn's with numpy."""
    library, (X, _, queries) = Library("strict"), label_set
    _, theirs = compare(mended(base, decision="labels"), library, *label_set, 0.05)
    assert list(theirs.base_weights_.values()) == [1.0]
    y = np.array([4, 6, 8])[np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))]
    compare(mended(), library, X, y, queries, 1e-12)


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
    clf = mended(ScaledLogisticRegression(C=10.0), cv=3)
    ours, theirs = compare(clf, Library("strict"), X, Y, queries, 1e-9, **params)
    assert list(theirs.beta_) == list(ours.beta_)


def test_another_library_or_no_dispatch_is_an_error(mixed_set):
    library, (X, Y, queries) = Library("strict"), mixed_set
    ours, theirs = fitted_both(VARIANTS["fcm"], library, X, Y)
    for method in ("predict", "predict_proba", "pair_support", "pair_corrected", "confusion"):
        with dispatched(), pytest.raises(ValueError, match="must use the same namespace"):
            getattr(theirs, method)(queries)
        with dispatched(), pytest.raises(ValueError, match="must use the same namespace"):
            getattr(ours, method)(library(queries))
    with pytest.raises(ValueError, match="fitted on arrays of array_api_strict"):
        theirs.predict(queries)


def test_what_takes_numpy_only_is_refused_and_leaves_the_old_fit(mixed_set):
    library, (X, Y, queries) = Library("strict"), mixed_set
    broken = np.where(np.arange(9) < 1, np.nan, X)
    clf = CorrectedPairwiseClassifier(RandomSubspaceNB(), random_state=0)
    with dispatched():
        before = library.numpy(clf.fit(library(X), library(Y)).predict_proba(library(queries)))
        for refused, rows, message in (
            (clf, broken, "NaN"),
            (PairwiseClassifier(LogisticRegression()), X, "fit takes arrays of numpy"),
            (mended(RandomForestClassifier()), X, "takes arrays of numpy only"),
            (mended(ScaledLogisticRegression(C=-1.0)), X, "'C' parameter of LogisticRegression"),
        ):
            with pytest.raises(ValueError, match=message):
                refused.fit(library(rows), library(Y))
        after = library.numpy(clf.predict_proba(library(queries)))
        for method, given in (("explain", [queries]), ("partial_fit", [X, Y])):
            with pytest.raises(ValueError, match=f"{method} takes arrays of numpy"):
                getattr(clf, method)(*map(library, given))
        with pytest.warns(UserWarning, match="n_jobs=1 has no effect"):
            mended(n_jobs=1).fit(library(X), library(Y))
    np.testing.assert_array_equal(before, after)
