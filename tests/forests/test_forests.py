"""MultiLabelForest against slow references: trees of scikit-learn, row by row."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from pairmend._utils.computing import has_numba
from pairmend._utils.weights import relative_weights
from pairmend.forests import estimator, trees
from pairmend.forests.estimator import MultiLabelForest
from pairmend.forests.trees import StackedTrees


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
    seeds = np.random.RandomState(forest.random_state).randint(2**31 - 1, size=forest.n_estimators)
    leaves_of, tables, sums, n_trees = [], [], np.zeros(Y.shape), np.zeros(len(Y))
    for seed in seeds:
        rng = np.random.RandomState(seed)
        if forest.max_samples < len(Y):  # heavy rows are drawn more often
            up_to = np.cumsum(weights)
            draws = rng.random_sample(forest.max_samples) * up_to[-1]
            sample = np.array([np.flatnonzero(up_to > draw)[0] for draw in draws])
            grown_with = np.ones(len(Y))
        else:
            sample = rng.randint(len(Y), size=len(Y))
            grown_with = weights
        counts = np.bincount(sample, minlength=len(Y))
        tree = DecisionTreeRegressor(
            max_features="sqrt",
            min_samples_leaf=forest.min_samples_leaf,
            random_state=rng.randint(2**31 - 1),
        ).fit(encoded, Y, counts * grown_with)
        at = tree.apply(encoded)
        table = {}
        for leaf in set(at[counts > 0].tolist()):
            rows = np.flatnonzero((at == leaf) & (counts > 0))
            table[leaf] = np.average(Y[rows], axis=0, weights=(counts * grown_with)[rows])
        leaves_of.append(tree.apply)
        tables.append(table)
        for row in np.flatnonzero(counts == 0):
            sums[row] += table[at[row]]
            n_trees[row] += 1

    def predict(new):
        rows = new.astype(np.float32)
        found = [
            [table[leaf] for leaf in apply(rows)]
            for apply, table in zip(leaves_of, tables, strict=True)
        ]
        return np.mean(found, axis=0)

    with np.errstate(invalid="ignore"):
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


def test_missing_values_are_means(data):
    X, Y, weights = data
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    filled = gaps.copy()
    filled[::3, 1] = np.ma.average(np.ma.masked_invalid(gaps[:, 1]), weights=weights)
    found = MultiLabelForest(10, random_state=0).fit_out_of_bag(gaps, Y, weights)
    expected = MultiLabelForest(10, random_state=0).fit_out_of_bag(filled, Y, weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rows_in_all_samples_have_the_shares_of_labels(data):
    X, Y, weights = data
    found = MultiLabelForest(1, random_state=0).fit_out_of_bag(X, Y, weights)
    shares = np.average(Y, axis=0, weights=weights)
    in_sample = (np.abs(found - shares) < 1e-6).all(axis=1)
    assert 40 < in_sample.sum() < 75  # about 63 % of 90


def test_threads_do_not_change_the_result(data):
    X, Y, _ = data
    one = MultiLabelForest(10, random_state=0)
    two = MultiLabelForest(10, n_jobs=2, random_state=0)
    np.testing.assert_array_equal(one.fit_out_of_bag(X, Y), two.fit_out_of_bag(X, Y))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_random_sums_of_many_labels(data, monkeypatch):
    X, Y, _ = data
    many = np.repeat(Y, 6, axis=1)
    monkeypatch.setattr(estimator, "MAX_OUTPUTS", 8)
    grown = []
    original = estimator.DecisionTreeRegressor.fit
    monkeypatch.setattr(
        estimator.DecisionTreeRegressor,
        "fit",
        lambda self, X, Z, *args, **kwargs: (
            grown.append(Z),
            original(self, X, Z, *args, **kwargs),
        )[1],
    )
    forest = MultiLabelForest(30, random_state=0)
    found = forest.fit_out_of_bag(X, many)
    assert {Z.shape for Z in grown} == {(90, 8)}
    assert not np.array_equal(grown[0], grown[1])
    # Equal labels have equal frequencies in each leaf, whatever the trees separate.
    np.testing.assert_allclose(found.reshape(90, 4, 6).std(axis=2), 0, atol=1e-6)
    brier = np.mean((found - many) ** 2)
    assert brier < 0.8 * np.mean((many.mean(axis=0) - many) ** 2)


@pytest.mark.skipif(not has_numba(), reason="needs numba (extra fast)")
def test_compiled_loops_equal_numpy(data, monkeypatch):
    X, Y, _ = data
    forest = MultiLabelForest(15, random_state=0).fit(X, Y)
    monkeypatch.setattr(trees, "use_compiled", lambda _: False)
    plain = forest.predict_proba(X)
    monkeypatch.setattr(trees, "use_compiled", lambda _: True)
    np.testing.assert_array_equal(forest.predict_proba(X), plain)


def test_chunks_do_not_change_the_result(data, monkeypatch):
    X, Y, _ = data
    forest = MultiLabelForest(15, random_state=0).fit(X, Y)
    whole = forest.predict_proba(X)
    monkeypatch.setattr(
        trees, "row_chunks", lambda n, size: (slice(k, k + 7) for k in range(0, n, 7))
    )
    np.testing.assert_array_equal(forest.predict_proba(X), whole)


@pytest.mark.parametrize("value", [1e30, 1e80, -1e80])
def test_features_beyond_single_precision(value):
    X = np.array([[0.0], [0.0], [1.0], [1.0], [value]] * 4)
    Y = np.array([[0], [0], [1], [1], [1]] * 4)
    forest = MultiLabelForest(10, random_state=0).fit(X, Y)
    assert np.isfinite(forest.predict_proba(X)).all()


def test_size_is_a_few_bytes_per_leaf_and_label(data):
    X, _, _ = data
    Y = np.random.RandomState(0).uniform(size=(90, 400)) < 0.01
    stacked = MultiLabelForest(10, random_state=0).fit(X, Y).trees_
    n_bytes = sum(
        getattr(stacked, name).nbytes for name in ("feature", "threshold", "left", "right", "leaf")
    )
    n_bytes += stacked.leaf_proba.data.nbytes + stacked.leaf_proba.indices.nbytes
    assert n_bytes < 20 * len(stacked.feature) + 8 * stacked.leaf_proba.nnz + 1
    assert stacked.leaf_proba.nnz < 0.1 * np.prod(stacked.leaf_proba.shape)


def changed(stacked, **changes):
    values = {**stacked.__getstate__(), **changes}
    return StackedTrees(**values)


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: {"left": np.where(s.left >= 0, 0, -1).astype(np.int32)},
        lambda s: {"right": np.where(s.right >= 0, len(s.right), -1).astype(np.int32)},
        lambda s: {"feature": s.feature + np.int32(99)},
        lambda s: {"feature": s.feature - np.int32(1)},
        lambda s: {"roots": s.roots - np.int32(1)},
        lambda s: {"leaf": np.where(s.leaf >= 0, s.leaf + 10**6, -1).astype(np.int32)},
        lambda s: {"used": s.used + 5},
        lambda s: {"threshold": s.threshold[:-1]},
        lambda s: {"left": s.left.astype(np.int64)},
        lambda s: {"leaf_proba": with_indices(s.leaf_proba, 4)},
        lambda s: {"leaf_proba": with_indptr(s.leaf_proba)},
    ],
)
def test_damaged_trees_are_refused(data, damage):
    X, Y, _ = data
    stacked = MultiLabelForest(5, random_state=0).fit(X, Y).trees_
    with pytest.raises(ValueError, match="The model is damaged: fit the classifier again"):
        changed(stacked, **damage(stacked)).predict_proba(X)


def with_indices(table, step):
    damaged = table.copy()
    damaged.indices = damaged.indices + np.int32(step)
    return damaged


def with_indptr(table):
    damaged = table.copy()
    damaged.indptr = damaged.indptr.copy()
    damaged.indptr[1] = len(damaged.data) + 5
    return damaged


def test_another_number_of_features_is_refused(data):
    X, Y, _ = data
    stacked = MultiLabelForest(5, random_state=0).fit(X, Y).trees_
    with pytest.raises(ValueError, match="X has 4 features, but the forest expects 5"):
        stacked.predict_proba(X[:, :4])


def with_overflow(table):
    """Return a table whose row starts leave the array and come back by an overflow."""
    n_rows, n_values = 42_951, 100_000
    starts = (np.arange(n_rows, dtype=np.int64) * n_values).astype(np.int32)
    indptr = np.r_[starts, np.int32(n_values)].astype(np.int32)
    damaged = sparse.csr_array((n_rows, table.shape[1]), dtype=np.float32)
    damaged.data = np.zeros(n_values, dtype=np.float32)
    damaged.indices, damaged.indptr = np.zeros(n_values, dtype=np.int32), indptr
    return damaged


def test_row_starts_that_overflow_are_refused(data):
    X, Y, _ = data
    stacked = MultiLabelForest(5, random_state=0).fit(X, Y).trees_
    with pytest.raises(ValueError, match="The model is damaged"):
        changed(stacked, leaf_proba=with_overflow(stacked.leaf_proba)).predict_proba(X)


@pytest.mark.parametrize("kind", ["unsorted", "duplicates", "read-only"])
def test_any_csr_matrix_is_read_and_not_changed(data, kind):
    X, Y, _ = data
    plain = sparse.csr_matrix(np.where(X > 0, X, 0))
    if kind == "duplicates":
        parts = np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2
    else:
        order = np.concatenate(
            [np.arange(a, b)[::-1] for a, b in zip(plain.indptr, plain.indptr[1:], strict=False)]
        )
        parts = plain.data[order], plain.indices[order], plain.indptr.copy()
    given = sparse.csr_matrix(parts, shape=plain.shape)
    if kind == "read-only":
        for part in (given.data, given.indices, given.indptr):
            part.flags.writeable = False
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    found = MultiLabelForest(10, random_state=0).fit_out_of_bag(given, Y)
    expected = MultiLabelForest(10, random_state=0).fit_out_of_bag(plain, Y)
    np.testing.assert_array_equal(found, expected)
    for part, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_few_heavy_rows_count_by_their_weight():
    X, Y = np.zeros((2000, 1)), np.zeros((2000, 1), dtype=int)
    Y[:5] = 1
    weights = np.where(Y[:, 0] == 1, 4000.0, 1.0)
    forest = MultiLabelForest(50, max_samples=100, random_state=0).fit(X, Y, weights)
    assert forest.predict_proba(X[:1])[0, 0] == pytest.approx(20000 / 21995, abs=0.02)


def test_features_with_a_large_offset():
    rng = np.random.RandomState(0)
    X = rng.uniform(0, 10, size=(300, 1))
    Y = ((X > 3) & (X < 6)).astype(int)
    plain = MultiLabelForest(10, random_state=0).fit(X, Y)
    shifted = MultiLabelForest(10, random_state=0).fit(X + 1.7e9, Y)
    difference = np.abs(shifted.predict_proba(X + 1.7e9) - plain.predict_proba(X))
    assert difference.mean() < 0.01


def test_memory_of_a_prediction_is_bounded(data):
    X, _, _ = data
    Y = np.random.RandomState(0).uniform(size=(90, 300)) < 0.3
    forest = MultiLabelForest(10, random_state=0).fit(X, Y)
    rows = np.tile(X, (12, 1))
    with config_context(working_memory=1):
        tracemalloc.start()
        proba = forest.predict_proba(rows)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < proba.nbytes + 4 * 2**20
