"""grow_trees: trees of bootstrap samples, and out-of-bag predictions of the training rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.parallel import delayed

from pairmend._utils.parallel import iterate_calls
from pairmend._utils.typing import FloatArray, IntArray
from pairmend._utils.weights import all_equal
from pairmend.forests.trees import Tree

MAX_OUTPUTS = 32
"""Number of labels above which trees are grown for random sums of labels, anew for each tree."""


@dataclass(frozen=True)
class ForestRows:
    """Training rows in the forms that trees need.

    Attributes
    ----------
    X : ndarray or csr_matrix of float32, shape (n_rows, n_features)
        Rows to predict.
    columns : ndarray or csc_matrix of float32
        The same for growing; equal to `X` if it is dense.
    Y : csr_array of float, shape (n_rows, n_labels)
        Label indicators.
    weights : ndarray of shape (n_rows,)
        Weights of rows.
    """

    X: Any
    columns: Any
    Y: Any
    weights: FloatArray


def grow_trees(
    rows: ForestRows,
    seeds: IntArray,
    *,
    min_samples_leaf: int,
    max_samples: int,
    n_jobs: int | None = None,
) -> Iterator[tuple[Tree, IntArray, IntArray]]:
    """Grow a tree for each seed.

    For each tree the leaf of each row is also returned, and the rows that are not in its sample.
    """
    calls = (delayed(_grow)(rows, int(seed), min_samples_leaf, max_samples) for seed in seeds)
    return iterate_calls(calls, n_jobs=n_jobs, prefer="threads")


def _grow(
    rows: ForestRows, seed: int, min_samples_leaf: int, max_samples: int
) -> tuple[Tree, IntArray, IntArray]:
    rng = np.random.RandomState(seed)
    n_rows = len(rows.weights)
    if n_rows > max_samples and not all_equal(rows.weights):
        # Few heavy rows would be missing from most samples: they are drawn more often instead.
        up_to = np.cumsum(rows.weights)
        sample = np.searchsorted(up_to, rng.random_sample(max_samples) * up_to[-1], side="right")
        counts = np.bincount(sample, minlength=n_rows)
        weights = counts.astype(np.float64)
    else:
        sample = rng.randint(n_rows, size=min(n_rows, max_samples))
        counts = np.bincount(sample, minlength=n_rows)
        weights = counts * rows.weights
    grown = DecisionTreeRegressor(
        max_features="sqrt",
        min_samples_leaf=min_samples_leaf,
        random_state=rng.randint(np.iinfo(np.int32).max),
    )
    grown.fit(rows.columns, _outputs(rows.Y, rng), weights, check_input=False)
    nodes = grown.tree_
    in_sample = np.flatnonzero(counts)
    at = nodes.apply(rows.X)
    is_leaf = nodes.children_left < 0
    leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    leaves = leaf[at]
    tree = Tree(
        np.asarray(nodes.feature, dtype=np.int32),
        _rounded_down(np.asarray(nodes.threshold)),
        np.asarray(nodes.children_left, dtype=np.int32),
        np.asarray(nodes.children_right, dtype=np.int32),
        leaf.astype(np.int32),
        _frequencies(leaves[in_sample], weights[in_sample], rows.Y[in_sample], is_leaf.sum()),
    )
    return tree, leaves, np.flatnonzero(counts == 0)


def _outputs(Y: Any, rng: np.random.RandomState) -> FloatArray:
    """Return what a tree separates: the labels, or random sums of many of them.

    Sums with random signs keep the differences between label sets, on the average, at a cost that
    does not depend on the number of labels (Joly, Geurts and Wehenkel, 2014).
    """
    n_labels = Y.shape[1]
    if n_labels <= MAX_OUTPUTS:
        return np.ascontiguousarray(Y.toarray())
    signs = rng.randint(2, size=(n_labels, MAX_OUTPUTS)) * 2.0 - 1
    return np.ascontiguousarray(Y @ signs)


def _frequencies(leaves: IntArray, weights: FloatArray, Y: Any, n_leaves: int) -> Any:
    """Return the weighted share of rows with each label in each leaf, as a CSR matrix."""
    total = np.bincount(leaves, weights, n_leaves)
    shares = weights / total[leaves]
    rows = sparse.csr_array(
        (shares, (leaves, np.arange(len(leaves)))), shape=(n_leaves, len(leaves))
    )
    table = sparse.csr_array(rows @ Y)
    table.sum_duplicates()
    return sparse.csr_array(
        (
            table.data.astype(np.float32),
            table.indices.astype(np.int32),
            table.indptr.astype(np.int32),
        ),
        shape=table.shape,
    )


def _rounded_down(threshold: FloatArray) -> FloatArray:
    """Return the largest single-precision numbers that are not above; comparisons stay the same."""
    single = threshold.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > threshold, below, single)
