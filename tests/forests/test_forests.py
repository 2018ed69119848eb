"""MultiLabelForest and MultiLabelBoosting against slow references: trees of scikit-learn."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from pairmend._utils.training import relative_weights
from pairmend.forests.estimator import BOOSTING, MultiLabelBoosting, MultiLabelForest


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(90, 5)).astype(np.float32).astype(np.float64)
    Y = (X[:, :3] + 0.5 * rng.normal(size=(90, 3)) > 0.3).astype(int)
    return X, np.column_stack([Y, np.zeros(90, dtype=int)]), rng.uniform(0.5, 2, size=90)


def reference(forest, X, Y, weights):
    """Grow the same trees again; return out-of-bag means, and a function that predicts rows."""
    encoded = X.astype(np.float32)
    weights = relative_weights(weights).astype(np.float32).astype(np.float64)
    trees, tables, sums, n_trees = [], [], np.zeros(Y.shape), np.zeros(len(Y))
    for seed in np.random.RandomState(forest.random_state).randint(2**31 - 1, size=20):
        rng = np.random.RandomState(seed)
        if forest.max_samples < len(Y):  # heavy rows are drawn more often
            up_to = np.cumsum(weights)
            draws = rng.random_sample(forest.max_samples) * up_to[-1]
            counts = np.bincount([np.flatnonzero(up_to > draw)[0] for draw in draws], None, len(Y))
            grown_with = counts * 1.0
        else:
            counts = np.bincount(rng.randint(len(Y), size=len(Y)), minlength=len(Y))
            grown_with = counts * weights
        options = {"max_features": "sqrt", "min_samples_leaf": 2}
        tree = DecisionTreeRegressor(**options, random_state=rng.randint(2**31 - 1))
        at = tree.fit(encoded, Y, grown_with).apply(encoded)
        table = np.zeros((tree.tree_.node_count, Y.shape[1]))
        for leaf in set(at[counts > 0].tolist()):
            table[leaf] = np.average(Y[at == leaf], axis=0, weights=grown_with[at == leaf])
        trees.append(tree)
        tables.append(table)
        sums[counts == 0] += table[at[counts == 0]]
        n_trees += counts == 0

    def predict(new):
        rows = new.astype(np.float32)
        return np.mean([t[tree.apply(rows)] for t, tree in zip(tables, trees, strict=True)], axis=0)

    return sums / n_trees[:, np.newaxis], predict


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("max_samples", [40, 10_000])
def test_equals_trees_of_scikit_learn(data, form, max_samples):
    X, Y, weights = data
    forest = MultiLabelForest(20, max_samples=max_samples, random_state=3)
    found = forest.fit_out_of_bag(form(X), Y, weights)
    expected, predict = reference(forest, form(X), Y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    new = np.random.RandomState(1).normal(size=(30, 5))
    np.testing.assert_allclose(forest.predict_proba(form(new)), predict(form(new)), atol=1e-6)


def test_missing_values_rows_in_all_samples_and_threads(data):
    X, Y, weights = data
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    filled = gaps.copy()
    filled[::3, 1] = np.ma.average(np.ma.masked_invalid(gaps[:, 1]), weights=weights)
    found = MultiLabelForest(10, random_state=0).fit_out_of_bag(gaps, Y, weights)
    expected = MultiLabelForest(10, n_jobs=2, random_state=0).fit_out_of_bag(filled, Y, weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    found = MultiLabelForest(1, random_state=0).fit_out_of_bag(X, Y, weights)
    in_sample = (np.abs(found - np.average(Y, axis=0, weights=weights)) < 1e-6).all(axis=1)
    assert 40 < in_sample.sum() < 75  # about 63 % of 90


def test_many_labels(data):
    """Trees separate random sums of labels; memory of models and predictions is bounded."""
    X, Y, _ = data
    many = np.repeat(Y, 10, axis=1)
    forest = MultiLabelForest(30, random_state=0)
    found = forest.fit_out_of_bag(X, many)
    # Equal labels have equal frequencies in each leaf, whatever the trees separate.
    np.testing.assert_allclose(found.reshape(90, 4, 10).std(axis=2), 0, atol=1e-6)
    brier = np.mean((found - many) ** 2)
    assert brier < 0.8 * np.mean((many.mean(axis=0) - many) ** 2)
    table = forest.fit(
        X, np.random.RandomState(0).uniform(size=(90, 400)) < 0.01
    ).trees_.leaf_values
    assert table.nnz < 0.1 * np.prod(table.shape)
    assert table.data.nbytes + table.indices.nbytes == 8 * table.nnz
    rows = np.tile(X, (12, 1))
    with config_context(working_memory=1):
        tracemalloc.start()
        proba = forest.predict_proba(rows)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < proba.nbytes + 4 * 2**20
    np.testing.assert_array_equal(proba[:90], forest.predict_proba(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equals_boosting_of_scikit_learn(data, form):
    """Integers, of which each has a bin; scikit-learn compares with the middle between two."""
    X, Y, weights = (np.vstack([part] * 4) for part in (*data[:2], data[2][:, np.newaxis]))
    X, weights = np.round(2 * X), weights.ravel()
    model = MultiLabelBoosting(20, random_state=0).fit(form(X), Y, weights)
    new = np.round(3 * np.random.RandomState(1).normal(size=(30, 5)))
    found = model.predict_proba(form(new))
    single = relative_weights(weights).astype(np.float32)
    for label in range(3):
        boosting = HistGradientBoostingClassifier(**BOOSTING, max_iter=20, random_state=0)
        expected = boosting.fit(X, Y[:, label], single).predict_proba(new)[:, 1]
        np.testing.assert_allclose(found[:, label], expected, atol=1e-6)
    np.testing.assert_allclose(found[:, 3], 1 / (relative_weights(weights).sum() + 2), rtol=1e-6)
    np.testing.assert_array_equal(model.predict_proba(form(new)[:1]), found[:1])
    scaled = MultiLabelBoosting(20, random_state=0).fit(form(X), Y, weights * 1e3)
    np.testing.assert_array_equal(scaled.predict_proba(form(new)), found)
    gaps = np.where(X == 1, np.nan, X)
    assert np.isfinite(MultiLabelBoosting(20).fit(gaps, Y).predict_proba(gaps)).all()


@pytest.mark.parametrize("kind", [MultiLabelForest, MultiLabelBoosting])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda trees: np.minimum(trees.left, 0)),
        ("right", lambda trees: trees.right * 0),
        ("left", lambda trees: np.where(trees.left < 0, trees.left - 10**6, trees.left)),
        ("right", lambda trees: trees.right + len(trees.right)),
        ("feature", lambda trees: trees.feature - 1),
        ("feature", lambda trees: trees.feature + len(trees.used)),
        ("roots", lambda trees: trees.roots + len(trees.left)),
        ("used", lambda trees: trees.used + trees.n_features),
    ],
)
def test_damaged_trees_are_refused(data, name, change, kind):
    X, Y, _ = data
    model = kind(5, random_state=0).fit(X, Y)
    object.__setattr__(model.trees_, name, change(model.trees_))
    with pytest.raises(ValueError, match="damaged: fit the classifier again"):
        model.predict_proba(X)
