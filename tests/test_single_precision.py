"""Single precision: half the memory of what is large, and next to the same results."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    PairwiseClassifier,
    RandomSubspaceNB,
)

SETTINGS = [{}, {"balance": "labels"}, {"overlap": 0.5}, {"balance": "pairs", "overlap": 1.0}]


def both(X, Y, fit_params=None, **parameters):
    clf = CorrectedPairwiseClassifier(random_state=0, **parameters)
    double = clf.fit(X, Y, **(fit_params or {}))
    single = CorrectedPairwiseClassifier(random_state=0, dtype="float32", **parameters)
    return double, single.fit(X, Y, **(fit_params or {}))


@pytest.mark.parametrize(
    "neighbourhood",
    [
        *[GaussianNeighbourhood(beta) for beta in (0.1, 10.0, 300.0, 1e4)],
        GaussianNeighbourhood(50.0, n_neighbors=9),
        AdaptiveNeighbourhood(3),
        GlobalNeighbourhood(),
    ],
    ids=str,
)
@pytest.mark.parametrize("base", [None, LogisticRegression()], ids=["nb", "logistic"])
@pytest.mark.parametrize("validation", [0.5, 3])
def test_supports_differ_by_rounding_only(small_set, neighbourhood, base, validation):
    X, Y = small_set
    double, single = both(X, Y, estimator=base, neighbourhood=neighbourhood, validation=validation)
    for setting in SETTINGS:
        expected = double._variant(setting).pair_corrected(X)
        got = single._variant(setting).pair_corrected(X)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5)
    assert (single._watched.decided.dtype, single._weights(X).dtype) == (np.float32, np.float32)


@pytest.mark.parametrize("kind", ["csr", "missing", "frame", "constant"])
def test_all_kinds_of_rows(rng, kind):
    X, Y = rng.rand(120, 4), rng.rand(120, 5) < [0.5, 0.3, 0.02, 0.0, 1.0]
    if kind == "csr":
        X = sparse.csr_array(np.where(X > 0.7, X, 0))
    elif kind == "missing":
        X[::5, 1] = np.nan
    elif kind == "constant":
        X[:] = 1
    else:
        X = pd.DataFrame(X, columns=list("abde")).assign(
            c=pd.Categorical(rng.choice(["u", "v"], 120))
        )
    weights = {"sample_weight": rng.rand(120)}
    double, single = both(X, Y, weights, neighbourhood=GaussianNeighbourhood(2000.0))
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-5)


def test_far_neighbours_are_not_lost():
    # All rows of both labels weigh less than 1e-38 around the query, far from 0 in double.
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(40) * 0.01, 0.6 + rng.rand(80) * 0.4])[:, np.newaxis]
    Y = np.zeros((120, 2), dtype=int)
    Y[40:, 0] = rng.rand(80) < 0.5
    Y[40:, 1] = 1 - Y[40:, 0]
    double, single = both(
        X, Y, estimator=LogisticRegression(), neighbourhood=GaussianNeighbourhood(400.0)
    )
    query = np.array([[0.0]])
    weights = double.neighbourhood_.weights(query)[0, double._watched.Y.any(axis=1)]
    assert 0 < weights.max() < np.finfo(np.float32).smallest_subnormal
    uncorrected = single._reference(single.pair_support(query))
    assert abs(double.pair_corrected(query) - uncorrected).max() > 0.01
    np.testing.assert_allclose(
        single.pair_corrected(query), double.pair_corrected(query), atol=1e-6
    )


def test_ties_are_ties():
    X, Y = np.zeros((30, 1)), np.eye(3, dtype=int)[np.arange(30) % 3]
    clf = PairwiseClassifier(RandomSubspaceNB(), dtype="float32", random_state=0).fit(X, Y)
    assert clf.pair_support(X).dtype == np.float32
    assert not clf.predict(X).any()
    assert not clf.set_params(voting="votes").predict(X).any()


def test_a_calibrated_ranking_differs_by_rounding_only(small_set):
    X, Y = small_set
    double, single = (
        CalibratedLabelRanking(dtype=dtype, random_state=0).fit(X, Y)
        for dtype in ("float64", "float32")
    )
    assert single.pair_support(X).dtype == np.float32
    assert (single.predict_proba(X) != double.predict_proba(X)).any()
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-6)


def test_memory_is_about_half(rng):
    X, Y = rng.rand(3000, 3), rng.rand(3000, 40) < 0.1
    peaks = []
    for dtype in ("float64", "float32"):
        clf = CorrectedPairwiseClassifier(validation=0.5, random_state=0, dtype=dtype).fit(X, Y)
        tracemalloc.start()
        clf._weights(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        peaks.append(clf._watched.decided.nbytes)
    assert peaks[2] < 0.7 * peaks[0]
    assert peaks[3] == peaks[1] / 2
