"""Fitted classifiers that are moved between libraries and devices by scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import _array_api

from array_libraries import LIBRARIES, Library, dispatched, moved_to_numpy
from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    MendedClassifier,
    PairwiseClassifier,
)

CLASSIFIERS = [
    PairwiseClassifier(random_state=0),
    CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
    CorrectedPairwiseClassifier(validation=3, random_state=0),
    CalibratedLabelRanking(random_state=0),
    MendedClassifier(None, cv=2, random_state=0),
    MendedClassifier(GaussianNB(), cv=2, random_state=0),
    MendedClassifier(cv=2, random_state=0),
]
TARGETS = {
    "indicators": np.asarray,
    "names": lambda Y: pd.DataFrame(Y, columns=["sea", "beach", "sunset"]),
    "classes": lambda Y: np.array(["sea", "beach", "sunset"])[Y.argmax(axis=1)],
}


@pytest.fixture(scope="module")
def label_set():
    rng = np.random.RandomState(0)
    Y = (rng.rand(60, 3) < 0.4).astype(int)
    return Y @ rng.randn(3, 5) + rng.randn(60, 5), Y


def moved_to(clf, array):
    """Return a fitted classifier with the library and the device of an array."""
    xp, _, device = _array_api.get_namespace_and_device(array)
    return _array_api.move_estimator_to(clf, xp, device)


def other_device(library):
    """Return the same library with another device, if it has one without a GPU."""
    other = Library(library.name)
    if library.name == "strict":
        other.device = other.xp.Device("device2")
    return other


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("clf", CLASSIFIERS)
def test_a_moved_classifier_predicts_the_same(clf, target, name, label_set):
    library, (X, Y) = Library(name), label_set
    other = other_device(library)
    with dispatched():
        fitted = clone(clf).fit(library(X), TARGETS[target](Y))
        expected = library.numpy(fitted.predict_proba(library(X)))
        on_numpy = moved_to_numpy(fitted)
        for start in (fitted, on_numpy):
            moved = moved_to(start, other(X))
            np.testing.assert_array_equal(moved.classes_, fitted.classes_)
            found = other.numpy(moved.predict_proba(other(X)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            predicted, numpys = moved.predict(other(X)), on_numpy.predict(X)
            same = predicted if target == "classes" else other.numpy(predicted)
            np.testing.assert_array_equal(same, numpys)
        if isinstance(clf, MendedClassifier):
            moved = moved_to(clone(clf).fit(X, TARGETS[target](Y)), library(X))
            found = library.numpy(moved.predict_proba(library(X)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(on_numpy.predict_proba(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("clf", CLASSIFIERS[:4])
def test_a_classifier_fitted_on_numpy_is_not_moved_to_a_device(clf, name, label_set):
    library, (X, Y) = Library(name), label_set
    fitted = clone(clf).fit(X, Y)
    with dispatched():
        with pytest.raises(ValueError, match="was fitted on arrays of numpy"):
            moved_to(fitted, library(X))
        np.testing.assert_array_equal(moved_to_numpy(fitted).predict(X), fitted.predict(X))


@pytest.mark.parametrize("name", LIBRARIES)
def test_numpy_rows_after_a_fit_on_a_device(name, label_set):
    library, (X, Y) = Library(name), label_set
    with dispatched():
        mended = MendedClassifier(None, cv=2, random_state=0).fit(library(X), library(Y))
        with pytest.raises(ValueError, match="must use the same namespace"):
            mended.explain(X[:2])
        assert len(moved_to_numpy(mended).explain(X[:2])) == 2
        pairwise = CorrectedPairwiseClassifier(random_state=0).fit(library(X), library(Y))
        with pytest.raises(ValueError, match="on arrays of another library than numpy"):
            moved_to_numpy(pairwise).partial_fit(X, Y)
