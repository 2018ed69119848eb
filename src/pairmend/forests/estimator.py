"""MultiLabelForest: a random forest of all labels in compact form, with out-of-bag predictions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed

from pairmend._utils.progress import iterate_calls
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import set_feature_attributes
from pairmend._utils.weights import all_equal, relative_weights
from pairmend.base_classifiers import DenseScaler
from pairmend.forests.trees import StackedTrees, Tree, as_single, to_single

N_TREES = 100
"""Number of trees."""
MIN_SAMPLES_LEAF = 2
"""Smallest number of rows in a leaf."""
LARGE_OFFSET = 1000.0
"""Ratio of the mean of a feature and its deviation above which the mean is subtracted."""
MAX_SAMPLES = 2500
"""Largest bootstrap sample of a tree, which bounds its size and the time to grow it."""
MAX_OUTPUTS = 32
"""Number of labels above which trees are grown for random sums of labels, anew for each tree."""


@dataclass(frozen=True)
class _TrainingRows:
    """Training rows in the forms that scikit-learn's trees read without a copy.

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

    @classmethod
    def of(cls, encoded: MatrixLike, Y: Any, weights: FloatArray) -> Self:
        """Return encoded rows in these forms."""
        if not sparse.issparse(encoded):
            X: Any = as_single(encoded, np.arange(encoded.shape[1]), encoded.shape[1])
            return cls(X, X, Y, weights)
        # Trees accept sparse matrices with sorted 32-bit indices and without duplicates only.
        rows = sparse.csr_matrix(encoded, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        if rows.nnz > np.iinfo(np.int32).max:
            raise ValueError(
                f"X has {rows.nnz:,} stored values, but the trees of scikit-learn accept at most "
                f"{np.iinfo(np.int32).max:,}. Use estimator=None, or fewer rows."
            )
        rows.data = to_single(rows.data)
        for matrix in (rows, columns := rows.tocsc()):
            matrix.sort_indices()
            matrix.indices = matrix.indices.astype(np.int32)
            matrix.indptr = matrix.indptr.astype(np.int32)
        return cls(rows, columns, Y, weights)


class MultiLabelForest(ClassifierMixin, BaseEstimator):
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
    min_samples_leaf : int, default=2
        Smallest number of rows in a leaf.
    max_samples : int, default=2500
        Largest bootstrap sample of a tree.
    n_jobs : int, default=None
        Number of threads that grow trees.
    random_state : int, RandomState or None, default=None
        Draws samples and the features that a node compares.

    Attributes
    ----------
    trees_ : StackedTrees
        The trees.
    scaler_ : DenseScaler
        Encoder of rows.
    offset_ : ndarray of shape (n_columns,) or None
        Means of features that are far from 0 compared with their deviation, 0 for others. Trees
        compare numbers in single precision. None after a fit on sparse rows.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.
    """

    takes_encoded_frames = True

    def __init__(
        self,
        n_estimators: int = N_TREES,
        *,
        min_samples_leaf: int = MIN_SAMPLES_LEAF,
        max_samples: int = MAX_SAMPLES,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
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
        weights = np.ones(n_rows)
        if sample_weight is not None:
            # Of splits with the same gain, rounding of weights would choose one: in single
            # precision, weights times a constant are the same numbers.
            weights = relative_weights(sample_weight).astype(np.float32).astype(np.float64)
        self.scaler_ = DenseScaler().fit(X, sample_weight=sample_weight)
        self.offset_ = None
        encoded = self._encode(X)
        if not sparse.issparse(encoded):
            self.offset_ = _large_offsets(encoded)
            encoded = encoded - self.offset_
        n_features = encoded.shape[1]
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_estimators
        )
        sums = np.zeros((n_rows, n_labels), dtype=np.float32)
        n_trees = np.zeros(n_rows)
        trees = []
        rows = _TrainingRows.of(encoded, Y, weights)
        calls = (
            delayed(_grow)(rows, int(seed), self.min_samples_leaf, self.max_samples)
            for seed in seeds
        )
        for tree, leaves, out_of_bag in iterate_calls(calls, n_jobs=self.n_jobs, prefer="threads"):
            sums[out_of_bag] += tree.leaf_proba[leaves[out_of_bag]].toarray()
            n_trees[out_of_bag] += 1
            trees.append(tree)
        self.trees_ = StackedTrees.of(trees, n_features)
        self.classes_ = np.arange(n_labels)
        set_feature_attributes(self, X)
        proba = sums / np.maximum(n_trees, 1)[:, np.newaxis]
        if (n_trees == 0).any():
            proba[n_trees == 0] = weights @ Y / weights.sum()
        return proba

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels, (n_samples, n_labels)."""
        return self.trees_.predict_proba(self._encode(X))

    def _encode(self, X: MatrixLike) -> MatrixLike:
        """Return rows of numbers; large offsets of features are subtracted."""
        encoded = self.scaler_.fill(X)
        return encoded if self.offset_ is None else encoded - self.offset_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _large_offsets(X: FloatArray) -> FloatArray:
    """Return the means of features of which single precision would lose many digits, else 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        is_large = np.isfinite(mean) & (np.abs(mean) > LARGE_OFFSET * deviation)
    return np.where(is_large, mean, 0.0)


def _grow(
    rows: _TrainingRows, seed: int, min_samples_leaf: int, max_samples: int
) -> tuple[Tree, IntArray, IntArray]:
    """Return the tree of a seed, the leaf of each row, and the rows not in its sample."""
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
