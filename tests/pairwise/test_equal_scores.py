"""All ways to compute the scores of pairwise classifiers have the same result.

Ways are numpy, sparse rows, and arrays of other libraries. Of some real sets, few rows and labels
are taken. The order of the rows of imdb and medical is one with validation rows whose decisions all
have probabilities of about 1e-32: scores then depend on all their digits. Such supports, close to 0
and 1, are also compared with loops that compute both sides of a pair by exponentials, so that
neither is a difference from 1.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import references
from array_libraries import Library, dispatched
from pairmend import (
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    PairwiseClassifier,
    RandomSubspaceNB,
)
from pairmend.datasets import load
from pairmend.kernels.rrc import REFERENCES
from pairmend.naive_bayes.likelihood import SMALLEST

ROWS = {"birds": 645, "corel5k": 300, "imdb": 2500, "medical": 978, "yeast": 800}
"""Number of rows of each set."""
CLASSIFIERS = [
    CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
    PairwiseClassifier(random_state=0),
]


@pytest.mark.parametrize("name", ROWS)
def test_real_sets(name, shared):
    data = load(name, shared / "data")
    order = np.random.RandomState(18 if name == "medical" else 0).permutation(data.X.shape[0])
    order = order[: ROWS[name]]
    X, Y = data.X[order], np.asarray(data.Y)[order].astype(int)
    Y = Y[:, Y.sum(axis=0) > 5] if name == "corel5k" else Y  # labels with few rows go
    X = X.toarray() if sparse.issparse(X) else X
    cut = int(0.9 * len(X))
    for clf in CLASSIFIERS:
        expected = clone(clf).fit(X[:cut], Y[:cut]).predict_proba(X[cut:])
        spare = clone(clf).fit(sparse.csr_array(X[:cut]), Y[:cut])
        found = [(spare.predict_proba(sparse.csr_array(X[cut:])), 1e-9)]
        if clf is CLASSIFIERS[0]:
            library = Library("strict", "float32" if name in ("birds", "yeast") else "float64")
            with dispatched():
                fitted = clone(clf).fit(library(X[:cut]), library(Y[:cut]))
                scores = library.numpy(fitted.predict_proba(library(X[cut:])))
            found.append((scores, 1e-4 if library.dtype == "float32" else 1e-9))
        for scores, atol in found:
            np.testing.assert_allclose(scores, expected, rtol=0, atol=atol)
            differing = (scores > 0.5) != (expected > 0.5)
            assert (np.abs(expected[differing] - 0.5) <= atol).all()


N_TRAIN, N_VALIDATION = 60, 24


@pytest.fixture(scope="module", params=[6.0, 12.0, 60.0], ids="distance {}".format)
def separated_set(request):
    """Training rows of three labels far apart; validation rows of all labels at the second one.

    All validation rows have the same decision, with log-odds of about 1.5 times the squared
    distance. Rows to predict are in the middle between the first two labels.
    """
    rng, distance = np.random.RandomState(0), request.param
    label = np.arange(N_TRAIN) % 3
    X = rng.randn(N_TRAIN, 6) + distance * label[:, np.newaxis]
    Y_validation = (rng.rand(N_VALIDATION, 3) < 0.5).astype(int)
    X_validation = rng.randn(N_VALIDATION, 6) + distance
    Y = np.vstack([np.eye(3, dtype=int)[label], Y_validation])
    return np.vstack([X, X_validation]), Y, 0.1 * rng.randn(5, 6) + distance / 2


def decisions(reference, supports):
    """Probabilities of deciding for either label of a pair, from both supports."""
    out = []
    for first, second in supports:
        smaller = np.array([max(min(first, second), SMALLEST)])
        (p,) = REFERENCES[reference](smaller)
        out.append((p, 1 - p) if first <= second else (1 - p, p))
    return out


def slow_corrected(clf, X, Y, queries):
    """Corrected supports of all pairs."""
    statistics, unknown = clf.learner_.feature_statistics_, [None] * X.shape[1]
    X_validation, Y_validation = X[N_TRAIN:], Y[N_TRAIN:]
    points, around = (references.scale_by_range(X_validation, x) for x in (X_validation, queries))
    weights = references.gaussian_weights(around, points, clf.neighbourhood.beta)
    out = np.empty((len(queries), len(clf.pairs_)))
    for m, (i, j) in enumerate(clf.pairs_):
        rows = np.flatnonzero(Y[:N_TRAIN, i] != Y[:N_TRAIN, j])
        r, p = (
            decisions(clf.reference, references.naive_bayes(
                X[rows], Y[rows, i], x, statistics.subspaces, unknown, statistics.floor, unknown
            )[:, ::-1])
            for x in (X_validation, queries)
        )  # fmt: skip
        for a in range(len(queries)):
            e = np.zeros((2, 2))
            for k, y in enumerate(Y_validation):
                memberships = references.class_memberships(y, i, j, clf.overlap)
                e += weights[a, k] * np.outer(memberships, r[k])
            out[a, m] = references.correct(p[a][0], e)
    return out


@pytest.mark.parametrize("reference", ["beta", "identity"])
def test_small_supports_equal_the_loops(reference, separated_set):
    X, Y, queries = separated_set
    rows = np.arange(N_TRAIN + N_VALIDATION)
    clf = CorrectedPairwiseClassifier(
        RandomSubspaceNB(4, 0.5), validation=(rows[:N_TRAIN], rows[N_TRAIN:]), overlap=0.5,
        neighbourhood=GaussianNeighbourhood(0.01), reference=reference, random_state=0,
    )  # fmt: skip
    found = clf.fit(X, Y).pair_corrected(queries)
    expected = slow_corrected(clf, X, Y, queries)
    assert (np.abs(expected - clf.pair_support(queries)) > 0.3).all()  # none is trivial
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    found = clf.fit(sparse.csr_array(X), Y).pair_corrected(sparse.csr_array(queries))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    for dtype, atol in (("float64", 1e-9), ("float32", 1e-4)):
        library = Library("strict", dtype)
        with dispatched():
            fitted = clone(clf).fit(library(X), library(Y))
            found = library.numpy(fitted.pair_corrected(library(queries)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
