"""RandomSubspaceNB against loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import references
from pairmend import PairwiseClassifier, RandomSubspaceNB


def floor(values):
    """Return a sixth of the mean gap between neighbouring distinct values."""
    distinct = np.unique(values[~np.isnan(values)])
    return np.diff(distinct).mean() / 6 if len(distinct) > 1 else 1.0


def mixed_data(rng, n=40, missing=0.0):
    """Return rows with numeric, two-valued, constant and four-valued features."""
    X = [rng.randn(n), rng.exponential(size=n) * (rng.rand(n) < 0.6), 3.0 * (rng.rand(n) < 0.4)]
    X = np.column_stack([*X, np.full(n, 2.0), rng.randint(4, size=n)])
    X[rng.rand(*X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_equal_a_loop(rng, missing, layout, weighted):
    X, y = mixed_data(rng, missing=missing), rng.randint(3, size=40)
    queries = np.vstack([mixed_data(rng, 8, missing), [[0, 0, 7, 2, 9]]])  # 7 and 9 are unknown
    weights = rng.randint(3, size=40).astype(float) if weighted else None
    clf = RandomSubspaceNB(7, 0.5, categorical=[2, 3, 4], random_state=1)
    clf.fit(layout(X), y, sample_weight=weights)
    seen = X if weights is None else X[weights > 0]
    kinds = [None, None] + [sorted(set(seen[:, f][~np.isnan(seen[:, f])])) for f in (2, 3, 4)]
    floors, n_values = [floor(column) for column in seen.T], [None, None, *map(len, kinds[2:])]
    subspaces = clf.feature_statistics_.subspaces
    expected = references.naive_bayes(X, y, queries, subspaces, kinds, floors, n_values, weights)
    np.testing.assert_allclose(clf.predict_proba(layout(queries)), expected, atol=1e-10)


FEW = np.array([[0.5, 3.0, 2.0, 0.0], [1.5, 0.0, 2.0, 1.0], [2.5, 3.0, 2.0, 2.0]])
MASK = [False, True, False, True]
FRAME = pd.DataFrame({"n": [0.0, 1.0], "text": ["u", "v"], "two": [3, 4]})
DAYS = pd.DataFrame({"n": [0.0, 1.0], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])})


@pytest.mark.parametrize(
    ("rows", "categorical", "expected"),
    [
        (FEW, "auto", [False, True, True, False]),  # at most two values
        (sparse.csr_array(FEW), "auto", [False, True, True, False]),
        (FEW, None, [False] * 4),
        (FEW, MASK, MASK),
        (FRAME, ["n"], [True, True, False]),  # texts are categories in any case
        (DAYS, None, [False] * 6),  # a date is five numbers
        (DAYS, [0, 1], [True, True]),
    ],
)
def test_which_features_are_categorical(rows, categorical, expected):
    statistics = RandomSubspaceNB(categorical=categorical).feature_statistics(rows)
    assert statistics.categorical.tolist() == expected


def test_frame_columns_of_category_dtype_are_categorical(rng):
    X, y = mixed_data(rng, missing=0.1), rng.randint(2, size=40)
    frame = pd.DataFrame(X, columns=list("abcde"))
    letters = pd.Categorical.from_codes(
        np.nan_to_num(X[:, 4], nan=-1).astype(int), categories=["w", "x", "y", "z"]
    )
    frame["e"] = letters
    from_frame = RandomSubspaceNB(subspace=0.6, random_state=0).fit(frame, y)
    from_array = RandomSubspaceNB(subspace=0.6, categorical=[2, 3, 4], random_state=0).fit(X, y)
    np.testing.assert_allclose(from_frame.predict_proba(frame), from_array.predict_proba(X))
    assert from_frame.feature_names_in_.tolist() == list("abcde")
    # At prediction, categories have another order, and one is new.
    shuffled = frame.assign(e=frame["e"].astype(object).astype("category"))
    shuffled["e"] = shuffled["e"].cat.set_categories(["new", "z", "x", "w", "y"])
    np.testing.assert_allclose(from_frame.predict_proba(shuffled), from_frame.predict_proba(frame))
    named = RandomSubspaceNB(subspace=0.6, categorical=["c", "d", "e"], random_state=0)
    texts = frame.assign(e=frame["e"].astype(object))
    np.testing.assert_allclose(
        named.fit(texts, y).predict_proba(texts), from_array.predict_proba(X)
    )


def test_declared_categories_are_smoothed_even_if_they_never_occur():
    frame = pd.DataFrame({"a": pd.Categorical(["u", "v", "u", "v"], categories=["u", "v", "w"])})
    clf = RandomSubspaceNB(1, 1.0).fit(frame, [0, 1, 1, 1])
    # "u" has 1 of 1 rows of class 0 and 1 of 3 of class 1; "v" none and 2; "w" none.
    odds = np.array([2 * (2 / 4) / (4 * (2 / 6)), 2 * (1 / 4) / (4 * (3 / 6))])
    np.testing.assert_allclose(clf.predict_proba(frame[:2])[:, 0], odds / (1 + odds))


def test_given_feature_statistics_are_used(rng):
    X, y = rng.rand(60, 6), np.arange(60) % 2
    given = {"feature_statistics": RandomSubspaceNB(random_state=0).feature_statistics(X)}
    part = RandomSubspaceNB(random_state=5).fit(X[:20], y[:20], **given).feature_statistics_
    np.testing.assert_array_equal(part.floor, [floor(column) for column in X.T])
    np.testing.assert_array_equal(part.subspaces, given["feature_statistics"].subspaces)
    with pytest.raises(ValueError, match="feature_statistics has 6 features, but X has 2"):
        RandomSubspaceNB().fit(X[:, :2], y, **given)


@pytest.mark.parametrize(
    ("subspace", "n_features", "size"),
    [(0.2, 72, 14), (0.2, 2, 1), (0.5, 5, 3), (1.0, 3, 3), (2, 9, 2)],
)
def test_size_of_subspaces(subspace, n_features, size):
    feature_statistics = RandomSubspaceNB(4, subspace).feature_statistics(
        np.arange(3.0 * n_features).reshape(3, -1)
    )
    assert feature_statistics.subspaces.shape == (4, size)
    assert all(len(set(s)) == size for s in feature_statistics.subspaces.tolist())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"categorical": ["color"]}, "does not select columns"),
        ({"subspace": 5}, "subspace=5 features, but X has 2 features"),
        ({"categorical": [2]}, r"categorical=\[2\] does not select columns"),
        ({"n_subspaces": 0}, "'n_subspaces' parameter of RandomSubspaceNB"),
        ({"subspace": 1.5}, "'subspace' parameter of RandomSubspaceNB"),
    ],
)
def test_invalid_parameters_raise(parameters, message):
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    with pytest.raises(ValueError, match=message):
        RandomSubspaceNB(**parameters).fit(X, y)
    with pytest.raises(ValueError, match=message):  # inside an ensemble
        PairwiseClassifier(RandomSubspaceNB(**parameters)).fit(X, y)


def test_feature_without_values_is_ignored(rng):
    X, y = rng.rand(20, 3), np.arange(20) % 2
    with_empty = np.column_stack([X, np.full(20, np.nan)])
    for kind in ("auto", None):
        clf = RandomSubspaceNB(1, 1.0, categorical=kind)
        expected = clf.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(clf.fit(with_empty, y).predict_proba(with_empty), expected)


def test_dates_are_numbers_unless_declared_categorical():
    as_dates = RandomSubspaceNB(1, 1.0, categorical=None).fit(DAYS, [0, 1])
    assert as_dates.mean_[:, 1].tolist() == [18262, 18263]
    by_number = RandomSubspaceNB(1, 1.0, categorical=[0, 1]).fit(DAYS, [0, 1])
    np.testing.assert_allclose(by_number.predict_proba(DAYS), [[0.8, 0.2], [0.2, 0.8]])
