"""Neighbourhoods against loops, and the forms of rows they take."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import FunctionTransformer

import references
from pairmend import AdaptiveNeighbourhood, GaussianNeighbourhood, GlobalNeighbourhood


@pytest.fixture
def rows(rng):
    X = rng.rand(12, 4) * [1, 100, 1e-3, 1] + [0, 1e6, 0, 0]
    X[:, 3] = 5.0  # a constant feature is ignored
    return X


@pytest.fixture
def X_new(rng, rows):
    return np.vstack([rows[:2], rng.rand(3, 4) * [2, 300, 1e-3, 9] + [-1, 1e6, 0, 0]])


def test_range_scaling_equals_the_loop(rows, X_new):
    expected = references.gaussian_weights(
        references.scale_by_range(rows, X_new), references.scale_by_range(rows, rows), 2.0
    )
    weights = GaussianNeighbourhood(beta=2.0).fit(rows).weights(X_new)
    np.testing.assert_allclose(weights, expected, atol=1e-10)
    expected = references.adaptive_weights(
        references.scale_by_range(rows, X_new), references.scale_by_range(rows, rows), 3
    )
    weights = AdaptiveNeighbourhood(k=3).fit(rows).weights(X_new)
    np.testing.assert_allclose(weights, expected, atol=1e-10)


def test_standard_scaling_divides_by_the_deviation(rows, X_new):
    deviation = np.where(rows.std(axis=0) > 0, rows.std(axis=0), np.inf)
    expected = references.gaussian_weights(X_new / deviation, rows / deviation, 1.0)
    weights = GaussianNeighbourhood(scale="standard").fit(rows).weights(X_new)
    np.testing.assert_allclose(weights, expected, atol=1e-10)


def test_no_scaling(rng):
    rows, X_new = rng.rand(9, 2), rng.rand(4, 2)
    weights = GaussianNeighbourhood(scale=None).fit(rows).weights(X_new)
    np.testing.assert_allclose(weights, references.gaussian_weights(X_new, rows, 1.0), atol=1e-12)


@pytest.mark.parametrize("scale", ["range", "standard", None])
@pytest.mark.parametrize("kind", [GaussianNeighbourhood, AdaptiveNeighbourhood])
def test_sparse_equals_dense_and_stays_sparse(rng, kind, scale):
    X = rng.rand(30, 8) * (rng.rand(30, 8) < 0.1)
    X[4, 2] = X[5, 2] = np.nan
    X_new = rng.rand(6, 8) * (rng.rand(6, 8) < 0.4)
    X_new[0, 2] = np.nan
    dense = kind(scale=scale).fit(X)
    csr = kind(scale=scale).fit(sparse.csr_array(X))
    assert sparse.issparse(csr.points_)
    np.testing.assert_allclose(
        csr.weights(sparse.csr_array(X_new)), dense.weights(X_new), atol=1e-12
    )


def test_a_missing_value_is_replaced_by_the_mean(rng):
    X = rng.rand(10, 3)
    X[0, 1] = np.nan
    filled = X.copy()
    filled[0, 1] = np.nanmean(X[:, 1])
    x_new = np.array([[0.5, np.nan, 0.5]])
    at_mean = np.array([[0.5, np.nanmean(X[:, 1]), 0.5]])
    np.testing.assert_allclose(
        GaussianNeighbourhood().fit(X).weights(x_new),
        GaussianNeighbourhood().fit(filled).weights(at_mean),
    )


def test_a_feature_without_values_is_ignored(rng):
    X = rng.rand(6, 2)
    empty = np.column_stack([X, np.full(6, np.nan)])
    np.testing.assert_allclose(
        GaussianNeighbourhood().fit(empty).weights(empty), GaussianNeighbourhood().fit(X).weights(X)
    )


def test_categories_of_a_frame_are_equal_or_not():
    frame = pd.DataFrame({"n": [0.0, 1.0, 1.0, 0.0], "c": pd.Categorical(["u", "u", "v", None])})
    weights = (
        GaussianNeighbourhood()
        .fit(frame)
        .weights(pd.DataFrame({"n": [0.0, 0.0, 0.0], "c": pd.Categorical(["u", "new", None])}))
    )
    # Squared distances: numbers 0 or 1; categories 0 equal, 1 different, 1/2 if one is missing.
    squared = np.array([[0, 1, 2, 0.5], [1, 2, 2, 0.5], [0.5, 1.5, 1.5, 0.0]])
    expected = np.exp(-(squared - squared.min(axis=1, keepdims=True)))
    np.testing.assert_allclose(weights, expected)


@pytest.mark.parametrize("kind", [GaussianNeighbourhood, AdaptiveNeighbourhood])
def test_rows_are_transformed_first(kind):
    texts = ["sea and sun", "sun", "rain", "sea"] * 3
    by_transform = kind(transform=TfidfVectorizer()).fit(texts).weights(texts[:4])
    vectors = TfidfVectorizer().fit(texts)
    by_hand = kind().fit(vectors.transform(texts)).weights(vectors.transform(texts[:4]))
    np.testing.assert_allclose(by_transform, by_hand)


@pytest.mark.parametrize("kind", [GaussianNeighbourhood, AdaptiveNeighbourhood])
@pytest.mark.parametrize(
    "rows",
    [
        ["a text", "another"],
        np.array([["a", "b"], ["c", "d"]]),
    ],
)
def test_rows_that_are_not_numeric_are_refused(kind, rows):
    with pytest.raises(ValueError, match=rf"neighbourhood={kind.__name__}\(transform=\.\.\.\)"):
        (kind() if kind is GaussianNeighbourhood else kind(k=1)).fit(rows)


def test_numeric_dtypes_of_frames():
    frame = pd.DataFrame(
        {
            "i": [1, 2, 3],
            "b": [True, False, True],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "o": pd.Series([1.5, 2, None], dtype=object),
        }
    )
    plain = np.array([[1, 1, 1, 1.5], [2, 0, np.nan, 2], [3, 1, 3, np.nan]])
    np.testing.assert_allclose(
        GaussianNeighbourhood().fit(frame).weights(frame),
        GaussianNeighbourhood().fit(plain).weights(plain),
    )


@pytest.mark.parametrize("beta", [0.0, -1.0, "wide"])
def test_beta_must_be_positive(beta):
    with pytest.raises(ValueError, match="'beta' parameter of GaussianNeighbourhood"):
        GaussianNeighbourhood(beta=beta).fit([[0.0]])


def test_k_must_not_exceed_the_validation_rows():
    with pytest.raises(ValueError, match="k=5.*got 3. Choose a smaller k"):
        AdaptiveNeighbourhood(k=5).fit(np.eye(3))
    with pytest.raises(ValueError, match="'k' parameter"):
        AdaptiveNeighbourhood(k=0).fit(np.eye(3))


def test_global_weights_are_ones():
    neighbourhood = GlobalNeighbourhood().fit(["any", "thing"])
    assert neighbourhood.weights(["at all"]).tolist() == [[1, 1]]


def test_clone_keeps_parameters():
    transform = FunctionTransformer()
    neighbourhood = clone(GaussianNeighbourhood(3.0, scale=None, transform=transform))
    assert neighbourhood.get_params(deep=False)["beta"] == 3.0
    assert neighbourhood.transform is not transform


@pytest.mark.parametrize("kind", [GaussianNeighbourhood, AdaptiveNeighbourhood])
def test_dense_and_sparse_rows_have_the_same_coordinates(rng, kind):
    X, X_new = rng.rand(30, 4) + 5, rng.rand(3, 4) + 5
    expected = kind().fit(X).weights(X_new)
    np.testing.assert_allclose(kind().fit(X).weights(sparse.csr_array(X_new)), expected)
    np.testing.assert_allclose(kind().fit(sparse.csr_array(X)).weights(X_new), expected, rtol=1e-6)


def test_rows_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="X has 1 features, but GaussianNeighbourhood"):
        GaussianNeighbourhood().fit(np.eye(2)).weights([[1.0]])
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v"]), "n": [0.0, 1.0]})
    fitted = GaussianNeighbourhood().fit(frame)
    for other in (np.eye(2), frame[["c"]]):
        with pytest.raises(ValueError, match="pass X as a DataFrame with the same 2 columns|match"):
            fitted.weights(other)


def test_single_precision_keeps_far_neighbours(rng):
    X = rng.rand(50, 5).astype(np.float32)
    single = GaussianNeighbourhood(500.0).fit(X).weights(X)
    np.testing.assert_allclose(single, GaussianNeighbourhood(500.0).fit(X.astype(float)).weights(X))
    assert 0 < single[0].min() < np.finfo(np.float32).tiny


def test_equal_rows_with_many_features_have_the_distance_zero(rng):
    X = rng.rand(6, 10_000)
    X[1] = X[0]
    assert AdaptiveNeighbourhood(k=2).fit(X).weights(X[:1])[0, :2].tolist() == [1, 1]
