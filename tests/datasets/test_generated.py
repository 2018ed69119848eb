"""Generated datasets: shapes, kinds of features, noise, and seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from pairmend.datasets import make_shapes

SHAPES = ["cube", "sphere"]
both = pytest.mark.parametrize("shape", SHAPES)

some_set = {
    "shape": st.sampled_from(SHAPES),
    "n_labels": st.integers(1, 5),
    "n_relevant": st.integers(1, 6),
    "n_irrelevant": st.integers(0, 3),
    "n_redundant": st.integers(0, 8),
    "min_radius": st.sampled_from([0.01, 0.2, 0.5]),
    "max_radius": st.sampled_from([0.5, 0.8, 1.0]),
    "random_state": st.integers(0, 999),
}


@given(st.integers(1, 60), st.fixed_dictionaries(some_set))
def test_features_correspond_to_their_names(n_samples, params):
    data = make_shapes(n_samples, **params)
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
def test_a_label_is_a_shape(shape):
    """The rows of one label fill a cube or a sphere, and no other row lies in it."""
    sizes = {"n_labels": 3, "n_relevant": 2, "n_irrelevant": 0, "n_redundant": 0}
    data = make_shapes(4000, shape=shape, random_state=2, **sizes)
    for label in data.Y.T.astype(bool):
        inside = data.X[label]
        low, high = inside.min(axis=0), inside.max(axis=0)
        centre, radius = (low + high) / 2, (high - low).max() / 2
        order = np.inf if shape == "cube" else 2
        assert np.linalg.norm(inside - centre, ord=order, axis=1).max() <= radius * 1.02
        assert np.linalg.norm(data.X[~label] - centre, ord=order, axis=1).min() >= radius * 0.95
        assert 0.2 * 0.95 <= radius <= 0.8
        assert np.linalg.norm(centre, ord=order) <= 1.02 - radius


@both
def test_irrelevant_features_are_uniform_and_points_equally_many_in_each_shape(shape):
    data = make_shapes(4000, shape=shape, n_relevant=2, n_irrelevant=2, random_state=0)
    quarters, _ = np.histogram(data.X[:, 2:4], bins=[-1, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(quarters / 8000, 0.25, atol=0.02)
    # With 30 relevant features almost no point lies in a second shape: labels count points.
    data = make_shapes(shape=shape, n_relevant=30, max_radius=0.5, random_state=1)
    np.testing.assert_allclose(data.Y.sum(axis=0), 300, atol=5)


def test_points_in_a_sphere_are_those_of_mldatagen():
    """Not uniform in it, where the median of the norm would be (1/2) ** (1/3) = 0.79."""
    data = make_shapes(
        20_000, shape="sphere", n_labels=1, n_relevant=3, min_radius=1, max_radius=1, random_state=0
    )
    rng = np.random.RandomState(1)
    slow = np.empty((4000, 3))
    for row in slow:
        left = 1.0
        for axis in rng.permutation(3):
            row[axis] = rng.uniform(-np.sqrt(left), np.sqrt(left))
            left -= row[axis] ** 2
    norms = [np.linalg.norm(points, axis=1) for points in (data.X[:, :3], slow)]
    for found, expected in ((data.X[:, 0], slow[:, 0]), norms):
        assert ks_2samp(found, expected).statistic < 0.03
    assert np.median(norms[0]) > 0.83


@both
def test_noise_and_seeds(shape):
    clean, noisy, inverse, other = (
        make_shapes(shape=shape, random_state=seed, noise=noise)
        for seed, noise in ((3, 0.0), (np.int64(3), 0.1), (np.random.RandomState(3), 1.0), (4, 0.0))
    )
    np.testing.assert_array_equal(noisy.X, clean.X)
    np.testing.assert_allclose((clean.Y != noisy.Y).mean(axis=0), 0.1, atol=0.02)
    np.testing.assert_array_equal(inverse.Y, 1 - clean.Y)
    assert not np.array_equal(other.X, clean.X)
    assert not np.array_equal(make_shapes(50).X, make_shapes(50).X)
    # rows are in random order
    np.testing.assert_allclose(clean.Y[:1500].mean(axis=0), clean.Y[1500:].mean(axis=0), atol=0.05)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shape", "square"), ("max_radius", 1.2), ("min_radius", 0), ("min_radius", 0.9),
     ("n_samples", -1)],
)  # fmt: skip
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match="negative" if name == "n_samples" else name):
        make_shapes(**{name: value})
