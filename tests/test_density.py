"""Arrays that are mostly zeros are computed in the form of sparse rows.

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
from pairmend._utils import arrays
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.datasets import load

MENDED = MendedClassifier(cv=2, random_state=0)


@pytest.fixture
def rows(rng):
    """Return training rows, new rows and labels."""
    X = rng.randint(1, 4, size=(160, 60)) * (rng.rand(160, 60) < 0.03) * 1.0
    X[2, 3] = X[4, 5] = 2.5
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(160, 4) > 0.9).astype(int)
    return X[:120], X[120:], Y[:120]


def test_naive_bayes_and_distances_take_sparse_rows(rows):
    X, _, Y = rows
    clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
    assert not clf.learner_._design.centre.any()
    assert sparse.issparse(clf.neighbourhood_.points_)
    dense = CorrectedPairwiseClassifier(random_state=0).fit(X + 1, Y)
    assert not sparse.issparse(dense.neighbourhood_.points_)


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


def test_density_decides_whether_the_default_base_scales_features(rows):
    X, new, Y = rows
    sparse_like = MendedClassifier(None, cv=2, random_state=0).fit(X, Y)
    models = sparse_like.estimator_.models_
    assert all(isinstance(model, ScaledLogisticRegression) for model in models)
    assert all(model.scaler_.scaler_ is None for model in models)
    dense = MendedClassifier(None, cv=2, random_state=0).fit(X + 1, Y)
    assert all(model.scaler_.scaler_ is not None for model in dense.estimator_.models_)
    missing = np.where(np.arange(60) < 3, np.nan, new)  # more than mostly zeros
    filled = np.where(np.isnan(missing), X.mean(axis=0), missing)
    np.testing.assert_allclose(
        sparse_like.predict_proba(missing), sparse_like.predict_proba(filled), atol=1e-9
    )


def test_density_does_not_depend_on_the_type_of_array_or_on_rows_of_weight_0(rows, tmp_path):
    X, new, Y = rows
    expected = MENDED.fit(X, Y).predict_proba(new)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    same = MENDED.fit(mapped, Y).predict_proba(new)
    np.testing.assert_allclose(same, expected, atol=1e-9)
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    clf = clone(MENDED).set_params(cv=splits)
    plain = clf.fit(X, Y).predict_proba(new)
    more, labels = np.vstack([X, np.ones((30, 60))]), np.vstack([Y, Y[:30]])
    weights = np.repeat([1.0, 0.0], [120, 30])
    weighted = clf.fit(more, labels, sample_weight=weights).predict_proba(new)
    np.testing.assert_allclose(weighted, plain, atol=1e-6)


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
def test_memory_is_not_larger_than_with_dense_rows(clf, rng, monkeypatch):
    X = rng.rand(400, 800) * (rng.rand(400, 800) < 0.02)
    Y = rng.rand(400, 3) < 0.4
    clone(clf).fit(X, Y)  # imports and compiles what it needs
    found = peak_memory(clf, X, Y)
    monkeypatch.setattr(arrays, "MOSTLY_ZEROS", -1)
    assert found < peak_memory(clf, X, Y)


def test_medical_as_an_array_equals_csr(shared):
    data = load("medical", data_dir=shared / "data")
    X, Y = sparse.csr_array(data.X)[:300], np.asarray(data.Y)[:300]
    for clf in (PairwiseClassifier(random_state=0),
                CorrectedPairwiseClassifier(overlap=0.5, random_state=0)):  # fmt: skip
        csr = clf.fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(clf.fit(X.toarray(), Y).predict_proba(X.toarray()), csr)
