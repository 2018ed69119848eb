import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.datasets import make_hypercubes, make_hyperspheres

MAKERS = [make_hypercubes, make_hyperspheres]
both = pytest.mark.parametrize("make", MAKERS)

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
def test_features_correspond_to_their_names(make, n_samples, params):
    data = make(n_samples, **params)
    kinds = np.array([name.split("_")[0] for name in data.feature_names])
    counts = [params["n_relevant"], params["n_irrelevant"], params["n_redundant"]]
    assert [int((kinds == k).sum()) for k in ("relevant", "irrelevant", "redundant")] == counts
    assert data.X.shape == (n_samples, sum(counts))
    assert data.Y.shape == (n_samples, params["n_labels"])
    assert np.abs(data.X).max() <= 1
    assert (data.Y.sum(axis=1) >= 1).all()
    relevant = {tuple(column) for column in data.X[:, kinds == "relevant"].T}
    redundant = {tuple(column) for column in data.X[:, kinds == "redundant"].T}
    assert redundant <= relevant
    if params["n_redundant"] <= params["n_relevant"]:
        assert len(redundant) == params["n_redundant"]


@both
def test_a_label_is_a_shape(make):
    """The rows of one label fill a cube or a ball, and no other row lies in it."""
    n_rows = 4000
    data = make(n_rows, n_labels=3, n_relevant=2, n_irrelevant=0, n_redundant=0, random_state=2)
    for label in data.Y.T.astype(bool):
        inside = data.X[label]
        low, high = inside.min(axis=0), inside.max(axis=0)
        centre, radius = (low + high) / 2, (high - low).max() / 2
        order = np.inf if make is make_hypercubes else 2
        assert np.linalg.norm(inside - centre, ord=order, axis=1).max() <= radius * 1.02
        assert np.linalg.norm(data.X[~label] - centre, ord=order, axis=1).min() >= radius * 0.95
        assert 0.2 * 0.95 <= radius <= 0.8
        assert np.linalg.norm(centre, ord=order) <= 1.02 - radius


@both
def test_irrelevant_features_are_uniform(make):
    data = make(4000, n_relevant=2, n_irrelevant=2, random_state=0)
    quarters, _ = np.histogram(data.X[:, 2:4], bins=[-1, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(quarters / 8000, 0.25, atol=0.02)


@both
def test_proportional_draws_more_points_in_larger_shapes(make):
    # With 30 relevant features almost no point lies in a second shape: labels count points.
    params = {"n_relevant": 30, "max_radius": 0.5, "random_state": 1}
    radii = np.random.RandomState(1).uniform(0.2, 0.5, size=10)  # drawn first
    equal = make(**params).Y.sum(axis=0)
    proportional = make(**params, proportional=True).Y.sum(axis=0)
    np.testing.assert_allclose(equal, 300, atol=5)
    np.testing.assert_allclose(proportional, 3000 * radii / radii.sum(), atol=5)


def test_points_in_a_ball_are_those_of_mldatagen():
    """Not uniform in the ball, where the median of the norm would be (1/2) ** (1/3) = 0.79."""
    data = make_hyperspheres(
        20_000, n_labels=1, n_relevant=3, min_radius=1.0, max_radius=1.0, random_state=0
    )
    rng = np.random.RandomState(1)
    slow = np.empty((4000, 3))
    for row in slow:
        left = 1.0
        for axis in rng.permutation(3):
            row[axis] = rng.uniform(-np.sqrt(left), np.sqrt(left))
            left -= row[axis] ** 2
    quantiles = np.linspace(0.05, 0.95, 19)
    norms = [np.linalg.norm(points, axis=1) for points in (data.X[:, :3], slow)]
    for found, expected in ((data.X[:, 0], slow[:, 0]), norms):
        np.testing.assert_allclose(
            np.quantile(found, quantiles), np.quantile(expected, quantiles), atol=0.04
        )
    assert np.median(norms[0]) > 0.83


@both
def test_noise_flips_labels_and_leaves_the_features(make):
    clean, noisy, inverse = (make(random_state=3, noise=noise) for noise in (0.0, 0.1, 1.0))
    np.testing.assert_array_equal(noisy.X, clean.X)
    np.testing.assert_allclose((clean.Y != noisy.Y).mean(axis=0), 0.1, atol=0.02)
    np.testing.assert_array_equal(inverse.Y, 1 - clean.Y)


@both
def test_seeds_and_order(make):
    first, again, other = (make(50, random_state=seed) for seed in (0, np.int64(0), 1))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert not np.array_equal(first.X, other.X)
    np.testing.assert_array_equal(make(50, random_state=np.random.RandomState(0)).X, first.X)
    assert not np.array_equal(make(50).X, make(50).X)
    Y = make(random_state=0).Y  # rows are in random order
    np.testing.assert_allclose(Y[:1500].mean(axis=0), Y[1500:].mean(axis=0), atol=0.05)


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0), ("n_samples", 10.0), ("n_labels", 0), ("n_relevant", 0),
        ("n_irrelevant", -1), ("n_redundant", "one"), ("noise", 1.5), ("noise", "much"),
        ("max_radius", 1.2), ("min_radius", 0), ("min_radius", 0.9), ("proportional", "no"),
        ("random_state", -1), ("random_state", "zero"),
    ],
)  # fmt: skip
def test_bad_parameters(make, name, value):
    with pytest.raises(ValueError, match=name):
        make(**{name: value})
