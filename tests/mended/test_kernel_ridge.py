"""Kernel ridge regression of all labels: solutions, out-of-fold predictions, parameters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from pairmend.mended import kernel_ridge
from pairmend.mended.kernel_ridge import (
    ALPHAS,
    MultiLabelKernelRidge,
    choose_parameters,
    losses_by_alpha,
)


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4)) * [1, 2, 3, 4] + 5
    return X, np.column_stack([X[:, 0] > 5, X[:, 1] + X[:, 2] > 10, rng.rand(60) < 0.2])


def slow_proba(model, X, Y, weights, Z):
    """Return the clipped predictions of scikit-learn's regression with the same kernel."""
    X, Z = model.scaler_.transform(X), model.scaler_.transform(Z)
    kernel = 1 + rbf_kernel(X, gamma=model.beta_)
    slow = KernelRidge(alpha=model.alpha, kernel="precomputed").fit(
        kernel, Y.astype(float), weights
    )
    return np.clip(slow.predict(1 + rbf_kernel(Z, X, gamma=model.beta_)), 0, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_solution_equals_that_of_scikit_learn(rows, weighted):
    X, Y = rows
    rng = np.random.RandomState(1)
    weights = rng.randint(1, 4, size=60).astype(float) if weighted else None
    model = MultiLabelKernelRidge(gamma=2.0, alpha=0.3).fit(X, Y, sample_weight=weights)
    new = X[:10] + rng.normal(size=(10, 4))
    expected = slow_proba(model, X, Y, weights, new)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-10)
    assert expected.max() == 1  # some are clipped


def test_out_of_fold_predictions_equal_those_of_fits_on_other_rows(rows):
    X, Y = rows
    weights = np.random.RandomState(1).randint(1, 4, size=60).astype(float)
    tests = [np.arange(0, 20), np.arange(20, 45)]
    model = MultiLabelKernelRidge(alpha=0.3)
    proba = model.fit_out_of_fold(X, Y, tests, sample_weight=weights)
    for test in tests:
        train = np.setdiff1d(np.arange(60), test)
        expected = slow_proba(model, X[train], Y[train], weights[train], X[test])
        np.testing.assert_allclose(proba[test], expected, atol=1e-10)
    np.testing.assert_allclose(proba[45:], model.predict_proba(X[45:]), atol=1e-12)


def test_a_weight_of_two_equals_a_row_twice(rows):
    X, Y = rows
    twice = np.r_[np.arange(60), np.arange(30)]
    weights = np.r_[np.full(30, 2.0), np.ones(30)]
    one = MultiLabelKernelRidge().fit(X, Y, sample_weight=weights)
    two = MultiLabelKernelRidge().fit(X[twice], Y[twice])
    two.set_params(gamma=one.beta_ / two.beta_).fit(X[twice], Y[twice])  # medians differ slightly
    assert two.beta_ == pytest.approx(one.beta_)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-8)


def test_losses_equal_those_of_fits_without_each_row(rows):
    X, Y = rows
    weights = np.random.RandomState(1).uniform(0.5, 2, size=60)
    kernel = 1 + rbf_kernel(X, X[:40])
    expected = []
    for alpha in ALPHAS:
        loss = 0.0
        for i in range(60):
            train = np.delete(np.arange(40), i) if i < 40 else np.arange(40)
            slow = KernelRidge(alpha=alpha, kernel="precomputed")
            slow.fit(kernel[np.ix_(train, train)], Y[train].astype(float), weights[train])
            loss += weights[i] * np.sum((slow.predict(kernel[[i]][:, train]) - Y[i]) ** 2)
        expected.append(loss)
    np.testing.assert_allclose(losses_by_alpha(kernel, Y, weights), expected, rtol=1e-9)


def test_parameters_suit_the_data():
    rng = np.random.RandomState(0)
    X, ones = rng.uniform(-1, 1, size=(300, 2)), np.ones(300)
    narrow = (np.floor(2 * X).sum(axis=1, keepdims=True) % 2 == 0) & True
    smooth = rng.rand(300, 1) < 1 / (1 + np.exp(-2 * X[:, :1]))
    found = [choose_parameters(X, Y, ones, np.random.RandomState(0)) for Y in (narrow, smooth)]
    assert found[0]["gamma"] > found[1]["gamma"]
    assert found[0]["alpha"] < found[1]["alpha"]


def test_training_rows_are_bounded(rows):
    X, Y = rows
    model = MultiLabelKernelRidge(max_samples=25, random_state=0)
    proba = model.fit_out_of_fold(X, Y, [np.arange(30)])
    assert model.rows_.shape == (25, 4)
    encoded = model.scaler_.transform(X)
    is_trained_on = (encoded[:, np.newaxis] == model.rows_).all(axis=2).any(axis=1)
    in_sample = model.predict_proba(X)
    differs = (np.abs(proba - in_sample) > 1e-9).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(differs), np.flatnonzero(is_trained_on[:30]))


def test_nearly_equal_weights_have_no_effect_where_rows_are_drawn(rows):
    X, Y = rows
    model = MultiLabelKernelRidge(max_samples=30, random_state=0)
    light, heavy = (np.r_[first, np.ones(59)] for first in (1.0, 1.0 + 1e-9))
    for weights in (light, heavy):
        model.fit(X, Y, sample_weight=weights)
        # The penalty of each of the drawn rows is alpha.
        is_equal = model._encode(X)[:, np.newaxis] == model.rows_
        drawn = is_equal.all(axis=2).argmax(axis=0)
        fitted = kernel_ridge.kernel(model.rows_, model.rows_, model.beta_) @ model.coef_
        np.testing.assert_allclose(fitted + model.alpha * model.coef_, Y[drawn], atol=1e-6)


def test_sparse_rows_have_the_length_one(rows, monkeypatch):
    _, Y = rows
    rng = np.random.RandomState(0)
    X = sparse.csr_array(np.where(rng.uniform(size=(60, 30)) < 0.2, rng.uniform(size=(60, 30)), 0))
    model = MultiLabelKernelRidge().fit(X, sparse.csr_array(Y.astype(int)))
    dense = normalize(X.toarray())
    expected = (1 + rbf_kernel(dense, gamma=model.beta_)) @ model.coef_
    np.testing.assert_allclose(model.predict_proba(X), np.clip(expected, 0, 1), atol=1e-10)
    before = model.predict_proba(X)
    monkeypatch.setattr(kernel_ridge, "row_chunks", lambda n, _: [slice(0, 7), slice(7, n)])
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)


def test_bandwidth_of_rounding_errors():
    rng = np.random.RandomState(0)
    X = 1e-8 * rng.normal(size=(600, 1))
    X[:3] = 20 * rng.normal(size=(3, 1))
    Y = np.arange(600)[:, np.newaxis] < 3
    # With this seed, the median distance is that of rows without the first three.
    model = MultiLabelKernelRidge(gamma=4.0, alpha=0.03, random_state=1).fit(X, Y)
    assert model.beta_ > 1e12
    assert model.predict_proba(X)[3:].max() < 0.1


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_in_single_precision_are_computed_in_double_precision(form):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    Y = np.sin(3 * X[:, :2]) > 0
    given, tests = (form(X), form(X.astype(np.float64))), [np.arange(150)]
    single, double = (
        MultiLabelKernelRidge(alpha=0.03, random_state=0).fit_out_of_fold(rows, Y, tests)
        for rows in given
    )
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-5)


def test_equal_rows_have_the_share_of_labels():
    Y = np.arange(40)[:, np.newaxis] < 10
    model = MultiLabelKernelRidge(alpha=0.03).fit(np.ones((40, 2)), Y)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 0.25, atol=1e-3)


def test_values_that_are_missing_or_far_away(rows):
    X, Y = rows
    X[::5, 1] = np.nan
    model = MultiLabelKernelRidge().fit(X, Y)
    far = model.predict_proba([[1e9, 0.0, np.nan, 0.0]])
    # Far from all rows only the intercept is left.
    np.testing.assert_allclose(far[0], np.clip(model.coef_.sum(axis=0), 0, 1), atol=1e-9)
