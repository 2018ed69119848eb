"""Neighbourhoods against loops, and the forms of rows they take."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import references
from pairmend import AdaptiveNeighbourhood, GaussianNeighbourhood, GlobalNeighbourhood
from pairmend.kernels.local_sums import gaussian_weights

both = pytest.mark.parametrize("kind", [GaussianNeighbourhood, AdaptiveNeighbourhood])


def weights_of(rows, new, kind=GaussianNeighbourhood, **params):
    return kind(**params).fit(rows).weights(new)


def test_weights_equal_loops(rng):
    rows = rng.rand(15, 4) * [1, 100, 1e-3, 1] + [0, 1e6, 0, 0]
    rows[:, 3] = 5.0  # a constant feature is ignored
    rows[3] = rows[7]  # around them, the second neighbour is at a distance of 0
    new = np.vstack([rows[[0, 3]], rng.rand(3, 4) * [2, 300, 1e-3, 9] + [-1, 1e6, 0, 0]])
    in_range = [references.scale_by_range(rows, part) for part in (new, rows)]
    deviation = np.where(rows.std(axis=0) > 0, rows.std(axis=0), np.inf)
    plain = rng.rand(4, 2), rng.rand(9, 2)
    for beta in (1e-3, 2.0, 64.0):
        expected = references.gaussian_weights(*in_range, beta)
        np.testing.assert_allclose(weights_of(rows, new, beta=beta), expected, atol=1e-10)
    for k in (1, 2, 7, 15):
        expected = references.adaptive_weights(*in_range, k)
        found = weights_of(rows, new, AdaptiveNeighbourhood, k=k)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    for found, expected in (
        (
            weights_of(rows, new, scale="standard"),
            references.gaussian_weights(new / deviation, rows / deviation, 1.0),
        ),
        (weights_of(*plain[::-1], scale=None), references.gaussian_weights(*plain, 1.0)),
        (weights_of(["any", "thing"], ["at all"], GlobalNeighbourhood), [[1, 1]]),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_queries_far_outside_keep_their_digits(rng):
    points = rng.rand(10, 2)
    query = np.array([[1e6, 0.3]])
    # Differences of squared distances, expanded by hand so that nothing cancels.
    offsets = (points**2).sum(axis=1) - 2 * points @ query[0]
    expected = np.exp(-1e-6 * (offsets - offsets.min()))
    found = weights_of(points, query, beta=1e-6, scale=None)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_equal_numpy_to_the_last_bit_but_where_they_vanish(rng, dtype):
    points, queries = rng.rand(400, 1).astype(dtype), rng.rand(200, 1).astype(dtype)
    offsets = points @ queries.T * -2 + points**2
    for beta in (1.0, 90.0, 1000.0, 3000.0):
        expected = np.exp((offsets - offsets.min(axis=0)) * -beta).T
        found, tiny = gaussian_weights(queries, points, beta), 3 * np.finfo(dtype).tiny
        assert found.dtype == dtype
        np.testing.assert_array_equal(found[expected > tiny], expected[expected > tiny])
        assert found[expected <= tiny].max(initial=0) <= tiny
    assert (found == 0).any()


@pytest.mark.parametrize("scale", ["range", "standard", None])
@both
def test_sparse_equals_dense_and_stays_sparse(rng, kind, scale):
    X = rng.rand(30, 8) * (rng.rand(30, 8) < 0.1)
    X[4, 2] = X[5, 2] = np.nan
    new = rng.rand(6, 8) * (rng.rand(6, 8) < 0.4)
    new[0, 2] = np.nan
    csr = kind(scale=scale).fit(sparse.csr_array(X))
    assert sparse.issparse(csr.points_)
    expected = weights_of(X, new, kind, scale=scale)
    np.testing.assert_allclose(csr.weights(sparse.csr_array(new)), expected, atol=1e-12)
    X, new = rng.rand(30, 4) + 5, rng.rand(3, 4) + 5
    expected = weights_of(X, new, kind)
    np.testing.assert_allclose(weights_of(X, sparse.csr_array(new), kind), expected)
    np.testing.assert_allclose(weights_of(sparse.csr_array(X), new, kind), expected, rtol=1e-6)


def test_missing_values(rng):
    X = rng.rand(10, 3)
    filled, missing, new = X.copy(), X.copy(), np.array([[0.5, np.nan, 0.5]])
    missing[0, 1], filled[0, 1] = np.nan, X[1:, 1].mean()
    at_mean = np.array([[0.5, X[1:, 1].mean(), 0.5]])
    np.testing.assert_allclose(weights_of(missing, new), weights_of(filled, at_mean))
    empty = np.column_stack([X, np.full(10, np.nan)])
    np.testing.assert_allclose(weights_of(empty, empty), weights_of(X, X))


def test_categories_of_a_frame_are_equal_or_not():
    frame = pd.DataFrame({"n": [0.0, 1.0, 1.0, 0.0], "c": pd.Categorical(["u", "u", "v", None])})
    new = pd.DataFrame({"n": [0.0, 0.0, 0.0], "c": pd.Categorical(["u", "new", None])})
    # Squared distances: numbers 0 or 1; categories 0 equal, 1 different, 1/2 if one is missing.
    squared = np.array([[0, 1, 2, 0.5], [1, 2, 2, 0.5], [0.5, 1.5, 1.5, 0.0]])
    expected = np.exp(-(squared - squared.min(axis=1, keepdims=True)))
    np.testing.assert_allclose(weights_of(frame, new), expected)


FRAME = pd.DataFrame({"c": pd.Categorical(["u", "v"]), "n": [0.0, 1.0]})


@pytest.mark.parametrize(
    ("neighbourhood", "rows", "new", "message"),
    [
        (GaussianNeighbourhood(0.0), [[0.0]], None, "'beta' parameter of GaussianNeighbourhood"),
        (AdaptiveNeighbourhood(k=5), np.eye(3), None, "k=5.*got 3. Choose a smaller k"),
        (AdaptiveNeighbourhood(k=0), np.eye(3), None, "'k' parameter"),
        (GaussianNeighbourhood(), np.eye(2), [[1.0]], "X has 1 features, but GaussianNeighb"),
        (GaussianNeighbourhood(), FRAME, np.eye(2), "pass X as a DataFrame with the same 2 col"),
        (GaussianNeighbourhood(), FRAME, FRAME[["c"]], "match"),
    ],
)
def test_refused_parameters_and_rows(neighbourhood, rows, new, message):
    with pytest.raises(ValueError, match=message):
        neighbourhood.fit(rows).weights(new)
