"""Input of classifiers with and without `array_api_dispatch`; input that is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from array_libraries import LIBRARIES, Library, dispatched
from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier
from pairmend._utils.sklearn_private import HAS_ARRAY_API
from public_classifiers import CLASSIFIERS, data_for, made

TAKING_ARRAYS = [
    PairwiseClassifier(random_state=0),
    CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
    MendedClassifier(GaussianNB(), cv=2, random_state=0),
]

TYPES_TAKING_ARRAYS = {
    "CalibratedLabelRanking",
    "CorrectedPairwiseClassifier",
    "MendedClassifier",
    "PairwiseClassifier",
}


@pytest.fixture(scope="module")
def label_set():
    rng = np.random.RandomState(0)
    Y = (rng.rand(60, 3) < 0.4).astype(int)
    return Y @ rng.randn(3, 5) + rng.randn(60, 5), Y


@pytest.mark.skipif(not HAS_ARRAY_API, reason="scikit-learn dispatches arrays from 1.9 on")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_without_a_namespace_are_handled_as_without_dispatch(name, weighted):
    """Frames are encoded once for all base classifiers, in a form that is no array."""
    X, y = data_for(name)
    params = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if weighted else {}
    for rows in (X, pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])):
        try:
            expected = made(name).fit(rows, y, **params).predict(rows)
        except (TypeError, ValueError):  # no weights, or no frames
            continue
        with dispatched():
            found = made(name).fit(rows, y, **params).predict(rows)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_frames_have_the_same_distances_with_dispatch(weighted, label_set):
    X, Y = pd.DataFrame(label_set[0]), label_set[1]
    clf = MendedClassifier(None, cv=2, random_state=0)
    params = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if weighted else {}
    expected = clone(clf).fit(X, Y, **params)
    Library("strict")
    with dispatched():
        found = clone(clf).fit(X, Y, **params)
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert list(found.beta_) == list(expected.beta_)


@pytest.mark.parametrize("clf", TAKING_ARRAYS)
def test_without_dispatch_arrays_are_converted(clf, label_set):
    strict, (X, Y) = pytest.importorskip("array_api_strict"), label_set
    expected = clone(clf).fit(X, Y).predict_proba(X)
    fitted = clone(clf).fit(strict.asarray(X), strict.asarray(Y))
    found = fitted.predict_proba(strict.asarray(X))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("clf", TAKING_ARRAYS)
def test_indicators_may_be_bool(clf, name, label_set):
    library, (X, Y) = Library(name), label_set
    with dispatched():
        expected = clone(clf).fit(library(X), library(Y)).predict_proba(library(X))
        found = clone(clf).fit(library(X), library(Y == 1)).predict_proba(library(X))
    np.testing.assert_array_equal(library.numpy(found), library.numpy(expected))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("clf", TAKING_ARRAYS)
def test_values_whose_products_overflow_are_refused(clf, name, label_set):
    library, (X, Y) = Library(name), label_set
    clf = clone(clf)
    with dispatched():
        with pytest.raises(ValueError, match="expected at most 1e\\+100"):
            clf.fit(library(X * 1e150), library(Y))
        clf.fit(library(X), library(Y))
        with pytest.raises(ValueError, match="expected at most 1e\\+100"):
            clf.predict(library(X * 1e150))
        with pytest.raises(ValueError, match="infinity"):
            clf.predict(library(np.where(X[0, 0] == X, np.inf, X)))


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - TYPES_TAKING_ARRAYS))
def test_classifiers_for_numpy_only_refuse_other_arrays(name):
    library, (X, y) = Library("strict"), data_for(name)
    with dispatched(), pytest.raises(ValueError, match=f"{name}.* takes (no )?arrays of"):
        made(name).fit(library(X), library(y))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("clf", TAKING_ARRAYS)
def test_complex_numbers_are_refused(clf, name, label_set):
    library, (X, Y) = Library(name), label_set
    clf = clone(clf)
    with dispatched():
        with pytest.raises(ValueError, match="Complex data not supported"):
            clf.fit(library(X + 1j), library(Y))
        clf.fit(library(X), library(Y))
        with pytest.raises(ValueError, match="Complex data not supported"):
            clf.predict(library(X + 1j))


class SparseTensor:
    """What a sparse tensor of torch shows; torch need not be installed."""

    layout, shape = "torch.sparse_csr", (60, 5)

    def __dlpack__(self):
        """Mark an array of another library."""
        raise AssertionError


@pytest.mark.parametrize("clf", TAKING_ARRAYS)
def test_sparse_tensors_are_refused(clf, label_set):
    library, (_, Y) = Library("strict"), label_set
    with dispatched(), pytest.raises(ValueError, match="sparse tensor"):
        clone(clf).fit(SparseTensor(), library(Y))


class AbsurdProbabilities(GaussianNB):
    """Naive Bayes with a probability of 2 or NaN for the first row."""

    def __init__(self, value=2.0):
        super().__init__()
        self.value = value

    def predict_proba(self, X):
        """Return probabilities, one of which is none."""
        found = super().predict_proba(X)
        found[0, 1] = self.value
        return found


@pytest.mark.parametrize("value", [2.0, np.nan])
def test_probabilities_of_a_base_classifier_are_checked(value, label_set):
    library, (X, Y) = Library("strict"), label_set
    clf = MendedClassifier(AbsurdProbabilities(0.5), cv=2, random_state=0)
    message = "predict_proba of the base classifier AbsurdProbabilities must give"
    with dispatched():
        with pytest.raises(ValueError, match=message):
            clone(clf).set_params(estimator__value=value).fit(library(X), library(Y))
        clf.fit(library(X), library(Y))
        for model in clf.estimator_.models_:
            model.value = value
        with pytest.raises(ValueError, match=message):
            clf.predict(library(X))
