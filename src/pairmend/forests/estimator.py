"""MultiLabelForest and MultiLabelBoosting: decision trees of all labels in compact form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed

from pairmend._utils.arrays import as_numpy, set_feature_attributes
from pairmend._utils.classifiers import smoothed_share
from pairmend._utils.computing import budget, row_chunks
from pairmend._utils.progress import iterate_calls
from pairmend._utils.sklearn_private import boosted_nodes
from pairmend._utils.training import all_equal, relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.base_classifiers import DenseScaler, LabelsClassifier

MIN_SAMPLES_LEAF = 2
"""Smallest number of rows in a leaf of a forest."""
MAX_SAMPLES = 2500
"""Largest bootstrap sample of a tree, which bounds its size and the time to grow it."""
MAX_BYTES = 2**27
"""Largest size of the arrays of a chunk of rows: those of larger ones leave the caches."""
BOOSTING = {
    "learning_rate": 0.2, "max_leaf_nodes": 16, "max_features": 0.5, "l2_regularization": 10.0,
    "early_stopping": False,
}  # fmt: skip
"""Trees are smaller, and penalized more, than those that scikit-learn grows by default."""
MAX_BOOSTED_CELLS = 2**24
"""Largest number of cells of rows on which trees are boosted; of more rows, some are drawn."""
N_BINS = 255
"""Largest number of bins of a feature, between which boosted trees separate rows."""
MAX_OUTPUTS = 32
"""Number of labels above which trees are grown for random sums of labels, anew for each tree."""


@dataclass(frozen=True)
class Trees:
    """Decision trees in common arrays, one after the other.

    A forest of scikit-learn stores two numbers of double precision for each label and node. Leaves
    have few rows, which have few of many labels: only frequencies above 0 are stored here. Trees
    that are boosted have one label each.

    Attributes
    ----------
    n_features : int
        Number of features of rows.
    used : ndarray of int
        Features that some node compares.
    roots : ndarray of int, shape (n_trees,)
        The first node of each tree.
    feature : ndarray of int, shape (n_nodes,)
        Position in `used` of the feature that a node compares.
    threshold : ndarray of float32, shape (n_nodes,)
        Rows whose feature is at most this go to the left.
    left, right : ndarray of int, shape (n_nodes,)
        Children of a node. `left` of a leaf is -1 minus its row of `leaf_values`.
    leaf_values : csr_array of shape (n_leaves, n_labels)
        What the leaves add for labels: their frequencies, or log-odds.
    """

    n_features: int
    used: IntArray
    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    leaf_values: Any

    @classmethod
    def of(cls, trees: Sequence[Any], tables: Sequence[Any], n_features: int) -> "Trees":
        """Join the children on both sides, the features and the thresholds of trees, and tables."""
        left, right, feature, threshold = (
            np.concatenate(parts) for parts in zip(*trees, strict=True)
        )
        sizes = [len(tree[0]) for tree in trees]
        roots = np.cumsum(sizes) - sizes
        first = np.repeat(roots, sizes)
        is_leaf = left < 0
        used = np.unique(feature[~is_leaf])
        return cls(
            n_features,
            used,
            roots.astype(np.int32),
            np.where(is_leaf, 0, np.searchsorted(used, feature)).astype(np.int32),
            _rounded_down(threshold),
            np.where(is_leaf, -np.cumsum(is_leaf, dtype=np.int64), left + first).astype(np.int32),
            np.where(is_leaf, -1, right + first).astype(np.int32),
            sparse.vstack(tables, format="csr"),
        )

    def sums(self, X: MatrixLike, used: BoolArray | None = None) -> FloatArray:
        """Return the sums of the leaf values over the trees, (n_rows, n_labels).

        `used`, (n_rows, n_trees), is whether a tree is evaluated on a row; None means everywhere.
        """
        self._check(X)
        n_leaves, n_labels = self.leaf_values.shape
        leaf_values = self.leaf_values.astype(np.float64)
        children = np.concatenate([self.right, self.left])
        sums = np.empty((X.shape[0], n_labels))
        n_trees, per_leaf = len(self.roots), -(-leaf_values.nnz // max(1, n_leaves))
        row_size = len(self.used) + 3 * n_labels + (8 + 4 * per_leaf) * n_trees
        for rows in row_chunks(len(sums), row_size, min(budget(), MAX_BYTES)):
            leaves = self._leaves(as_single(X[rows], self.used), children)
            starts = np.arange(0, len(leaves) + 1, n_trees)
            shape = (len(starts) - 1, n_leaves)
            factors = np.ones(len(leaves)) if used is None else used[rows].ravel().astype(float)
            reached = sparse.csr_array((factors, leaves, starts), shape=shape)
            sums[rows] = (reached @ leaf_values).toarray()
        return sums

    def _leaves(self, X: FloatArray, children: IntArray) -> IntArray:
        """Return the leaf of each row in each tree, row by row."""
        n_rows, n_used = X.shape
        cells = X.ravel()
        node = np.tile(self.roots, n_rows)
        moving = np.flatnonzero(self.left.take(node) >= 0)
        at, start = node[moving], moving // len(self.roots) * n_used
        while len(moving):
            goes_left = cells.take(start + self.feature.take(at)) <= self.threshold.take(at)
            at = children.take(goes_left * len(self.left) + at)
            is_inner = self.left.take(at) >= 0
            node[moving[~is_inner]] = at[~is_inner]
            moving, at, start = moving[is_inner], at[is_inner], start[is_inner]
        return -1 - self.left.take(node)

    def _check(self, X: MatrixLike) -> None:
        """Check the number of features, and what a damaged model file may hold.

        A leaf out of range would be read outside of the table, and a child before its parent would
        make a loop without end.
        """
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the trees expect {self.n_features}."
            )
        inner, n_nodes = np.flatnonzero(self.left >= 0), len(self.left)
        children = np.minimum(self.left[inner], self.right[inner])
        is_damaged = (children <= inner).any() or -self.left.min() > self.leaf_values.shape[0]
        for indices, size in (
            (self.roots, n_nodes), (self.left[inner], n_nodes), (self.right[inner], n_nodes),
            (self.used, self.n_features), (self.feature[inner], len(self.used)),
        ):  # fmt: skip
            is_damaged |= bool(((indices < 0) | (indices >= size)).any())
        if is_damaged:
            raise ValueError(
                "A tree refers to nodes, leaves or features that it does not have. The model "
                "is damaged: fit the classifier again."
            )


def as_single(X: MatrixLike, used: IntArray) -> FloatArray:
    """Return some features of rows as a dense array of single precision, as trees compare them."""
    columns: Any = X if len(used) == X.shape[1] else X[:, used]
    if sparse.issparse(columns):
        columns = columns.toarray()
    return np.ascontiguousarray(to_single(columns))


def to_single(values: FloatArray) -> FloatArray:
    """Return values in single precision, those beyond its range at its limits."""
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype(np.float32)


def _rounded_down(threshold: FloatArray) -> FloatArray:
    """Return the largest single-precision numbers that are not above; comparisons stay the same."""
    single = threshold.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > threshold, below, single)


class TreeClassifier(LabelsClassifier):
    """Base class of classifiers that are trees of single precision.

    They predict with numpy, arrays of other libraries, too.

    Attributes
    ----------
    trees_ : Trees
        The trees.
    scaler_ : DenseScaler
        Encoder of rows.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.
    """

    def _fit_encoder(self, X: MatrixLike, sample_weight: FloatArray | None) -> MatrixLike:
        """Fit the encoder of rows, and return them encoded."""
        self.scaler_ = DenseScaler(standardize=False).fit(X, sample_weight=sample_weight)
        return self._encode(X)

    def _encode(self, X: MatrixLike) -> MatrixLike:
        """Return rows of numbers."""
        return self.scaler_.transform(as_numpy(X))

    def tree_weights(self, n_rows: int, sample_weight: FloatArray | None) -> FloatArray:
        """Return weights of rows.

        Of splits with the same gain, rounding of weights would choose one: in single precision,
        weights times a constant are the same numbers.
        """
        if sample_weight is None:
            return np.ones(n_rows)
        return relative_weights(sample_weight).astype(np.float32).astype(np.float64)

    def set_trees(
        self, trees: Sequence[Any], tables: Sequence[Any], X: MatrixLike, n_columns: int
    ) -> Self:
        """Set trees with the values of their leaves, see `Trees.of`; X has the features."""
        self.trees_ = Trees.of(trees, tables, n_columns)
        self.classes_ = np.arange(tables[0].shape[1])
        set_feature_attributes(self, X)
        return self


class MultiLabelForest(TreeClassifier):
    """Random forest of label indicators.

    It differs from scikit-learn's :class:`~sklearn.ensemble.RandomForestClassifier` in its size: a
    few bytes for each leaf and each label in it, so that it can be used with hundreds of labels. It
    also differs in its cost with many labels (trees are grown for random sums of more than 32
    labels) and with many rows (bootstrap samples are bounded). Frames are encoded as
    for :class:`~pairmend.base_classifiers.ScaledLogisticRegression`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : int, default=2500
        Largest bootstrap sample of a tree.
    n_jobs : int, default=None
        Number of threads that grow trees.
    random_state : int, RandomState or None, default=None
        Draws samples and the features that a node compares.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_samples: int = MAX_SAMPLES,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: Any, sample_weight: FloatArray | None = None) -> Self:
        """Grow the trees on label indicators of shape (n_samples, n_labels)."""
        self.fit_out_of_bag(X, y, sample_weight)
        return self

    def fit_out_of_bag(
        self, X: MatrixLike, y: Any, sample_weight: FloatArray | None = None
    ) -> FloatArray:
        """Grow the trees, and return the mean of those that were not grown on a row.

        The few rows that are in the samples of all trees have the shares of labels in all rows.
        """
        Y = sparse.csr_array(y, dtype=np.float64)
        n_rows, n_labels = Y.shape
        weights = self.tree_weights(n_rows, sample_weight)
        encoded = self._fit_encoder(X, sample_weight)
        rows = as_trees_read(encoded)
        sums = np.zeros((n_rows, n_labels), dtype=np.float32)
        n_trees = np.zeros(n_rows)
        trees, tables = [], []
        given = rows, Y, weights, self.max_samples
        calls = (delayed(_grow_and_apply)(*given, seed) for seed in self.tree_seeds())
        grown = iterate_calls(calls, n_jobs=self.n_jobs, prefer="threads")
        for tree, table, leaves, out_of_bag in grown:
            sums[out_of_bag] += table[leaves[out_of_bag]].toarray()
            n_trees[out_of_bag] += 1
            trees.append(tree)
            tables.append(table)
        self.set_trees(trees, tables, X, encoded.shape[1])
        return mean_of_trees(sums, n_trees, weights @ Y / weights.sum())

    def tree_seeds(self) -> list[int]:
        """Return the seed of each tree."""
        rng, largest = check_random_state(self.random_state), np.iinfo(np.int32).max
        return [int(seed) for seed in rng.randint(largest, size=self.n_estimators)]

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_samples, n_labels)."""
        return self.trees_.sums(self._encode(X)) / len(self.trees_.roots)


class MultiLabelBoosting(TreeClassifier):
    """Gradient boosting of each label by histograms of the features.

    The trees are those of scikit-learn's
    :class:`~sklearn.ensemble.HistGradientBoostingClassifier`, kept in the form of a forest's. A
    label with one class only has its smoothed share. NaN becomes the mean of the feature.

    Parameters
    ----------
    n_iter : int, default=100
        Number of trees of a label.
    random_state : int, RandomState or None, default=None
        Draws the features that a node compares.
    """

    def __init__(
        self, n_iter: int = 100, *, random_state: int | np.random.RandomState | None = None
    ):
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: Any, sample_weight: FloatArray | None = None) -> Self:
        """Grow the trees on label indicators of shape (n_samples, n_labels)."""
        Y = y.toarray() if sparse.issparse(y) else np.asarray(y)
        weights = self.tree_weights(len(Y), sample_weight)
        encoded = self._fit_encoder(X, sample_weight)
        rows = self.draw(*encoded.shape)
        self.set_trees(*self.boost(encoded[rows], Y[rows], weights[rows]), X, encoded.shape[1])
        return self

    def draw(self, n_rows: int, n_columns: int) -> IntArray:
        """Return the rows to train on: all, or as many as have MAX_BOOSTED_CELLS."""
        most = max(1, MAX_BOOSTED_CELLS // n_columns)
        if n_rows <= most:
            return np.arange(n_rows)
        return np.sort(check_random_state(self.random_state).permutation(n_rows)[:most])

    def boost(self, encoded: Any, Y: Any, weights: FloatArray) -> tuple[list[Any], list[Any]]:
        """Return trees for encoded rows, and the values of their leaves."""
        codes, limits = _in_bins(as_single(encoded, np.arange(encoded.shape[1])))
        params = {**BOOSTING, "max_iter": self.n_iter, "random_state": self.random_state}
        trees, tables = [], []
        for label, share in enumerate(smoothed_share(Y, weights)):
            nodes: list[Any] = []
            start = logit(share)
            if 0 < Y[:, label].sum() < len(Y):
                boosted = HistGradientBoostingClassifier(**params)
                nodes, start = boosted_nodes(boosted.fit(codes, Y[:, label], weights))
            # The first tree is a leaf.
            trees += [(np.array([-1]), np.array([-1]), np.zeros(1, dtype=int), np.zeros(1))]
            tables += [_of_label(np.array([start]), label, Y.shape[1])]
            for own in nodes:
                is_leaf = own["is_leaf"] == 1
                left, right = (
                    np.where(is_leaf, -1, own[to].astype(int)) for to in ("left", "right")
                )
                feature = own["feature_idx"].astype(int)
                threshold = limits[feature, own["num_threshold"].astype(int)]
                trees += [(left, right, feature, threshold)]
                tables += [_of_label(own["value"][is_leaf], label, Y.shape[1])]
        return trees, tables

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_samples, n_labels)."""
        return np.asarray(expit(self.trees_.sums(self._encode(X))))


def _in_bins(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of bins with about as many rows each, and the upper limits of the bins.

    For each label anew, scikit-learn would take seconds to find them if rows have weights.
    """
    codes: FloatArray = np.empty(X.shape)
    limits: FloatArray = np.zeros((X.shape[1], N_BINS))
    shares = np.arange(1, N_BINS) / N_BINS
    for feature, column in enumerate(X.T):
        found = np.unique(np.quantile(column, shares, method="inverted_cdf"))
        limits[feature, : len(found)] = found
        codes[:, feature] = np.searchsorted(found, column)
    return codes, limits


def _of_label(values: FloatArray, label: int, n_labels: int) -> Any:
    """Return the table of the values of a tree's leaves for one label."""
    cells = values.astype(np.float32), np.full(len(values), label), np.arange(len(values) + 1)
    return sparse.csr_array(cells, shape=(len(values), n_labels))


def mean_of_trees(sums: FloatArray, n_trees: Any, otherwise: FloatArray) -> FloatArray:
    """Return the sums over trees by their numbers, of rows without trees other probabilities."""
    proba = sums / np.maximum(n_trees, 1)[:, np.newaxis]
    proba[n_trees == 0] = otherwise
    return np.asarray(proba)


def as_trees_read(encoded: MatrixLike) -> Any:
    """Return rows as trees of scikit-learn read them without a copy."""
    if not sparse.issparse(encoded):
        return as_single(encoded, np.arange(encoded.shape[1]))
    # Trees accept sparse matrices with sorted 32-bit indices and without duplicates only.
    rows = sparse.csr_matrix(encoded, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return sparse.csr_matrix((to_single(rows.data), rows.indices, rows.indptr), rows.shape)


def draw_sample(
    seed: int, row_weights: FloatArray, max_samples: int
) -> tuple[IntArray, FloatArray, np.random.RandomState]:
    """Draw the bootstrap sample of a tree: rows in ascending order, weights, random numbers.

    A weight is that of the row times the number of times that it was drawn.
    """
    rng, n_rows = np.random.RandomState(seed), len(row_weights)
    if n_rows > max_samples and not all_equal(row_weights):
        # Few heavy rows would be missing from most samples: they are drawn more often instead.
        up_to = np.cumsum(row_weights)
        drawn = np.searchsorted(up_to, rng.random_sample(max_samples) * up_to[-1], side="right")
        row_weights = np.ones(n_rows)
    else:
        drawn = rng.randint(n_rows, size=min(n_rows, max_samples))
    rows, counts = np.unique(drawn, return_counts=True)
    return rows, counts * row_weights[rows], rng


def grow(
    X: Any, Y: Any, weights: FloatArray, rng: np.random.RandomState
) -> tuple[tuple[Any, ...], Any, Any]:
    """Grow the tree of a sample of rows.

    Returned are its children on the left and on the right, features and thresholds, the frequencies
    in its leaves, and a function that returns the leaves of rows.
    """
    options = {"max_features": "sqrt", "min_samples_leaf": MIN_SAMPLES_LEAF}
    seed = rng.randint(np.iinfo(np.int32).max)
    columns = X.tocsc() if sparse.issparse(X) else X
    grown = DecisionTreeRegressor(**options, random_state=seed)
    grown.fit(columns, _outputs(Y, rng), weights, check_input=False)
    tree = grown.tree_
    is_leaf = tree.children_left < 0
    number = np.cumsum(is_leaf) - 1

    def leaves_of(rows: Any) -> IntArray:
        return np.asarray(number[tree.apply(rows)])

    frequencies = _frequencies(leaves_of(X), weights, Y, is_leaf.sum())
    # Copies, without which the tree would stay in memory with all of its values.
    names = "children_left", "children_right", "feature", "threshold"
    return tuple(np.array(getattr(tree, name)) for name in names), frequencies, leaves_of


def _grow_and_apply(
    X: Any, Y: Any, row_weights: FloatArray, max_samples: int, seed: int
) -> tuple[tuple[Any, ...], Any, IntArray, IntArray]:
    """Grow the tree of a seed; return also the leaf of each row, and the rows out of its sample."""
    rows, weights, rng = draw_sample(seed, row_weights, max_samples)
    nodes, frequencies, leaves_of = grow(X[rows], Y[rows], weights, rng)
    out_of_bag = np.setdiff1d(np.arange(len(row_weights)), rows, assume_unique=True)
    return nodes, frequencies, leaves_of(X), out_of_bag


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
    shares = weights / np.bincount(leaves, weights, n_leaves)[leaves]
    # With 32-bit indices the table has them, too, and is smaller.
    cells = shares, (leaves.astype(np.int32), np.arange(len(leaves), dtype=np.int32))
    table = sparse.csr_array(cells, shape=(n_leaves, len(leaves))) @ Y
    return table.astype(np.float32)
