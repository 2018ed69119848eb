import numpy as np
import pytest
from scipy import sparse

import references
from pairmend.kernels.local_sums import adaptive_weights, gaussian_weights


@pytest.fixture
def points(rng):
    points = rng.rand(15, 4)
    points[rng.rand(15, 4) < 0.3] = 0
    points[3] = points[7]  # duplicates
    return points


@pytest.fixture
def queries(rng, points):
    return np.vstack([rng.rand(5, 4), points[[3, 0]], [[9, -9, 0, 4]]])


KERNELS = [
    (gaussian_weights, references.gaussian_weights, [1e-3, 1.0, 64.0]),
    (adaptive_weights, references.adaptive_weights, [1, 2, 7, 15]),
]


@pytest.mark.parametrize(("kernel", "reference", "widths"), KERNELS)
def test_weights_equal_a_loop(kernel, reference, widths, queries, points):
    for width in widths:
        weights = kernel(queries, points, width)
        np.testing.assert_allclose(weights, reference(queries, points, width), atol=1e-10)
        np.testing.assert_allclose(weights[:, 3], weights[:, 7], atol=1e-12)  # equal points
        of_sparse = kernel(sparse.csr_array(queries), sparse.csr_array(points), width)
        np.testing.assert_allclose(of_sparse, weights, atol=1e-12)
    single = kernel(queries.astype(np.float32), points.astype(np.float32), 3)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(queries, points, 3), atol=2e-4)


def test_queries_far_outside_keep_their_digits(rng):
    points = rng.rand(10, 2)
    query = np.array([[1e6, 0.3]])
    # Differences of squared distances, expanded by hand so that nothing cancels.
    offsets = (points**2).sum(axis=1) - 2 * points @ query[0]
    expected = np.exp(-1e-6 * (offsets - offsets.min()))
    np.testing.assert_allclose(gaussian_weights(query, points, 1e-6)[0], expected, rtol=1e-9)


def test_coinciding_points_have_weight_one_and_all_others_zero():
    points = np.array([[0.1, 0.7], [0.1, 0.7], [0.4, 0.2]])
    assert adaptive_weights(points[:1], points, k=2).tolist() == [[1, 1, 0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_equal_numpy_to_the_last_bit_but_where_they_vanish(rng, dtype):
    points, queries = rng.rand(400, 1).astype(dtype), rng.rand(200, 1).astype(dtype)
    offsets = points @ queries.T * -2 + points**2
    for beta in (1.0, 90.0, 1000.0, 3000.0):
        expected = np.exp((offsets - offsets.min(axis=0)) * -beta).T
        found, tiny = gaussian_weights(queries, points, beta), 3 * np.finfo(dtype).tiny
        np.testing.assert_array_equal(found[expected > tiny], expected[expected > tiny])
        assert found[expected <= tiny].max(initial=0) <= tiny
    assert (found == 0).any()
