from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from pairmend.datasets import BagEmbedding, MultiInstanceData
from pairmend.datasets.bags import hausdorff_distances


def reference_distance(A, B):
    """One distance, as the definition reads."""
    apart = np.linalg.norm(A[:, np.newaxis] - B, axis=2)
    return max(apart.min(axis=0).max(), apart.min(axis=1).max())


def reference_distances(bags, other):
    return np.array([[reference_distance(A, B) for B in other] for A in bags])


def draw_bags(rng, n, d=3, largest=5, offset=0.0):
    return [offset + rng.randn(rng.randint(1, largest + 1), d) for _ in range(n)]


@pytest.fixture
def bags(rng):
    return draw_bags(rng, 30)


@given(seed=st.integers(0, 2**31 - 1), d=st.integers(1, 4), offset=st.sampled_from([0, 1e6]))
def test_distances_equal_the_definition(seed, d, offset):
    rng = np.random.RandomState(seed)
    first, second = draw_bags(rng, 6, d, offset=offset), draw_bags(rng, 4, d, offset=offset)
    second[0] = first[0] + 1e-9  # near each other
    between = hausdorff_distances(first, second)
    np.testing.assert_allclose(between, reference_distances(first, second), atol=1e-10)
    within = hausdorff_distances(first, first)
    np.testing.assert_allclose(within, reference_distances(first, first), atol=1e-10)
    np.testing.assert_array_equal(within, within.T)
    np.testing.assert_array_equal(np.diag(within), 0)
    again = [np.vstack([bag[::-1], bag]) for bag in first]  # as often, in another order
    np.testing.assert_array_equal(np.diag(hausdorff_distances(first, again)), 0)


def test_lists_object_arrays_and_cubes_are_the_same(rng):
    cube = rng.rand(5, 3, 2)
    expected = BagEmbedding().fit_transform(list(cube))
    for bags in (cube, cube.tolist(), pd.Series(list(cube)).to_numpy(), cube.astype(object)):
        np.testing.assert_array_equal(BagEmbedding().fit_transform(bags), expected)


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([], "X is empty"),
        ("text", "X must be a list of bags"),
        (3, "X must be a list of bags"),
        ([[1.0, 2.0]], "Expected 2D array"),
        ([[[1.0]], np.empty((0, 1))], "minimum of 1 is required"),
        ([[[1.0]], [[1.0, 2.0]]], "instances of different numbers"),
        ([[[1.0], [np.nan]]], "bag 0 contains NaN"),
        ([[[np.inf]]], "bag 0 contains infinity"),
        ([[["a"]]], "X must be a list of bags"),
        ([[[0.0]], [[1e200]]], "overflow"),
        ([[[1.0, 2.0]]], "distances between the .* bags are all 0"),
        ([[[0.1], [0.3]]] * 5, "distances between the .* bags are all 0"),
    ],
)
def test_bad_bags(bags, message):
    with pytest.raises(ValueError, match=message):
        BagEmbedding().fit(bags)


def test_single_instances_keep_their_euclidean_distances(rng):
    points = rng.randn(40, 3) + 50
    embedding = BagEmbedding(n_components=10).fit(points[:30, np.newaxis])
    rows = embedding.transform(points[:, np.newaxis])  # new ones, too
    np.testing.assert_allclose(pdist(rows), pdist(points), atol=1e-9)
    assert embedding.n_components_ == 3
    names = ["bagembedding0", "bagembedding1", "bagembedding2"]
    assert embedding.get_feature_names_out().tolist() == names
    frame = embedding.set_output(transform="pandas").transform(points[:3, np.newaxis])
    assert frame.columns.tolist() == names


def test_embedding_is_classical_scaling(bags):
    """X = V sqrt(lambda) of -J D^2 J / 2, with the centring matrix J written out."""
    distances = reference_distances(bags, bags)
    n = len(bags)
    J = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(-J @ distances**2 @ J / 2)
    expected = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :4]
    embedding = BagEmbedding(n_components=4)
    rows = embedding.fit_transform(bags)
    np.testing.assert_allclose(embedding.eigenvalues_, values[::-1][:4], rtol=1e-10)
    signs = np.sign((rows * expected).sum(axis=0))
    np.testing.assert_allclose(rows, expected * signs, atol=1e-10)
    # The signs are fixed: the training bag farthest from 0 has a positive number.
    assert (rows[np.abs(rows).argmax(axis=0), np.arange(4)] > 0).all()
    np.testing.assert_allclose(embedding.transform(bags), rows, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(clone(embedding).fit_transform(bags), rows)


def test_a_new_bag_is_placed_by_gowers_formula(rng, bags):
    """Gower (1968): with rows F and Λ = F'F, a point is Λ^-1 F' (diag(FF') - d^2) / 2."""
    new = draw_bags(rng, 5)
    # All dimensions, so that only the formula, not the choice of dimensions, matters.
    embedding = BagEmbedding(n_components=6)
    F = embedding.fit_transform(bags)
    distances = reference_distances(bags, bags) ** 2
    centred = distances - distances.mean(axis=0) - distances.mean(axis=1)[:, np.newaxis]
    norms = np.diag(-0.5 * (centred + distances.mean()))
    together = embedding.transform(new)
    for bag, row in zip(new, together, strict=True):
        squared = np.array([reference_distance(bag, B) for B in bags]) ** 2
        expected = np.linalg.solve(F.T @ F, F.T @ (norms - squared)) / 2
        np.testing.assert_allclose(row, expected, atol=1e-10)
        np.testing.assert_allclose(embedding.transform([bag])[0], row, atol=1e-12)
    copies = [bag.copy() for bag in new]
    for bag in bags:
        bag += 1  # later changes of the training bags have no effect
    np.testing.assert_array_equal(embedding.transform(copies), together)


def test_in_a_pipeline_under_cross_validation(rng):
    # The instances of bags of class j lie around the j-th centre.
    centres = rng.randn(4, 3) * 3
    label_of_bag = rng.randint(4, size=80)
    bags = [centres[c] + 0.3 * rng.randn(rng.randint(1, 5), 3) for c in label_of_bag]
    model = make_pipeline(BagEmbedding(n_components=3), LogisticRegression())
    found, of_list = (
        cross_val_predict(model, X, label_of_bag, cv=4) for X in (pd.Series(bags).to_numpy(), bags)
    )
    np.testing.assert_array_equal(found, of_list)
    assert (found == label_of_bag).mean() > 0.95


def test_bad_parameters(bags):
    with pytest.raises(NotFittedError):
        BagEmbedding().transform(bags)
    with pytest.raises(ValueError, match="'n_components' parameter"):
        BagEmbedding(n_components=0).fit(bags)
    with pytest.raises(ValueError, match="same number of columns"):
        BagEmbedding().fit(bags).transform([[[1.0]]])


def test_rows_of_bags(rng):
    bags, Y, source = rng.rand(4, 3, 2), np.eye(4, dtype=np.int64)[:, :2], (Path("photos.mat"),)
    data = MultiInstanceData(list(bags), Y, ("hue", "size"), ("sea", "sun"), "photos", source)
    flat = data.flatten()
    np.testing.assert_array_equal(flat.X, bags.reshape(4, 6))
    names = ("i0_hue", "i0_size", "i1_hue", "i1_size", "i2_hue", "i2_size")
    assert flat.feature_names == names
    assert flat.Y is data.Y
    assert (flat.label_names, flat.name) == (data.label_names, data.name)
    assert (flat.categories, flat.source) == ({}, data.source)
    rows = data.embed(2)
    np.testing.assert_array_equal(rows.X, BagEmbedding(2).fit_transform(data.bags))
    assert rows.feature_names == ("bagembedding0", "bagembedding1")
    data.bags[1] = data.bags[1][:1]
    with pytest.raises(ValueError, match=r"photos: .* hold \[1, 3\] instances. Use embed"):
        data.flatten()
