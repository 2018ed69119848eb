"""LogisticRows against scikit-learn's exact solver, and against a gradient of zero."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from pairmend import _logistic_solver as logistic_solver
from pairmend._logistic_solver import LogisticRows


def fit_logistic(X, Y, weights, C, max_iter=100, **options):
    return LogisticRows(X, Y, weights, **options).fit(C, max_iter)


def generated(n_rows=120, n_features=6, density=1.0):
    """Return rows of unequal scales, labels of unequal frequency, and weights."""
    rng = np.random.RandomState(0)
    X = rng.randn(n_rows, n_features) * rng.rand(n_features) * 3 + 0.2
    X *= rng.rand(n_rows, n_features) < density
    Y = X @ rng.randn(n_features, 4) + rng.logistic(size=(n_rows, 4)) > [0, 0.5, 2, -3]
    Y[0], Y[1] = True, False
    return X, Y, rng.rand(n_rows) + 0.1


def gradients(X, Y, weights, C, optimum):
    """Return the gradients of the losses by their definition, label by label."""
    found = []
    for y, coef, intercept in zip(Y.T, optimum.coef.T, optimum.intercept, strict=True):
        residual = weights * (expit(X @ coef + intercept) - y)
        found.append([*(X.T @ residual + coef / C), residual.sum()])
    return np.array(found)


def assert_equal(found, expected, atol=1e-9):
    np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=atol)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=0, atol=atol)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(120, 6), (40, 90)], ids=["tall", "wide"])
def test_the_optimum_is_that_of_scikit_learn(shape, C):
    X, Y, weights = generated(*shape)
    optimum = fit_logistic(X, Y, weights, C)
    exact = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
    for label, y in enumerate(Y.T):
        exact.fit(X, y, weights)
        np.testing.assert_allclose(optimum.coef[:, label], exact.coef_[0], rtol=0, atol=1e-8)
        np.testing.assert_allclose(optimum.intercept[label], exact.intercept_[0], atol=1e-8)
    assert optimum.converged.all()
    assert (optimum.n_iter > 0).all()
    np.testing.assert_allclose(gradients(X, Y, weights, C, optimum), 0, atol=1e-9)


LIMITS = {
    "ROTATED_PER_LABEL": 0, "BLOCK_CELLS": 60, "MAX_CELLS": 250, "MAX_COEFFICIENTS": 12,
    "MAX_PRODUCTS": 3,
}  # fmt: skip


@pytest.mark.parametrize("density", [0.05, 0.15, 0.5])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_the_way_to_compute_does_not_matter(container, density, monkeypatch):
    X, Y, weights = generated(density=density)
    expected, rows = fit_logistic(X, Y, weights, 1.0), container(X)
    assert_equal(fit_logistic(rows, Y, weights, 1.0), expected)
    for name, value in LIMITS.items():
        with monkeypatch.context() as patch:
            patch.setattr(logistic_solver, name, value)
            assert_equal(fit_logistic(rows, Y, weights, 1.0, max_iter=1000), expected)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1.0, 1e6], ids=["single", "double"])
def test_a_fit_may_start_from_another_and_end_early(container, size):
    X, Y, weights = generated(n_features=20, density=0.05)
    rows = LogisticRows(container(X * size), Y, weights)
    expected = rows.fit(1.0 / size**2)
    start = LogisticRows(container(X[10:] * size), Y[10:], weights[10:]).fit(10.0 / size**2)
    near = rows.fit(1.0 / size**2, start=start, tolerance=1e-3)
    assert np.abs(near.coef - expected.coef).max() * size < 1e-3
    assert near.n_iter.sum() < expected.n_iter.sum()
    found = rows.fit(1.0 / size**2, start=near)
    np.testing.assert_allclose(found.coef * size, expected.coef * size, rtol=0, atol=1e-9)


@pytest.mark.parametrize("density", [0.02, 0.5])
def test_empty_columns_have_the_coefficient_zero(density):
    X, Y, weights = generated(n_features=40, density=density)
    wide = np.zeros((len(X), 2000))
    wide[:, 3::50] = X
    found = fit_logistic(sparse.csr_array(wide), Y, weights, 1.0)
    expected = fit_logistic(X, Y, weights, 1.0)
    np.testing.assert_allclose(found.coef[3::50], expected.coef, rtol=0, atol=1e-9)
    assert np.count_nonzero(found.coef) <= expected.coef.size
    no_columns = fit_logistic(sparse.csr_array((len(X), 5)), Y, weights, 1.0)
    np.testing.assert_array_equal(no_columns.coef, np.zeros((5, 4)))
    np.testing.assert_allclose(no_columns.intercept, np.log(weights @ Y / (weights @ ~Y)))


@pytest.mark.filterwarnings("error")
def test_weights_labels_and_memory_of_rows():
    X, Y, weights = generated()
    own, expected = X.copy(), fit_logistic(X, Y, weights, 1.0)
    for scale in (1e-300, 1e-7, 1e7, 1e300):  # the unit of weights does not matter
        optimum = fit_logistic(X, Y, weights * scale, 1.0 / scale)
        assert optimum.converged.all()
        assert optimum.n_iter.tolist() == expected.n_iter.tolist()
        assert_equal(optimum, expected, atol=1e-12)
    for n_labels in (0, 1):
        found = fit_logistic(X, Y[:, :n_labels], weights, 1.0).coef
        np.testing.assert_allclose(found, expected.coef[:, :n_labels], rtol=0, atol=1e-10)
    absent = np.where(np.arange(120) % 3, weights, 0)
    used = absent > 0
    without = fit_logistic(X[used], Y[used], weights[used], 1.0)
    assert_equal(fit_logistic(X, Y, absent, 1.0), without, atol=1e-12)
    np.testing.assert_array_equal(own, X)
    assert_equal(fit_logistic(own, Y, weights, 1.0, overwrite=True), expected, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_memory_is_that_of_a_few_values_for_each_row_and_label(container):
    rng = np.random.RandomState(0)
    X = container(rng.randn(20_000, 5) * (rng.rand(20_000, 5) < 0.15))
    Y = rng.rand(20_000, 100) < 0.3
    tracemalloc.start()
    fit_logistic(X, Y, np.ones(20_000), 1.0, max_iter=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * Y.size


def test_a_step_that_does_not_lower_the_loss_is_halved(monkeypatch):
    """With rows of very unequal lengths and weights, and hardly any penalty."""
    rng = np.random.RandomState(5)
    X, Y = rng.standard_cauchy((30, 3)), rng.rand(30, 2) < 0.3
    Y[0], Y[1] = True, False
    weights = rng.rand(30) ** 10 + 1e-9
    optimum = fit_logistic(X, Y, weights, 1e6)
    assert optimum.converged.all()
    np.testing.assert_allclose(gradients(X, Y, weights, 1e6, optimum), 0, atol=1e-12)
    monkeypatch.setattr(logistic_solver, "MAX_HALVINGS", 1)
    assert fit_logistic(X, Y, weights, 1e6).converged.tolist() == [False, True]
    optimum = fit_logistic(*generated(), 100.0, max_iter=1)
    assert not optimum.converged.any()
    assert optimum.n_iter.tolist() == [1] * 4
    with pytest.warns(ConvergenceWarning, match="of 4 of 4 labels did not converge in 1 Newton"):
        optimum.warn_unless_converged()


def test_separable_constant_and_large_features():
    X = np.random.RandomState(0).randn(80, 2)
    X = np.column_stack([X, np.zeros(80), np.full(80, 5.0)])
    Y = np.column_stack([X[:, 0] > 0.1, X @ [1, 1, 0, 0] > 0])
    for C in (1.0, 1e6):
        optimum = fit_logistic(X, Y, np.ones(80), C)
        assert optimum.converged.all()
        np.testing.assert_allclose(gradients(X, Y, np.ones(80), C, optimum), 0, atol=1e-9)
    for size in (1e5, 1e20, 1e100):
        X[3, 1] = size
        optimum = fit_logistic(X, Y, np.ones(80), 1.0)
        assert np.isfinite(optimum.coef).all()
        assert optimum.converged.all() or size == 1e100
