"""Supports close to 0 and 1: the whole method against loops that compute both sides of a pair.

The loops of ``references.py`` compute the probabilities of both classes by exponentials, so
neither is a difference from 1.
"""

import numpy as np
import pytest
from scipy import sparse

import references
from array_libraries import LIBRARIES, Library, dispatched
from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood, RandomSubspaceNB
from pairmend.kernels.rrc import beta_reference
from pairmend.naive_bayes.likelihood import SMALLEST

N_TRAIN, N_VALIDATION = 60, 24


@pytest.fixture(scope="module", params=[6.0, 12.0, 60.0], ids="distance {}".format)
def separated_set(request):
    """Training rows of three labels far apart; validation rows of all labels at the second one.

    All validation rows have the same decision, with log-odds of about 1.5 times the squared
    distance. Rows to predict are in the middle between the first two labels.
    """
    rng, distance = np.random.RandomState(0), request.param
    label = np.arange(N_TRAIN) % 3
    Y = np.eye(3, dtype=int)[label]
    X = rng.randn(N_TRAIN, 6) + distance * label[:, np.newaxis]
    Y_validation = (rng.rand(N_VALIDATION, 3) < 0.5).astype(int)
    X_validation = rng.randn(N_VALIDATION, 6) + distance
    queries = 0.1 * rng.randn(5, 6) + distance / 2
    return np.vstack([X, X_validation]), np.vstack([Y, Y_validation]), queries


def classifier(reference):
    rows = np.arange(N_TRAIN + N_VALIDATION)
    return CorrectedPairwiseClassifier(
        RandomSubspaceNB(4, 0.5),
        validation=(rows[:N_TRAIN], rows[N_TRAIN:]),
        overlap=0.5,
        neighbourhood=GaussianNeighbourhood(0.01),
        reference=reference,
        random_state=0,
    )


def smaller_decision(reference, q):
    """Probability of deciding for the label of a support of at most 1/2."""
    return q if reference == "identity" else float(beta_reference(np.array([q]))[0])


def decisions(reference, supports):
    """Probabilities of deciding for either label of a pair, from both supports."""
    out = []
    for first, second in supports:
        smaller = smaller_decision(reference, max(min(first, second), SMALLEST))
        out.append((smaller, 1 - smaller) if first <= second else (1 - smaller, smaller))
    return out


def slow_corrected(clf, X, Y, queries):
    """Corrected supports of all pairs."""
    statistics = clf.learner_.feature_statistics_
    unknown = [None] * X.shape[1]
    X_train, Y_train, X_validation, Y_validation = (
        X[:N_TRAIN],
        Y[:N_TRAIN],
        X[N_TRAIN:],
        Y[N_TRAIN:],
    )
    points, around = (references.scale_by_range(X_validation, x) for x in (X_validation, queries))
    weights = references.gaussian_weights(around, points, clf.neighbourhood.beta)
    out = np.empty((len(queries), len(clf.pairs_)))
    for m, (i, j) in enumerate(clf.pairs_):
        rows = Y_train[:, i] != Y_train[:, j]

        def supports(x, rows=rows, i=i):
            """Supports for the second and the first label."""
            trained = X_train[rows], Y_train[rows, i]
            floors = statistics.floor
            found = references.naive_bayes(
                *trained, x, statistics.subspaces, unknown, floors, unknown
            )
            return found[:, ::-1]

        r = decisions(clf.reference, supports(X_validation))
        p = decisions(clf.reference, supports(queries))
        for a in range(len(queries)):
            e = np.zeros((2, 2))
            for k, y in enumerate(Y_validation):
                memberships = references.class_memberships(y, i, j, clf.overlap)
                e += weights[a, k] * np.outer(memberships, r[k])
            out[a, m] = references.correct(p[a][0], e)
    return out


@pytest.mark.parametrize("reference", ["beta", "identity"])
def test_equals_the_loops(reference, separated_set):
    X, Y, queries = separated_set
    clf = classifier(reference).fit(X, Y)
    expected = slow_corrected(clf, X, Y, queries)
    assert (np.abs(expected - clf.pair_support(queries)) > 0.3).all()  # none is trivial
    np.testing.assert_allclose(clf.pair_corrected(queries), expected, rtol=0, atol=1e-9)
    of_sparse = classifier(reference).fit(sparse.csr_array(X), Y)
    found = of_sparse.pair_corrected(sparse.csr_array(queries))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_of_other_libraries(name, dtype, atol, separated_set):
    library, (X, Y, queries) = Library(name, dtype), separated_set
    expected = classifier("beta").fit(X, Y).pair_corrected(queries)
    with dispatched():
        clf = classifier("beta").fit(library(X), library(Y))
        found = library.numpy(clf.pair_corrected(library(queries)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
