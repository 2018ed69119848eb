"""Neighbourhoods, thresholds and metrics on arrays of other libraries."""

import numpy as np
import pytest

from array_libraries import LIBRARIES, Library, dispatched
from pairmend import AdaptiveNeighbourhood, GaussianNeighbourhood, GlobalNeighbourhood
from pairmend.metrics import LOSSES, reliability
from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    TopLabels,
)


@pytest.fixture(scope="module")
def scored():
    rng = np.random.RandomState(0)
    Y = (rng.rand(60, 4) < 0.4).astype(int)
    return np.clip(0.6 * Y + 0.4 * rng.rand(60, 4), 0, 1), Y, 1.0 + np.arange(60) % 2


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(
    "neighbourhood",
    [
        GaussianNeighbourhood(beta=3.0),
        GaussianNeighbourhood(scale="standard"),
        GaussianNeighbourhood(scale=None),
        AdaptiveNeighbourhood(k=3),
        GlobalNeighbourhood(),
    ],
    ids=repr,
)
def test_weights_of_neighbours(neighbourhood, name, rng):
    library = Library(name)
    X, queries = rng.randn(30, 4) * [1, 5, 0.1, 0], rng.randn(7, 4) + 100
    X[:4] = X[0]  # more than k equal rows
    queries[0] = X[0]
    weights = 1.0 + np.arange(30) % 3
    weights[5] = 0
    expected = neighbourhood.fit(X, sample_weight=weights).weights(queries)
    with dispatched():
        neighbourhood.fit(library(X), sample_weight=library(weights))
        found = library.numpy(neighbourhood.weights(library(queries)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(
    "threshold",
    [
        FixedThreshold(0.4),
        CardinalityThreshold(),
        F1Thresholds("micro"),
        BatchF1Thresholds(20),
        TopLabels(),
    ],
    ids=repr,
)
def test_thresholds(threshold, name, scored):
    library, (scores, Y, weights) = Library(name), scored
    expected = threshold.fit(scores, Y, sample_weight=weights).decide(scores)
    with dispatched():
        threshold.fit(library(scores), library(Y), sample_weight=library(weights))
        found = library.numpy(threshold.decide(library(scores)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", LIBRARIES)
def test_deviations_of_tiny_features(name, rng):
    """Their squares are so small that a share of one loses digits."""
    library, X = Library(name), 1e-160 * rng.randn(30, 3)
    with dispatched():
        neighbourhood = GaussianNeighbourhood(scale="standard").fit(library(X))
        found = library.numpy(neighbourhood.scale_)
    expected = GaussianNeighbourhood(scale="standard").fit(X).scale_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
def test_metrics(name, scored):
    library, (scores, Y, _) = Library(name), scored
    predicted = (scores > 0.7).astype(int)
    with dispatched():
        for loss in LOSSES.values():
            assert loss(library(Y), library(predicted)) == pytest.approx(loss(Y, predicted))
        found = reliability(library(Y), library(scores))
    assert found.error == pytest.approx(reliability(Y, scores).error)
