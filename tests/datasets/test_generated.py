import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.datasets import load
from pairmend.datasets.generated import (
    _BALL,
    _CUBE,
    _Plan,
    _points_per_shape,
    make_hypercubes,
    make_hyperspheres,
)

MAKERS = [make_hypercubes, make_hyperspheres]
SHAPES = [_CUBE, _BALL]
both = pytest.mark.parametrize("make", MAKERS)


def shapes_of(make, **params):
    """The radii and centres behind a set: the first that is drawn from its seed."""
    params = {"n_labels": 10, "n_relevant": 20, "min_radius": 0.2, "max_radius": 0.8} | params
    rng = np.random.RandomState(params["random_state"])
    radii = rng.uniform(params["min_radius"], params["max_radius"], size=params["n_labels"])
    shape = SHAPES[MAKERS.index(make)]
    centres = shape.draw(params["n_labels"], params["n_relevant"], rng)
    return radii, centres * (1 - radii)[:, None]


def lies_in(make, point, centre, radius):
    if make is make_hypercubes:
        return all(abs(p - c) <= radius for p, c in zip(point, centre, strict=True))
    return sum((p - c) ** 2 for p, c in zip(point, centre, strict=True)) <= radius**2


some_set = {
    "n_labels": st.integers(1, 5),
    "n_relevant": st.integers(1, 6),
    "n_irrelevant": st.integers(0, 3),
    "n_redundant": st.integers(0, 8),
    "min_radius": st.sampled_from([0.01, 0.2, 0.5]),
    "max_radius": st.sampled_from([0.5, 0.8, 1.0]),
    "proportional": st.booleans(),
    "random_state": st.integers(0, 999),
}


@given(st.sampled_from(MAKERS), st.integers(1, 60), st.fixed_dictionaries(some_set))
def test_a_row_has_the_labels_of_all_shapes_it_lies_in(make, n_samples, params):
    data = make(n_samples, **params)
    radii, centres = shapes_of(make, **params)
    relevant = data.X[:, : params["n_relevant"]]
    expected = [
        [int(lies_in(make, x, c, r)) for c, r in zip(centres, radii, strict=True)] for x in relevant
    ]
    np.testing.assert_array_equal(data.Y, expected)
    # The rows drawn in a shape have its label.
    assert (data.Y.sum(axis=1) >= 1).all()
    plan = _Plan(n_samples, noise=0.0, **{k: v for k, v in params.items() if k != "random_state"})
    assert (data.Y.sum(axis=0) >= _points_per_shape(plan, radii)).all()


@given(st.sampled_from(MAKERS), st.fixed_dictionaries(some_set))
def test_shapes_lie_in_the_unit_shape(make, params):
    radii, centres = shapes_of(make, **params)
    for centre, radius in zip(centres, radii, strict=True):
        assert params["min_radius"] <= radius <= params["max_radius"]
        assert all(abs(c) <= 1 - radius for c in centre)
        if make is make_hyperspheres:
            assert np.linalg.norm(centre) <= 1 - radius + 1e-12


@given(st.sampled_from(MAKERS), st.integers(1, 60), st.fixed_dictionaries(some_set))
def test_features_correspond_to_their_names(make, n_samples, params):
    data = make(n_samples, **params)
    kinds = np.array([name.split("_")[0] for name in data.feature_names])
    counts = [params["n_relevant"], params["n_irrelevant"], params["n_redundant"]]
    assert [int((kinds == k).sum()) for k in ("relevant", "irrelevant", "redundant")] == counts
    assert data.X.shape == (n_samples, sum(counts))
    assert np.abs(data.X).max() <= 1
    relevant = {tuple(column) for column in data.X[:, kinds == "relevant"].T}
    redundant = {tuple(column) for column in data.X[:, kinds == "redundant"].T}
    assert redundant <= relevant
    if params["n_redundant"] <= params["n_relevant"]:
        assert len(redundant) == params["n_redundant"]


@both
def test_irrelevant_features_are_uniform(make):
    data = make(4000, n_relevant=2, n_irrelevant=2, random_state=0)
    irrelevant = data.X[:, 2:4]
    quarters, _ = np.histogram(irrelevant, bins=[-1, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(quarters / irrelevant.size, 0.25, atol=0.02)


@given(st.integers(1, 200), st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.booleans())
def test_points_per_shape(n_samples, radii, proportional):
    radii = np.array(radii)
    plan = _Plan(n_samples, len(radii), 1, 0, 0, 0.01, 1.0, 0.0, proportional)
    counts = _points_per_shape(plan, radii)
    assert counts.sum() == n_samples
    share = radii / radii.sum() if proportional else np.full(len(radii), 1 / len(radii))
    assert (np.abs(counts - n_samples * share) < 1 + 1e-9).all()


@both
def test_proportional_draws_more_points_in_larger_shapes(make):
    # With 30 relevant features almost no point lies in a second shape: labels count points.
    params = {"n_relevant": 30, "max_radius": 0.5, "random_state": 1}
    radii, _ = shapes_of(make, **params)
    equal = make(**params).Y.sum(axis=0)
    proportional = make(**params, proportional=True).Y.sum(axis=0)
    np.testing.assert_allclose(equal, 300, atol=5)
    np.testing.assert_allclose(proportional, 3000 * radii / radii.sum(), atol=5)


def test_coordinates_of_points_in_a_ball_share_the_squared_radius():
    points = _BALL.draw(20_000, 3, np.random.RandomState(0))
    rng = np.random.RandomState(1)
    slow = np.empty((4000, 3))
    for row in slow:
        left = 1.0
        for axis in rng.permutation(3):
            row[axis] = rng.uniform(-np.sqrt(left), np.sqrt(left))
            left -= row[axis] ** 2
    quantiles = np.linspace(0.05, 0.95, 19)
    for fast_view, slow_view in (
        (points[:, 0], slow[:, 0]),
        (points[:, 2], slow[:, 2]),
        (np.linalg.norm(points, axis=1), np.linalg.norm(slow, axis=1)),
    ):
        np.testing.assert_allclose(
            np.quantile(fast_view, quantiles), np.quantile(slow_view, quantiles), atol=0.04
        )
    # Not uniform in the ball, where the median of the norm would be (1/2) ** (1/3) = 0.79.
    assert np.median(np.linalg.norm(points, axis=1)) > 0.83


def test_spheres_are_not_cubes():
    corner, face = np.array([[0.4, 0.4]]), np.array([[0.4, 0.0]])
    assert _CUBE.contains(corner, 0.5).tolist() == [True]
    assert _BALL.contains(corner, 0.5).tolist() == [False]
    assert _BALL.contains(face, 0.5).tolist() == _CUBE.contains(face, 0.5).tolist() == [True]


@both
def test_noise_flips_labels_and_leaves_the_features(make):
    clean, noisy, inverse = (make(random_state=3, noise=noise) for noise in (0.0, 0.1, 1.0))
    np.testing.assert_array_equal(noisy.X, clean.X)
    flips = clean.Y != noisy.Y
    np.testing.assert_allclose(flips.mean(axis=0), 0.1, atol=0.02)
    np.testing.assert_array_equal(inverse.Y, 1 - clean.Y)


@both
def test_rows_are_in_random_order(make):
    Y = make(random_state=0).Y
    np.testing.assert_allclose(Y[:1500].mean(axis=0), Y[1500:].mean(axis=0), atol=0.05)


@both
def test_seeds(make):
    first, again, other = (make(50, random_state=seed) for seed in (0, np.int64(0), 1))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert not np.array_equal(first.X, other.X)
    np.testing.assert_array_equal(make(50, random_state=np.random.RandomState(0)).X, first.X)
    assert not np.array_equal(make(50).X, make(50).X)


@both
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"n_samples": 10.0}, "n_samples must be an integer of at least 1, got 10.0"),
        ({"n_labels": 0}, "n_labels must be an integer of at least 1, got 0"),
        ({"n_relevant": 0}, "n_relevant must be an integer of at least 1, got 0"),
        ({"n_irrelevant": -1}, "n_irrelevant must be an integer of at least 0, got -1"),
        ({"n_redundant": True}, "n_redundant must be an integer of at least 0, got True"),
        ({"noise": 1.5}, "noise must be a number from 0 to 1, got 1.5"),
        ({"noise": "much"}, "noise must be a number from 0 to 1, got 'much'"),
        ({"noise": float("nan")}, "noise must be a number from 0 to 1, got nan"),
        ({"max_radius": 1.2}, "max_radius must be a number from 0 to 1, got 1.2"),
        ({"min_radius": 0}, "0 < min_radius <= max_radius <= 1, got min_radius=0 "),
        ({"min_radius": 0.9}, "got min_radius=0.9 and max_radius=0.8"),
        ({"proportional": "no"}, "proportional must be True or False, got 'no'"),
        ({"random_state": -1}, "random_state must be an integer from 0 to .*, got -1"),
        ({"random_state": "zero"}, "random_state must be an integer .*, got 'zero'"),
    ],
)
def test_bad_parameters(make, params, message):
    with pytest.raises(ValueError, match=message):
        make(**params)


def slow_characteristics(Y):
    """LC, avIR and AVsc."""
    counts = [sum(column) for column in Y.T]
    ratios = [max(counts) / count for count in counts]
    scumbles = []
    for row in Y:
        own = [ratio for ratio, label in zip(ratios, row, strict=True) if label]
        arithmetic = sum(own) / len(own) if own else 1
        geometric = np.prod(own) ** (1 / len(own)) if own else 1
        scumbles.append(1 - geometric / arithmetic)
    return Y.sum() / len(Y), sum(ratios) / len(ratios), sum(scumbles) / len(Y)


# Characteristics printed in the study.
NAMED = [("SimpleHC", (1.900, 1.138, 0.001)), ("SimpleHS", (2.307, 2.622, 0.050))]
named = pytest.mark.parametrize(("name", "published"), NAMED)


@named
def test_named_sets_come_close_to_the_study(name, published):
    data = load(name)
    assert (data.name, data.source, data.categories) == (name.lower(), (), {})
    assert data.X.shape == (3000, 30)
    assert data.Y.shape == (3000, 10)
    assert set(np.unique(data.Y)) == {0, 1}
    cardinality, imbalance, scumble = slow_characteristics(data.Y)
    assert cardinality == pytest.approx(published[0], abs=0.003)
    assert imbalance == pytest.approx(published[1], abs=0.001)
    assert scumble == pytest.approx(published[2], abs=0.0005)


@named
def test_the_targets_are_the_published_ones(shared, name, published):
    with (shared / "paper/published_datasets.csv").open() as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == name)
    assert (float(row["LC"]), float(row["avIR"]), float(row["AVsc"])) == published
