"""Rows are dense or sparse by their density: arrays of mostly zeros are computed as sparse rows.

That the results are equal is a check of every classifier.
"""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
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


@pytest.fixture
def rows(rng):
    """Return training rows, new rows and labels."""
    X = rng.randint(1, 4, size=(160, 60)) * (rng.rand(160, 60) < 0.03) * 1.0
    X[2, 3] = X[4, 5] = 2.5
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(160, 4) > 0.9).astype(int)
    return X[:120], X[120:], Y[:120]


# Both refuse sparse rows.
@pytest.mark.parametrize(
    "base", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_other_base_classifiers_and_transformers_get_the_rows_as_given(base, rows):
    X, new, Y = rows
    for kind in (PairwiseClassifier, MendedClassifier):
        assert kind(base, random_state=0).fit(X, Y).predict(new).shape == (40, 4)
    scaled = GaussianNeighbourhood(transform=StandardScaler())  # refuses sparse rows
    CorrectedPairwiseClassifier(neighbourhood=scaled, random_state=0).fit(X, Y).predict(new)
    MendedClassifier(transformer=StandardScaler(), cv=2, random_state=0).fit(X, Y).predict(new)


def test_missing_values_and_rows_of_weight_0(rows):
    X, new, Y = rows
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    clf = MendedClassifier(None, cv=splits, random_state=0).fit(X, Y)
    expected = clf.predict_proba(new)
    missing = np.where(np.arange(60) < 3, np.nan, new)  # more than mostly zeros
    filled = np.where(np.isnan(missing), X.mean(axis=0), missing)
    np.testing.assert_allclose(clf.predict_proba(missing), clf.predict_proba(filled), atol=1e-9)
    more, labels = np.vstack([X, np.ones((30, 60))]), np.vstack([Y, Y[:30]])
    weights = np.repeat([1.0, 0.0], [120, 30])
    weighted = clf.fit(more, labels, sample_weight=weights).predict_proba(new)
    np.testing.assert_allclose(weighted, expected, atol=1e-6)
    assert set(clf.search_["scaling"]) == {"global", "unit", "log_odds"}
    assert "unit" not in clf.fit(X + 1, Y).search_["scaling"]


def peak_memory(clf, X, Y):
    tracemalloc.start()
    clone(clf).fit(X, Y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "clf",
    [
        CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
        MendedClassifier(None, cv=2, random_state=0),
    ],
    ids=["fcm-o", "mended"],
)
def test_memory_is_not_larger_than_with_dense_rows(clf, rng):
    X = rng.rand(400, 800) * (rng.rand(400, 800) < 0.02)
    Y = rng.rand(400, 3) < 0.4
    clone(clf).fit(X, Y)  # imports and compiles what it needs
    assert peak_memory(clf, X, Y) < peak_memory(clf, X + 1, Y)
