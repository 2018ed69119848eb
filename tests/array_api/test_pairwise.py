"""Pairwise classifiers on arrays of other libraries equal those on arrays of numpy."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from array_libraries import LIBRARIES, Library, dispatched
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
from pairmend.persistence import load_model, save_model


def fcm(**params):
    return CorrectedPairwiseClassifier(random_state=0, **params)


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
}


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


def fitted_both(clf, X, Y, library, **params):
    """Return a classifier fitted on numpy's arrays, and one on those of a library."""
    own = {name: library(value) for name, value in params.items()}
    with dispatched():
        other = clone(clf).fit(library(X), library(Y), **own)
    return clone(clf).fit(X, Y, **params), other


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_results_are_those_of_numpy(variant, name, mixed_set):
    library, (X, Y, queries) = Library(name), mixed_set
    is_weighted = list(VARIANTS).index(variant) % 2
    weights = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if is_weighted else {}
    ours, theirs = fitted_both(VARIANTS[variant], X, Y, library, **weights)
    methods = ["predict_proba", "predict", "pair_support"]
    if hasattr(ours, "confusion"):
        methods += ["pair_corrected", "confusion"]
    for method in methods:
        with dispatched():
            found = getattr(theirs, method)(library(queries))
        expected = getattr(ours, method)(queries)
        np.testing.assert_allclose(library.numpy(found), expected, rtol=0, atol=1e-9)
        assert library.numpy(found).dtype == expected.dtype


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("variant", ["lpw", "virtual-crossed"])
def test_precision_and_chunks(variant, name, mixed_set):
    X, Y, queries = mixed_set
    for dtype, megabytes, tolerance in (("float32", 1024, 1e-4), ("float64", 2**-6, 1e-11)):
        library = Library(name, dtype)
        with config_context(working_memory=megabytes):
            ours, theirs = fitted_both(VARIANTS[variant], X, Y, library)
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
    library, clf = Library("strict"), PairwiseClassifier(random_state=0)
    ours, theirs = fitted_both(clf, X, Y, library)
    queries = X[:4] + 1e-3
    with dispatched():
        found = library.numpy(theirs.pair_support(library(queries)))
    np.testing.assert_allclose(found, ours.pair_support(queries), rtol=0, atol=1e-9)


def test_another_library_or_no_dispatch_is_an_error(mixed_set):
    library, (X, Y, queries) = Library("strict"), mixed_set
    ours, theirs = fitted_both(VARIANTS["fcm"], X, Y, library)
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
        with pytest.raises(ValueError, match="NaN"):
            clf.fit(library(broken), library(Y))
        with pytest.raises(ValueError, match="fit takes arrays of numpy"):
            PairwiseClassifier(LogisticRegression()).fit(library(X), library(Y))
        after = library.numpy(clf.predict_proba(library(queries)))
        for method, given in (("explain", [queries]), ("partial_fit", [X, Y])):
            with pytest.raises(ValueError, match=f"{method} takes arrays of numpy"):
                getattr(clf, method)(*map(library, given))
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("clf", [VARIANTS["virtual-crossed"], MendedClassifier(random_state=0)])
def test_model_files_hold_arrays_of_numpy(clf, mixed_set, tmp_path):
    library, (X, Y, queries) = Library("strict"), mixed_set
    with dispatched():
        fitted = clone(clf).fit(library(X), library(Y))
        expected = library.numpy(fitted.predict_proba(library(queries)))
    save_model(fitted, tmp_path / "a.model")
    found = load_model(tmp_path / "a.model").predict_proba(queries)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
