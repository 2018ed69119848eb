"""Nearest landmarks, sums around rows and queries, and confusion matrices, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairmend.kernels.local_sums import (
    TIE,
    LandmarkSums,
    confusion_from_sums,
    corrected_by,
    global_confusion,
    nearest_landmark,
    shrink,
    sums_around,
)
from pairmend.kernels.pairs import correct, p_true_given_decision


def problem(seed, n_rows=12, n_labels=3, n_features=2):
    rng = np.random.RandomState(seed)
    Y = rng.rand(n_rows, n_labels) < [0.0, 0.3, 1.0][:n_labels]
    return rng.randn(n_rows, n_features), Y, rng.rand(n_rows, n_labels), rng.rand(n_rows) + 0.1


def tabulate(Y, p_decide, weights):
    """Hits, decisions and rows of each label, and rows, all weighted."""
    table = np.hstack([p_decide * Y, p_decide, Y, np.ones((len(Y), 1))])
    return table * weights[:, np.newaxis]


def confusion_of(Y, p_decide, weights):
    """Return confusion matrices of weighted rows, by their definition."""
    truths, decisions = np.stack([Y, ~Y]), np.stack([p_decide, 1 - p_decide])
    return np.einsum("k,tkl,dkl->ltd", weights, truths, decisions)


def sums_of_rows(points, rows, table, beta, n_doublings=0):
    """Return sums around rows if each row is a point of its own."""
    return sums_around(points[rows], rows, table[rows], points, table, beta, n_doublings)


@given(
    st.integers(0, 100), st.floats(0.01, 30), st.sampled_from([1e-6, 0.1, 1.0, 5.0]), st.booleans()
)
def test_rows_represented_by_points_equal_a_loop(seed, beta, light, own_points):
    """Each row has the weight of the point that represents it, and is left out of its sums."""
    points, Y, p_decide, weights = problem(seed)
    own = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 4])
    queries, weights = np.random.RandomState(seed).randn(12, 2), weights + 0.9
    if own_points:  # the light neighbour of a row does not set the scale
        own, queries = np.arange(12), points
        points[5], weights[5] = points[3] + 1e-3, light
    masses = np.bincount(own, weights)
    summands = tabulate(Y, p_decide, weights)
    table = np.array([summands[own == k].sum(axis=0) for k in range(len(masses))])
    points = points[: len(masses)]
    found = sums_around(queries, own, summands, points, table, beta, 1)
    for doubling, sums in enumerate(found):
        for row, confusion in enumerate(confusion_from_sums(sums)):
            rest = np.delete(np.arange(12), row)
            used = np.unique(own[rest])
            squared = ((points - queries[row]) ** 2).sum(axis=1)
            near = np.exp(-beta * 2**doubling * (squared - squared[used].min()))
            # The largest weight times mass, masses capped at 1, is scaled to 1.
            near /= (near * np.minimum(masses, 1))[used].max()
            expected = confusion_of(Y[rest], p_decide[rest], near[own[rest]] * weights[rest])
            np.testing.assert_allclose(confusion, expected, rtol=1e-6, atol=1e-8)


def test_sparse_and_float32_points():
    points, Y, p_decide, weights = problem(1, n_features=5)
    rows, table = np.arange(12), tabulate(Y, p_decide, weights)
    expected = list(sums_of_rows(points, rows, table, 0.5, 8))
    for same in (sparse.csr_array(points), points.astype(np.float32)):
        for a, b in zip(sums_of_rows(same, rows, table, 0.5, 8), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)
    table = tabulate(np.eye(3, dtype=bool), np.full((3, 3), 0.5), np.ones(3))
    for sums in sums_of_rows(np.zeros((3, 2)), np.arange(3), table, 7.0, 3):  # equal points
        np.testing.assert_allclose(sums, table.sum(axis=0) - table)


@given(st.integers(0, 100), st.sampled_from([0.0, 0.25, 3.0, 1e300]))
def test_correction_from_sums_equals_the_three_steps(seed, mass):
    points, Y, p_decide, weights = problem(seed)
    rows, table = np.arange(12), tabulate(Y, p_decide, weights)
    (sums,) = sums_of_rows(points, rows, table, 2.0)
    towards = global_confusion(table.sum(axis=0) - table)
    expected = correct(p_decide, shrink(confusion_from_sums(sums), towards, mass))
    for found in (sums, sums.astype(np.float32)):
        corrected = corrected_by(p_decide, found, p_true_given_decision(towards), mass)
        tolerance = 1e-9 if found.dtype == np.float64 else 1e-4
        np.testing.assert_allclose(corrected, expected, atol=tolerance)


@pytest.mark.parametrize("sure", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_decision_that_never_occurs_is_assumed_true(sure, dtype):
    """Sums of a decision that never occurs differ from zero by rounding only."""
    rng = np.random.RandomState(0)
    Y, weights = rng.rand(200, 3) < 0.5, rng.rand(200)
    table = tabulate(Y, np.full((200, 3), sure), weights)
    (sums,) = sums_of_rows(rng.randn(200, 2), np.arange(200), table, 0.1)
    prior = (np.full((1, 3), 0.5), np.full((1, 3), 0.5))
    corrected = corrected_by(np.full((200, 3), 1 - sure), sums.astype(dtype), prior, 0.0)
    np.testing.assert_array_equal(corrected, 1 - sure)


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
    slack = TIE * lengths * (np.linalg.norm(queries, axis=1) + lengths / 2)
    squared = ((queries - nearest) ** 2).sum(axis=1) + 2 * slack * (0.99 if is_tie else 1.01)
    shifts = rng.randn(200, 8)
    shifts *= np.sqrt(squared / (shifts**2).sum(axis=1))[:, np.newaxis]
    points = np.vstack([queries + shifts, nearest])
    found = nearest_landmark(FORMS[form](queries), FORMS[form](points))
    np.testing.assert_array_equal(found, np.arange(200) + (0 if is_tie else 200))
