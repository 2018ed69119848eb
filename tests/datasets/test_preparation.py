from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import MultiLabelData, one_hot, subset
from pairmend.datasets.preparation import drop_features


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


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
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
    more = replace(make(layout), categories={0: ("a", "b", "c"), 1: tuple("wxyz"), 2: ("n", "y")})
    more = replace(more, X=layout(np.array([[0, 1, 0], [1, 3, 1], [2, 2, 1], [2, 1, 0.0]])))
    assert one_hot(more, values="occurring").feature_names == (
        "hue=a", "hue=b", "hue=c", "size=x", "size=y", "size=z", "bright",
    )  # fmt: skip
    with pytest.raises(ValueError, match="'declared' or 'occurring', got 'all'"):
        one_hot(make(), values="all")


def test_drop_features():
    data = drop_features(make(), ["hue"])
    assert data.feature_names == ("size", "bright")
    assert data.categories == {1: ("no", "yes")}
    np.testing.assert_array_equal(data.X, make().X[:, 1:])
    with pytest.raises(ValueError, match=r"photos has no features named 'id'"):
        drop_features(make(), ["id"])
    with pytest.raises(ValueError, match="without any feature"):
        drop_features(make(), ["hue", "size", "bright"])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_subset(layout):
    data = subset(make(layout), 3, seed=0)
    again = subset(make(layout), 0.75, seed=0)
    np.testing.assert_array_equal(data.Y, again.Y)
    assert data.Y.shape == (3, 3)
    rows = [int(np.flatnonzero((y == make().Y).all(axis=1))[0]) for y in data.Y]
    assert rows == sorted(rows)
    np.testing.assert_array_equal(dense(data.X), make().X[rows])
    seeds = {tuple(map(tuple, subset(make(), 2, seed=seed).Y)) for seed in range(20)}
    assert len(seeds) > 1
    assert subset(make(layout), np.int64(1), seed=0).Y.shape == (1, 3)
    for share in (1.04, 0.0, np.inf):
        with pytest.raises(ValueError, match="a share between 0 and 1"):
            subset(make(layout), share, seed=0)
    with pytest.raises(ValueError, match="4 rows; cannot take 9"):
        subset(make(), 9, seed=0)


def test_the_old_set_is_left_alone():
    data = make()
    before = data.X.copy()
    one_hot(data), subset(data, 2, seed=1)
    np.testing.assert_array_equal(data.X, before)
