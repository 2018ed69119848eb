"""The closed-form learner against one classifier for each pair."""

from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.naive_bayes import GaussianNB

from pairmend import PairwiseClassifier, RandomSubspaceNB
from pairmend.kernels.pairs import LabelRows, label_pairs
from pairmend.kernels.rrc import identity_reference, unfold
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.voting import TrainingRows


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def training(X, Y, weights, virtual):
    """Return the training rows and the pairs of labels."""
    params = {} if weights is None else {"sample_weight": weights}
    return TrainingRows(X, Y, params), label_pairs(Y.shape[1] + virtual)


def one_per_pair(base, X, Y, weights=None, virtual=False):
    """Fit the generic learner on dense rows, where it is exact."""
    return GenericPairLearner(base, n_jobs=None, seed=3).fit(
        *training(dense(X), Y, weights, virtual)
    )


def closed_form(base, X, Y, weights=None, n_jobs=None, virtual=False):
    """Fit the closed-form learner."""
    return SubspaceNBPairLearner(base, n_jobs=n_jobs, seed=3).fit(*training(X, Y, weights, virtual))


LIMITS = [
    {},
    {
        "pairwise.learners.naive_bayes.WORTHWHILE": 2.0,
    },
    {
        "pairwise.learners.naive_bayes.WORTHWHILE": 0.0,
        "pairwise.learners.naive_bayes.CACHED_TERMS": 0,
        "pairwise.learners.naive_bayes.TERMS": 1,
        "naive_bayes.likelihood.TILE": 1,
        "naive_bayes.likelihood.LOWEST": 1.0,
    },
]
"""Limits that choose between implementations of the same result."""


@contextmanager
def patched(limits):
    with ExitStack() as stack:
        for name, value in limits.items():
            stack.enter_context(mock.patch(f"pairmend.{name}", value))
        yield


def assert_equal(base, X, Y, queries, Y_queries, weights=None, tolerance=1e-10):
    for virtual in (False, True):
        _assert_equal(base, X, Y, queries, Y_queries, weights, tolerance, virtual)


def _assert_equal(base, X, Y, queries, Y_queries, weights, tolerance, virtual):
    n_labels = Y.shape[1] + virtual
    if virtual:  # every row has the virtual label
        Y_queries = np.column_stack([Y_queries, np.ones(len(Y_queries), dtype=bool)])
    label_rows = LabelRows.of(Y_queries)
    others = label_rows.label[:, np.newaxis] != np.arange(n_labels)
    reference = one_per_pair(base, X, Y, weights, virtual)
    expected = next(reference.supports(dense(queries), [slice(0, n_labels - 1)]))
    expected_at, _ = unfold(reference.decide(dense(queries), label_rows, identity_reference))
    for limits in LIMITS:
        with patched(limits):
            learner = closed_form(base, X, Y, weights, virtual=virtual)
            blocks = [slice(0, 1), slice(1, n_labels - 1)][: n_labels - 1]
            found = np.hstack(list(learner.supports(queries, blocks)))
            at, _ = unfold(learner.decide(queries, label_rows, identity_reference))
        np.testing.assert_allclose(found, expected, atol=tolerance)
        assert ((at >= 0) & (at <= 1)).all()
        np.testing.assert_allclose(at[others], expected_at[others], atol=tolerance)


def mixed(rng, n, missing=0.0):
    """Return rows with numeric, sparse, two-valued, constant and categorical features."""
    X = [rng.randn(n, 3) * [1, 1e3, 1e-4] + [0, 1e4, 1], rng.exponential(size=n)]
    X[1] *= rng.rand(n) < 0.3
    X += [rng.rand(n) < 0.4, 3.0 * (rng.rand(n) < 0.2), np.full(n, 2.0)]
    X = np.column_stack([*X, rng.randint(4, size=n), 1 + rng.randint(3, size=n)])
    X[rng.rand(*X.shape) < missing] = np.nan
    return X


def labels(rng, n):
    """Return frequent, rare, constant, equal and nested labels."""
    Y = rng.rand(n, 9) < [0.5, 0.4, 0.1, 0.05, 0.3, 0.3, 0.2, 0.0, 1.0]
    Y[:, 5] = Y[:, 4]
    Y[:, 6] &= Y[:, 0]
    Y[:, 2] &= ~Y[:, 3] & ~Y[:, 1]
    return Y


BASE = RandomSubspaceNB(6, 0.4, categorical=[4, 5, 6, 7, 8])


@pytest.mark.parametrize(
    ("categorical", "missing", "weighted"),
    [([4, 5, 6, 7, 8], 0.0, False), ([4, 5, 6, 7, 8], 0.15, True), ("auto", 0.15, True)],
    ids=str,
)
@pytest.mark.parametrize("layout", ["dense", "csr", "sparse"])
def test_supports_equal_one_classifier_for_each_pair(rng, weighted, missing, layout, categorical):
    X, queries = mixed(rng, 120, missing), mixed(rng, 40, missing)
    if layout == "sparse":
        for rows in (X, queries):
            rows[rng.rand(*rows.shape) < 0.93] = 0
    queries[:3, 7] = 9.0  # a value that is unknown in training
    if layout != "dense":
        X, queries = sparse.csr_array(X), sparse.csr_array(queries)
    weights = rng.choice([0, 0, 0.3, 1, 2.7], size=120) if weighted else None
    base = RandomSubspaceNB(6, 0.4, categorical=categorical)
    assert_equal(base, X, labels(rng, 120), queries, labels(rng, 40), weights)


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_supports_of_frames_with_categories(rng, missing):
    def frame(n):
        X = mixed(rng, n, missing)
        letters = pd.Categorical.from_codes(
            np.nan_to_num(X[:, 7], nan=-1).astype(int), categories=["w", "x", "y", "z"]
        )
        return pd.DataFrame(X, columns=list("abcdefghi")).assign(letters=letters)

    assert_equal(RandomSubspaceNB(5, 0.5), frame(90), labels(rng, 90), frame(30), labels(rng, 30))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_prediction_with_another_layout_than_training(rng, layout):
    X, queries = mixed(rng, 100), mixed(rng, 20)
    X[rng.rand(*X.shape) < 0.9] = 0
    other = sparse.csr_array if layout is np.asarray else np.asarray
    assert_equal(BASE, layout(X), labels(rng, 100), other(queries), labels(rng, 20))


def test_features_without_values_under_a_label_are_ignored_in_its_pairs(rng):
    X, Y = rng.randn(60, 5), rng.rand(60, 4) < 0.4
    Y[:, 3] &= ~Y[:, :3].any(axis=1)  # shares no row with the others
    X[np.ix_(Y[:, 3], [0, 1])] = np.nan
    X[np.ix_(Y[:, 0] & ~Y[:, 1], [2])] = np.nan
    assert_equal(RandomSubspaceNB(4, 0.6), X, Y, rng.randn(20, 5), rng.rand(20, 4) < 0.5)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.03, 0.3, 0.8]), st.booleans(), st.booleans())
def test_supports_for_random_labels(seed, density, is_sparse, weighted):
    rng = np.random.RandomState(seed)
    n, n_labels = rng.randint(2, 40), rng.randint(2, 7)
    X, queries = rng.randint(-1, 3, size=(n, 4)) * rng.rand(n, 4), rng.randn(6, 4)
    Y, Y_queries = rng.rand(n, n_labels) < density, rng.rand(6, n_labels) < 0.5
    if is_sparse:
        X[rng.rand(*X.shape) < 0.9] = 0
        X = sparse.csr_array(X)
    weights = rng.choice([0, 0.1, 1, 3.3], size=n) if weighted else None
    if weights is not None:
        weights[0] = 1
    assert_equal(RandomSubspaceNB(3, 0.5), X, Y, queries, Y_queries, weights)


def test_differences_of_sums_keep_their_digits(rng):
    # 3 of 3,000 rows of label 0 lack label 1: a difference of sums would leave rounding.
    n = 3000
    X = 1e5 + rng.randn(n, 4)
    Y = np.ones((n, 3), dtype=bool)
    Y[-3:, 1] = False
    Y[: n // 2, 2] = False
    Y[0, 0] = False
    X[-3:] = X[:1] + 1e-3 * rng.randn(3, 4)
    assert_equal(RandomSubspaceNB(3, 0.5), X, Y, X[::100], Y[::100], tolerance=1e-8)


def test_variances_are_never_negative(rng):
    # Equal rows far from the centre, where the square of the mean is rounded.
    X = np.vstack([np.full((50, 2), 1e8 + 0.1), rng.randn(50, 2)])
    Y = np.zeros((100, 3), dtype=bool)
    Y[:50, 0] = Y[50:, 1] = Y[25:75, 2] = True
    assert_equal(RandomSubspaceNB(2, 1.0), X, Y, X[::5], Y[::5], tolerance=1e-8)


@pytest.mark.parametrize("far", [1e20, 1e300])
def test_supports_of_far_outliers_are_probabilities(rng, far):
    X, Y = rng.rand(60, 3), rng.rand(60, 4) < 0.4
    outlier = np.where(np.arange(180).reshape(60, 3) == 16, far, X)
    for limits in LIMITS:
        with patched(limits):
            for rows, queries in ((X, np.array([[far, -far, 0.5]])), (outlier, X)):
                learner = closed_form(RandomSubspaceNB(), rows, Y)
                supports = next(learner.supports(queries, [slice(0, 3)]))
                assert ((supports >= 0) & (supports <= 1)).all()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_threads_and_chunks_change_nothing(rng, is_sparse):
    X, Y = mixed(rng, 100), labels(rng, 100)
    if is_sparse:
        X[rng.rand(*X.shape) < 0.93] = 0
        X = sparse.csr_array(X)
    rows = LabelRows.of(Y)
    for limits in LIMITS:
        with patched({"naive_bayes.likelihood.TILE": 2000, **limits}):
            single, several = (closed_form(BASE, X, Y, n_jobs=n) for n in (1, 3))
            with config_context(working_memory=0.05):  # several chunks of rows
                decisions = [each.decide(X, rows, identity_reference) for each in (single, several)]
            supports = [next(each.supports(X, [slice(0, 8)])) for each in (single, several)]
        np.testing.assert_array_equal(*supports)
        np.testing.assert_array_equal(*decisions)
        whole = single.decide(X, rows, identity_reference)
        np.testing.assert_allclose(unfold(decisions[0]), unfold(whole), atol=1e-14)


def test_closed_form_is_used_for_exactly_this_base_classifier():
    class Other(RandomSubspaceNB):
        pass

    def learner(base):
        return type(PairwiseClassifier(base).fit(np.eye(4), np.eye(4)[:, :2]).learner_)

    assert learner(RandomSubspaceNB()) is SubspaceNBPairLearner
    assert learner(Other()) is learner(GaussianNB()) is GenericPairLearner
