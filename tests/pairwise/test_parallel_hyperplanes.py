"""Two parallel hyperplanes against a general-purpose solver."""

import numpy as np
import pytest
from scipy import sparse

import overlap_references as references
from pairmend.pairwise.parallel_hyperplanes import fit_parallel_hyperplanes


def problem(seed, n=24, d=3, noise=0.5):
    """Rows with the second label, both, the first label along some direction, with noise."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * rng.uniform(0.3, 3, size=d) + rng.randn(d)
    along = (X - X.mean(axis=0)) @ rng.randn(d) + noise * rng.randn(n)
    Y = np.column_stack([along > -0.5, along < 0.5])
    Y[:3] = [[True, False], [True, True], [False, True]]
    return X, Y, rng.uniform(0.1, 3, size=n)


def fit(X, Y, costs, **options):
    options = {"tol": 1e-9, "max_iter": 2000, **options}
    return fit_parallel_hyperplanes(X, Y, costs, **options)[:3]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cost", [0.1, 1.0, 30.0])
def test_solution_equals_that_of_a_quadratic_programme(seed, cost):
    X, Y, costs = problem(seed)
    w, thresholds, converged = fit(X, Y, cost * costs)
    expected, places, _ = references.parallel_hyperplanes(X, Y, cost * costs)
    np.testing.assert_allclose(w, expected, atol=2e-5)
    np.testing.assert_allclose(thresholds, places, atol=2e-5)
    assert converged


def test_sparse_rows_shifted_rows_and_swapped_labels():
    X, Y, costs = problem(5, n=50)
    w, thresholds, _ = fit(X, Y, costs)
    of_sparse, places, _ = fit(sparse.csr_array(X), Y, costs)
    np.testing.assert_allclose(of_sparse, w, atol=1e-6)
    np.testing.assert_allclose(places, thresholds, atol=1e-6)
    shifted, places, converged = fit(X + 1000, Y, costs)
    np.testing.assert_allclose(shifted, w, atol=1e-5)
    np.testing.assert_allclose(places, thresholds + 1000 * w.sum(), atol=1e-2)
    assert converged
    swapped, places, _ = fit(X, Y[:, ::-1], costs)
    np.testing.assert_allclose(swapped, -w, atol=1e-6)
    np.testing.assert_allclose(places, -thresholds[::-1], atol=1e-6)


def test_label_that_all_or_no_rows_have_has_an_infinite_threshold():
    X, Y, costs = problem(1)
    Y[:, 0] = True
    _, (a, b), _ = fit(X, Y, costs)
    assert a == -np.inf
    assert np.isfinite(b)
    w, (a, b), converged = fit(X, np.tile([False, True], (24, 1)), costs)
    assert (a, b) == (np.inf, np.inf)
    assert not w.any()
    assert converged


def test_threshold_that_is_not_unique_lies_in_the_middle():
    # Rows with the first label or both are mixed around 0 and determine the direction; the row
    # with only the second label is far away.
    X = np.array([[-1.0], [0.5], [0.0], [1.0], [-60.0]])
    Y = np.array([[1, 1], [1, 1], [1, 0], [1, 0], [0, 1]], dtype=bool)
    w, (a, b), _ = fit(X, Y, np.ones(5))
    assert w[0] > 0
    assert a == pytest.approx(w[0] * (-60 - 1) / 2, rel=1e-9)
    assert a < b
