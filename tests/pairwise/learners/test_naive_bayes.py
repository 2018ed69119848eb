"""The closed-form learner against one classifier for each pair."""

from contextlib import ExitStack
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from pairmend import PairwiseClassifier, RandomSubspaceNB
from pairmend.kernels.pairs import LabelRows, label_pairs
from pairmend.kernels.rrc import identity_reference, unfold
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.voting import TrainingRows


def fitted(learner, base, X, Y, weights=None, virtual=False):
    """Fit a learner on rows of labels, perhaps with a virtual label."""
    params = {"sample_weight": weights}
    pairs = label_pairs(Y.shape[1] + virtual)
    return learner(base, n_jobs=None, seed=3).fit(TrainingRows(X, Y, params), pairs)


LIMITS = [
    {},
    {"pairwise.learners.naive_bayes.WORTHWHILE": 2.0},
    {
        "pairwise.learners.naive_bayes.WORTHWHILE": 0.0,
        "pairwise.learners.naive_bayes.CACHED_TERMS": 0,
        "pairwise.learners.naive_bayes.TERMS": 1,
        "naive_bayes.likelihood.TILE": 1,
        "naive_bayes.likelihood.LOWEST": 1.0,
    },
]
"""Limits that choose between implementations of the same result."""


def assert_equal(base, X, Y, queries, Y_queries, weights=None, tolerance=1e-10):
    """Compare with the generic learner on dense rows, where it is exact."""
    dense, dense_queries = (
        rows.toarray() if sparse.issparse(rows) else rows for rows in (X, queries)
    )
    for virtual in (False, True) if Y.shape[1] > 1 else (True,):
        n_labels = Y.shape[1] + virtual
        if virtual:  # every row has the virtual label
            Y_queries = np.column_stack([Y_queries, np.ones(len(Y_queries), dtype=bool)])
        label_rows = LabelRows.of(Y_queries)
        others = label_rows.label[:, np.newaxis] != np.arange(n_labels)
        reference = fitted(GenericPairLearner, base, dense, Y, weights, virtual)
        expected = next(reference.supports(dense_queries, [slice(0, n_labels - 1)]))
        expected_at, _ = unfold(reference.decide(dense_queries, label_rows, identity_reference))
        for limits in LIMITS:
            with ExitStack() as stack:
                for name, value in limits.items():
                    stack.enter_context(mock.patch(f"pairmend.{name}", value))
                learner = fitted(SubspaceNBPairLearner, base, X, Y, weights, virtual)
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


@pytest.mark.parametrize(
    ("categorical", "missing", "weighted"),
    [([4, 5, 6, 7, 8], 0.0, False), ([4, 5, 6, 7, 8], 0.15, True), ("auto", 0.15, True)],
    ids=str,
)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "forms", list(product((np.asarray, sparse.csr_array), repeat=2)), ids=lambda f: f[0].__name__
)
def test_equals_one_classifier_for_each_pair(rng, weighted, missing, is_sparse, forms, categorical):
    X, queries = mixed(rng, 120, missing), mixed(rng, 40, missing)
    if is_sparse:
        for rows in (X, queries):
            rows[rng.rand(*rows.shape) < 0.93] = 0
    queries[:3, 7] = 9.0  # a value that is unknown in training
    X, queries = (form(rows) for form, rows in zip(forms, (X, queries), strict=True))
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


def test_features_without_values_under_a_label_are_ignored_in_its_pairs(rng):
    X, Y = rng.randn(60, 5), rng.rand(60, 4) < 0.4
    Y[:, 3] &= ~Y[:, :3].any(axis=1)  # shares no row with the others
    X[np.ix_(Y[:, 3], [0, 1])] = np.nan
    X[np.ix_(Y[:, 0] & ~Y[:, 1], [2])] = np.nan
    assert_equal(RandomSubspaceNB(4, 0.6), X, Y, rng.randn(20, 5), rng.rand(20, 4) < 0.5)


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


def test_closed_form_is_used_for_exactly_this_base_classifier():
    class Other(RandomSubspaceNB):
        pass

    def learner(base):
        return type(PairwiseClassifier(base).fit(np.eye(4), np.eye(4)[:, :2]).learner_)

    assert learner(RandomSubspaceNB()) is SubspaceNBPairLearner
    assert learner(Other()) is learner(GaussianNB()) is GenericPairLearner
