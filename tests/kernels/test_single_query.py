"""Sums around one query against loops; parts share landmarks or have their own."""

import numpy as np
import pytest

from pairmend.kernels.landmarks import LandmarkSums
from pairmend.kernels.single_query import AffinePoints, SingleQuerySums


def sums_by_loop(points, table, beta, query):
    squared = ((points - query) ** 2).sum(axis=1)
    weights = np.exp(-beta * (squared - squared.min()))
    return weights @ table / (weights * np.minimum(table[:, -1], 1)).max()


def random_parts(rng, n_landmarks, is_light):
    """Return maps and sums: the first two parts share landmarks, the others have their own."""
    coordinates = [rng.randn(n_landmarks, 5), rng.randn(n_landmarks, 3)]
    mean, factor = rng.randn(5), rng.rand(5) + 0.5
    factor[2] = 0  # a constant feature
    maps = [
        AffinePoints(0, mean, factor),
        AffinePoints(0, mean.copy(), 30 * rng.rand(5) * (factor > 0)),
        AffinePoints(0, mean + 1, factor),
        AffinePoints(1, np.full(3, 0.1), np.ones(3)),
    ]
    betas = [0.8, 1e-3, 1.3, 1e3]  # most weights vanish with the last
    parts = [
        LandmarkSums(
            (coordinates[each.source] - each.mean) * each.factor,
            rng.rand(n_landmarks, 7) + (0 if is_light else 1),
            beta,
        )
        for each, beta in zip(maps, betas, strict=True)
    ]
    return maps, parts


@pytest.mark.parametrize("is_light", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_sums_around_one_query_equal_a_loop(single, is_light, rng):
    maps, parts = random_parts(rng, 600, is_light)
    sums = SingleQuerySums(parts, maps, single=single)
    assert sums.places.tolist() == [[0, 0], [0, 1], [1, 0], [2, 0]]
    tolerance = 1e-4 if single else 1e-10
    for _ in range(20):
        query = [rng.randn(5), rng.randn(3) / 10]
        expected = [
            sums_by_loop(part.landmarks, part.table, part.beta,
                         (query[each.source] - each.mean) * each.factor)
            for part, each in zip(parts, maps, strict=True)
        ]  # fmt: skip
        found = sums.around(dict(enumerate(query)))
        np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize(
    ("source", "mean", "factor", "is_shared"),
    [
        (0, [0.0, 1.0], [3.0, 4.0], True),
        (0, [0.0, 1.0], [0.0, 4.0], True),
        (1, [0.0, 1.0], [3.0, 4.0], False),
        (0, [0.0, 2.0], [3.0, 4.0], False),
    ],
)
def test_points_that_are_multiples_of_others(source, mean, factor, is_shared):
    first = AffinePoints(0, np.array([0.0, 1.0]), np.array([2.0, 0.5]))
    other = AffinePoints(source, np.array(mean), np.array(factor))
    found = other.relative_to(first)
    assert (found is not None) == is_shared
    if is_shared:
        np.testing.assert_allclose(found * first.factor, other.factor)


def test_a_feature_that_the_other_points_ignore():
    first = AffinePoints(0, np.zeros(2), np.array([2.0, 0.0]))
    assert AffinePoints(0, np.zeros(2), np.array([3.0, 0.0])).relative_to(first).tolist() == [
        1.5,
        0,
    ]
    assert AffinePoints(0, np.zeros(2), np.array([3.0, 1.0])).relative_to(first) is None


@pytest.mark.parametrize("value", [1e5, np.inf, np.nan])
def test_no_sums_around_a_query_too_far_for_the_precision(value, rng):
    points = AffinePoints(0, np.zeros(2), np.ones(2))
    parts = [LandmarkSums(rng.randn(600, 2), rng.rand(600, 4), 1.0)] * 2
    sums = SingleQuerySums(parts, [points] * 2, single=True)
    assert sums.around({0: np.zeros(2)}) is not None
    with np.errstate(over="ignore"):
        assert sums.around({0: np.array([0.0, value])}) is None
