"""Kernel ridge regression of all labels: solutions, out-of-fold predictions, parameters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from pairmend.mended.base_models import (
    ALPHAS,
    MultiLabelKernelRidge,
    choose_parameters,
    losses_by_alpha,
)


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4)) * [1, 2, 3, 4] + 5
    Y = np.column_stack([X[:, 0] > 5, X[:, 1] + X[:, 2] > 10, rng.rand(60) < 0.2])
    return X, Y, rng.randint(1, 4, size=60).astype(float)


def slow_proba(model, X, Y, weights, Z):
    """Return the clipped predictions of scikit-learn's regression with the same kernel."""
    X, Z = model.scaler_.transform(X), model.scaler_.transform(Z)
    if sparse.issparse(X):  # rows of length 1
        X, Z = normalize(X.toarray()), normalize(Z.toarray())
    kernel = 1 + rbf_kernel(X, gamma=model.beta_)
    slow = KernelRidge(alpha=model.alpha, kernel="precomputed").fit(kernel, Y * 1.0, weights)
    return np.clip(slow.predict(1 + rbf_kernel(Z, X, gamma=model.beta_)), 0, 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_solution_and_out_of_fold_predictions_equal_those_of_scikit_learn(rows, weighted, form):
    X, Y, weights = rows
    X, weights = form(X), weights if weighted else np.ones(60)
    tests, atol = [np.arange(0, 20), np.arange(20, 45)], 1e-5 if form is np.float32 else 1e-10
    model = MultiLabelKernelRidge(gamma=2.0, alpha=0.3)
    proba = model.fit_out_of_fold(X, Y, tests, sample_weight=weights if weighted else None)
    for test in tests:
        train = np.setdiff1d(np.arange(60), test)
        expected = slow_proba(model, X[train], Y[train], weights[train], X[test])
        np.testing.assert_allclose(proba[test], expected, atol=atol)
    np.testing.assert_allclose(proba[45:], model.predict_proba(X[45:]), atol=1e-12)
    expected = slow_proba(model, X, Y, weights, X[:10])
    np.testing.assert_allclose(model.predict_proba(X[:10]), expected, atol=atol)
    with config_context(working_memory=0.01):  # a few rows at a time
        np.testing.assert_allclose(model.predict_proba(X[:10]), expected, atol=atol)


def test_losses_equal_those_of_fits_without_each_row(rows):
    X, Y, weights = rows
    kernel = 1 + rbf_kernel(X, X[:40])
    expected = np.zeros(len(ALPHAS))
    for k, alpha in enumerate(ALPHAS):
        for i in range(60):
            train = np.delete(np.arange(40), i) if i < 40 else np.arange(40)
            slow = KernelRidge(alpha=alpha, kernel="precomputed")
            slow.fit(kernel[np.ix_(train, train)], Y[train] * 1.0, weights[train])
            expected[k] += weights[i] * np.sum((slow.predict(kernel[[i]][:, train]) - Y[i]) ** 2)
    np.testing.assert_allclose(losses_by_alpha(kernel, Y, weights), expected, rtol=1e-9)


def test_parameters_suit_the_data(rng):
    X, ones = rng.uniform(-1, 1, size=(300, 2)), np.ones(300)
    narrow = np.floor(2 * X).sum(axis=1, keepdims=True) % 2 == 0
    smooth = rng.rand(300, 1) < 1 / (1 + np.exp(-2 * X[:, :1]))
    found = [choose_parameters(X, Y, ones, np.random.RandomState(0)) for Y in (narrow, smooth)]
    assert found[0]["gamma"] > found[1]["gamma"]
    assert found[0]["alpha"] < found[1]["alpha"]


def test_training_rows_are_bounded(rows):
    X, Y, _ = rows
    found = []
    for first in (1.0, 1.0 + 1e-9):  # nearly equal weights draw other rows, with equal penalties
        model = MultiLabelKernelRidge(max_samples=25, random_state=0)
        weights = np.r_[first, np.ones(59)]
        proba = model.fit_out_of_fold(X, Y, [np.arange(30)], weights)
        assert model.rows_.shape == (25, 4)
        encoded = model.scaler_.transform(X)
        drawn = np.flatnonzero((encoded[:, np.newaxis] == model.rows_).all(axis=2).any(axis=1))
        differs = (np.abs(proba - model.predict_proba(X)) > 1e-9).any(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(differs), drawn[drawn < 30])
        scaled = 1 + rbf_kernel(encoded[drawn], gamma=model.beta_)
        found.append(scaled @ model.coef_ + model.alpha * model.coef_ - Y[drawn])
    np.testing.assert_allclose(found, 0, atol=1e-6)


def test_extreme_rows(rows, rng):
    X = 1e-8 * rng.normal(size=(600, 1))
    X[:3] = 20 * rng.normal(size=(3, 1))
    # With this seed, the median distance is that of rows without the first three.
    model = MultiLabelKernelRidge(gamma=4.0, alpha=0.03, random_state=1)
    model.fit(X, np.arange(600)[:, np.newaxis] < 3)
    assert model.beta_ > 1e12
    assert model.predict_proba(X)[3:].max() < 0.1
    model.fit(np.ones((40, 2)), np.arange(40)[:, np.newaxis] < 10)  # equal rows
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 0.25, atol=1e-3)
    X, Y, _ = rows
    X[::5, 1] = np.nan
    model.fit(X, Y)
    # Far from all rows only the intercept is left.
    far = model.predict_proba([[1e9, 0.0, np.nan, 0.0]])
    np.testing.assert_allclose(far[0], np.clip(model.coef_.sum(axis=0), 0, 1), atol=1e-9)
