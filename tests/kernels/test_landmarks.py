"""Nearest landmarks, and sums around queries, against loops."""

import numpy as np
import pytest
from scipy import sparse

from pairmend.kernels import local_sums as landmarks
from pairmend.kernels.local_sums import LandmarkSums, nearest_landmark

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e40])
def test_nearest_landmark_equals_a_loop(form, scale, rng):
    points, queries = rng.randn(30, 4) * scale, rng.randn(400, 4) * scale
    expected = [((points - query) ** 2).sum(axis=1).argmin() for query in queries]
    found = nearest_landmark(FORMS[form](queries), FORMS[form](points))
    assert found.tolist() == expected


def sums_by_loop(points, table, beta, queries):
    sums = []
    for query in queries:
        squared = ((points - query) ** 2).sum(axis=1)
        weights = np.exp(-beta * (squared - squared.min()))
        scale = (weights * np.minimum(table[:, -1], 1)).max()
        sums.append(weights @ table / scale)
    return np.array(sums)


@pytest.mark.parametrize("is_light", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_sums_around_queries_equal_a_loop(form, is_light, rng):
    points, queries = rng.randn(600, 5), rng.randn(300, 5)
    queries[::10] *= 1e3
    table = rng.rand(600, 7) + (0 if is_light else 1)
    sums = LandmarkSums(FORMS[form](points), table, 0.8).around(FORMS[form](queries))
    expected = sums_by_loop(points, table, 0.8, queries)
    np.testing.assert_allclose(sums, expected, rtol=1e-10)
    for beta, limit in ((1e-200, table.sum(axis=0)), (1e200, table[:5])):
        extreme = LandmarkSums(FORMS[form](points), table, beta).around(FORMS[form](points[:5]))
        scale = extreme[:, -1:] / np.broadcast_to(limit, extreme.shape)[:, -1:]
        np.testing.assert_allclose(extreme, limit * scale, rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_tie", [False, True])
def test_almost_equal_distances_are_compared_in_double_precision(is_tie, form, rng):
    """Each query has a nearest landmark and one that is further by a tie's slack, but for 1 %."""
    nearest = 3 * rng.randn(200, 8)
    queries = nearest + 0.1 * rng.randn(200, 8)
    lengths = np.linalg.norm(nearest, axis=1)
    slack = landmarks.TIE * lengths * (np.linalg.norm(queries, axis=1) + lengths / 2)
    squared = ((queries - nearest) ** 2).sum(axis=1) + 2 * slack * (0.99 if is_tie else 1.01)
    shifts = rng.randn(200, 8)
    shifts *= np.sqrt(squared / (shifts**2).sum(axis=1))[:, np.newaxis]
    points = np.vstack([queries + shifts, nearest])
    found = nearest_landmark(FORMS[form](queries), FORMS[form](points))
    np.testing.assert_array_equal(found, np.arange(200) + (0 if is_tie else 200))
