"""MultiLabelData, and what is done with it: one-hot encoding, selection, description."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from pairmend.datasets import MultiLabelData, characteristics, describe, one_hot
from pairmend.datasets.data import drop_features, subset

pytest.importorskip("pandas")


def make(layout=np.asarray):
    return MultiLabelData(
        X=layout(np.array([[0, 1.5, 0], [2, np.nan, 1], [np.nan, 2.5, 1], [2, 3.5, 0.0]])),
        Y=np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]]),
        feature_names=("hue", "size", "bright"),
        label_names=("sea", "sun", "moon"),
        categories={0: ("red", "green", "blue"), 2: ("no", "yes")},
        name="photos",
        source=(Path("photos.arff"),),
    )


def unnamed(X, Y):
    return MultiLabelData(X, np.asarray(Y), (), (), {}, "photos", ())


both = pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@both
def test_one_hot(layout):
    data = one_hot(make(layout))
    assert sparse.issparse(data.X) == (layout is sparse.csr_array)
    assert data.feature_names == ("hue=red", "hue=green", "hue=blue", "size", "bright")
    expected = [[1, 0, 0, 1.5, 0], [0, 0, 1, np.nan, 1], [0, 0, 0, 2.5, 1], [0, 0, 1, 3.5, 0]]
    np.testing.assert_array_equal(dense(data.X), expected)
    assert data.categories == {}
    occurring = one_hot(make(layout), values="occurring")
    # Of three declared values two occur: one column, 1 for the second of them.
    assert occurring.feature_names == ("hue", "size", "bright")
    hue = [[0], [1], [np.nan], [1]]
    np.testing.assert_array_equal(dense(occurring.X), np.hstack([hue, make().X[:, 1:]]))
    with pytest.raises(ValueError, match="'declared' or 'occurring', got 'all'"):
        one_hot(make(), values="all")


@both
def test_selection(layout):
    data = drop_features(make(layout), ["hue"])
    assert data.feature_names == ("size", "bright")
    assert data.categories == {1: ("no", "yes")}
    np.testing.assert_array_equal(dense(data.X), make().X[:, 1:])
    with pytest.raises(ValueError, match=r"photos.arff has no columns named 'id'"):
        drop_features(make(), ["id"])
    with pytest.raises(ValueError, match="without any feature"):
        drop_features(make(), ["hue", "size", "bright"])
    data = subset(make(layout), 3, seed=0)
    rows = [int(np.flatnonzero((y == make().Y).all(axis=1))[0]) for y in data.Y]
    assert rows == sorted(rows)
    np.testing.assert_array_equal(dense(data.X), make().X[rows])
    assert len({str(subset(make(), 2, seed=seed).Y) for seed in range(20)}) > 1
    with pytest.raises(ValueError, match="4 rows; cannot take 9"):
        subset(make(), 9, seed=0)


# Characteristics and descriptions

shapes = st.tuples(st.integers(1, 12), st.integers(1, 10))
label_matrices = arrays(np.int64, shapes, elements=st.integers(0, 1)).map(np.ndarray.tolist)


def slow_imbalance(Y):
    counts = [sum(row[label] for row in Y) for label in range(len(Y[0]))]
    return [max(counts) / count if count else 0.0 for count in counts]


def slow_row_concurrence(Y):
    imbalance = slow_imbalance(Y)
    own = [[r for r, present in zip(imbalance, row, strict=True) if present] for row in Y]
    return [
        1 - math.prod(ratios) ** (1 / len(ratios)) / (sum(ratios) / len(ratios)) if ratios else 0.0
        for ratios in own
    ]


def slow_characteristics(X, Y):
    n, L, features = len(Y), len(Y[0]), len(X[0])
    per_row = [sum(row) for row in Y]
    imbalance = slow_imbalance(Y)
    mean = sum(imbalance) / L
    sets = {tuple(row) for row in Y}
    return {
        "N": n,
        "d": features + L,
        "L": L,
        "LC": sum(per_row) / n,
        "LD": sum(per_row) / n / L,
        "avIR": mean,
        "AVsc": sum(slow_row_concurrence(Y)) / n,
        "label_sets": len(sets),
        "TCS": math.log(features) + math.log(L) + math.log(len(sets)),
        "X_density": 1.0,
        "missing": sum(1 for row in X for cell in row if cell != cell),
    }


@given(label_matrices, st.integers(1, 4), st.integers(0, 2**31))
def test_characteristics_equal_slow_loops(Y, n_features, seed):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(len(Y), n_features))
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    found = characteristics(unnamed(X, Y))
    assert found == pytest.approx(slow_characteristics(X.tolist(), Y), abs=1e-10)
    assert json.loads(json.dumps(found)) == found


@given(label_matrices)
def test_descriptions_equal_slow_loops(Y):
    names = tuple(f"<{place}>" for place in range(len(Y[0])))
    data = replace(unnamed(np.zeros((len(Y), 1)), Y), label_names=names)
    page = describe(data)
    assert page["characteristics"]["value"].to_dict() == characteristics(data)
    assert page["labels"]["rows"].is_monotonic_decreasing
    concurrence = slow_row_concurrence(Y)
    for place, name in enumerate(names):
        own = [value for value, row in zip(concurrence, Y, strict=True) if row[place]]
        label = page["labels"].loc[name]
        assert (label["rows"], label["share"]) == (len(own), len(own) / len(Y))
        assert label["imbalance"] == pytest.approx(slow_imbalance(Y)[place])
        assert label["concurrence"] == pytest.approx(sum(own) / max(len(own), 1), abs=1e-10)
        for other, column in enumerate(names):
            both_labels = sum(row[place] and row[other] for row in Y)
            assert page["co_occurrence"].loc[name, column] == both_labels
    per_row = Counter(map(sum, Y))
    assert page["labels_per_row"]["rows"].tolist() == [per_row[n] for n in range(max(per_row) + 1)]


def test_a_rare_label_beside_many_frequent_ones():
    """A product of the ratios themselves would overflow: 10,000 to the power of 100."""
    Y = np.zeros((10_000, 102), dtype=int)
    Y[:, 0] = 1
    Y[0, 1:101] = 1  # the last label never occurs
    expected = 1 - 10_000 ** (100 / 101) / ((100 * 10_000 + 1) / 101)
    found = characteristics(unnamed(np.ones((10_000, 1)), Y))
    assert found["AVsc"] == pytest.approx(expected / 10_000)


def test_sparse_features():
    X = np.array([[0.0, 2.0, 0.0, np.nan], [0.0, 0.0, 1.0, 0.0]])
    found = characteristics(unnamed(sparse.csr_array(X), [[1, 0], [1, 1]]))
    assert (found["X_density"], found["missing"], found["d"]) == (3 / 8, 1, 6)
    zeros = sparse.csr_array(([0.0, 1.0, 2.0], ([0, 0, 0], [0, 1, 1])), shape=(1, 4))
    assert characteristics(unnamed(zeros, [[1]]))["X_density"] == 1 / 4
    raw = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 4))
    assert characteristics(unnamed(raw, [[1]]))["X_density"] == 1 / 4
    assert raw.nnz == 2  # the input is not modified


def test_characteristics_of_edges():
    assert characteristics(unnamed(np.empty((2, 0)), [[1], [0]]))["TCS"] == -math.inf
    without_labels = characteristics(unnamed(np.ones((3, 2)), np.zeros((3, 2), dtype=int)))
    assert without_labels["avIR"] == without_labels["AVsc"] == 0
