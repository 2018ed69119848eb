"""Rows are dense or sparse by their density: arrays of mostly zeros are computed as sparse rows.

That the results are equal is a check of every classifier.
"""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import (
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
)
from pairmend._utils.arrays import MOSTLY_ZEROS, SPARSE_SHARE, by_density, densify, to_csr

MENDED = MendedClassifier(cv=2, random_state=0)


@pytest.fixture
def rows(rng):
    """Return training rows, new rows and labels."""
    X = rng.randint(1, 4, size=(160, 60)) * (rng.rand(160, 60) < 0.03) * 1.0
    X[2, 3] = X[4, 5] = 2.5
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(160, 4) > 0.9).astype(int)
    return X[:120], X[120:], Y[:120]


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that takes arrays only."""

    def fit(self, X, y):
        assert type(X) is np.ndarray
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        assert type(X) is np.ndarray
        return self.model_.predict_proba(X)


@pytest.mark.parametrize(
    "base", [Recorder(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_other_base_classifiers_and_transformers_get_the_rows_as_given(base, rows):
    X, new, Y = rows
    for kind in (PairwiseClassifier, MendedClassifier):
        assert kind(base, random_state=0).fit(X, Y).predict(new).shape == (40, 4)
    scaled = GaussianNeighbourhood(transform=StandardScaler())  # refuses sparse rows
    CorrectedPairwiseClassifier(neighbourhood=scaled, random_state=0).fit(X, Y).predict(new)
    MendedClassifier(transformer=StandardScaler(), cv=2, random_state=0).fit(X, Y).predict(new)
    mended = MendedClassifier(base, cv=2, random_state=0).fit(X, Y)
    assert set(mended.search_["scaling"]) == {"global", "unit", "log_odds"}


def test_density_decides_about_the_form_of_rows(rows, tmp_path):
    """It does not depend on the type of array, or on rows of weight 0."""
    X, new, Y = rows
    for kind in (CorrectedPairwiseClassifier, MendedClassifier):
        same = kind(random_state=0).fit(X, Y).predict_proba(sparse.csr_array(new))
        np.testing.assert_allclose(kind(random_state=0).fit(X, Y).predict_proba(new), same)
    np.save(tmp_path / "x.npy", X)
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    clf = MendedClassifier(None, cv=splits, random_state=0).fit(X, Y)
    expected = clf.predict_proba(new)
    missing = np.where(np.arange(60) < 3, np.nan, new)  # more than mostly zeros
    filled = np.where(np.isnan(missing), X.mean(axis=0), missing)
    found = clf.predict_proba(missing)
    np.testing.assert_allclose(found, clf.predict_proba(filled), atol=1e-9)
    mapped = clf.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), Y).predict_proba(new)
    np.testing.assert_allclose(mapped, expected, atol=1e-9)
    more, labels = np.vstack([X, np.ones((30, 60))]), np.vstack([Y, Y[:30]])
    weights = np.repeat([1.0, 0.0], [120, 30])
    weighted = clf.fit(more, labels, sample_weight=weights).predict_proba(new)
    np.testing.assert_allclose(weighted, expected, atol=1e-6)
    assert set(clf.search_["scaling"]) == {"global", "unit", "log_odds"}
    assert "unit" not in clf.fit(X + 1, Y).search_["scaling"]


def peak_memory(clf, X, Y):
    tracemalloc.start()
    try:
        clone(clf).fit(X, Y).predict(X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "clf", [CorrectedPairwiseClassifier(overlap=0.5, random_state=0), MENDED], ids=["fcm-o", ""]
)
def test_memory_is_not_larger_than_with_dense_rows(clf, rng):
    X = rng.rand(400, 800) * (rng.rand(400, 800) < 0.02)
    Y = rng.rand(400, 3) < 0.4
    clone(clf).fit(X, Y)  # imports and compiles what it needs
    assert peak_memory(clf, X, Y) < peak_memory(clf, X + 1, Y)


def matrix(rng, density, dtype=np.float64, order="C"):
    X = np.zeros((40, 50))
    n_stored = round(density * X.size)
    X.ravel()[rng.permutation(X.size)[:n_stored]] = rng.rand(n_stored) - 2
    return np.asarray(X, dtype=dtype, order=order)


def assert_equal_csr(found, expected):
    assert (found.format, found.shape) == ("csr", expected.shape)
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_conversion_equals_that_of_scipy(rng, dtype, order):
    X = matrix(rng, 0.04, dtype, order)
    X[3] = 0
    assert_equal_csr(by_density(X), sparse.csr_array(X))
    for rows in (X, X[::2, 5:], matrix(rng, 0.5, dtype, order)):
        assert_equal_csr(to_csr(rows), sparse.csr_array(rows))


def test_density_decides(rng):
    assert sparse.issparse(by_density(matrix(rng, MOSTLY_ZEROS)))
    above = matrix(rng, MOSTLY_ZEROS + 0.001)
    assert by_density(above) is above
    assert sparse.issparse(by_density(sparse.csr_array(matrix(rng, SPARSE_SHARE))))
    many = matrix(rng, SPARSE_SHARE + 0.001)
    for function in (by_density, densify):
        np.testing.assert_array_equal(function(sparse.csr_array(many)), many)
    few = matrix(rng, 0.02)
    few[0, 0], few[1, 1] = np.nan, -0.0  # NaN is stored, a negative zero is not
    assert_equal_csr(by_density(few), sparse.csr_array(few))
    assert by_density(np.zeros((0, 4))).shape == (0, 4)
    for X in (np.zeros(4), np.zeros((2, 3), dtype=object), np.zeros((2, 3), dtype=np.float16)):
        assert by_density(X) is X
