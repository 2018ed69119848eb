"""StackedTrees: decision trees in common arrays, with the frequencies of labels in leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import compiled, lazy, row_chunks, use_compiled
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike

NO_CHILD = -1


@dataclass(frozen=True)
class Tree:
    """One decision tree.

    Attributes
    ----------
    feature : ndarray of int, shape (n_nodes,)
        Feature that a node compares.
    threshold : ndarray of float32, shape (n_nodes,)
        Rows whose feature is at most this go to the left.
    left, right : ndarray of int, shape (n_nodes,)
        Children of a node; -1 at leaves.
    leaf : ndarray of int, shape (n_nodes,)
        Row of `leaf_proba`; -1 at inner nodes.
    leaf_proba : csr_array of shape (n_leaves, n_labels)
        Frequencies of labels in the leaves.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    leaf: IntArray
    leaf_proba: Any


@dataclass(frozen=True)
class StackedTrees:
    """Decision trees one after the other; the attributes are those of `Tree`.

    A forest of scikit-learn stores two numbers of double precision for each label and node. Leaves
    have few rows, which have few of many labels: only frequencies above 0 are stored here.

    Attributes
    ----------
    n_features : int
        Number of features of rows.
    used : ndarray of int
        Features that some node compares; `feature` holds positions in it.
    roots : ndarray of int, shape (n_trees,)
        The first node of each tree.
    """

    n_features: int
    used: IntArray
    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    leaf: IntArray
    leaf_proba: Any

    @classmethod
    def of(cls, trees: Sequence[Tree], n_features: int) -> "StackedTrees":
        """Stack trees of rows with this number of features."""
        sizes = np.array([len(tree.feature) for tree in trees])
        roots = np.cumsum(sizes) - sizes
        n_leaves = np.array([tree.leaf_proba.shape[0] for tree in trees])
        first_leaves = np.cumsum(n_leaves) - n_leaves
        leaf = _joined([tree.leaf for tree in trees], first_leaves)
        is_leaf = leaf >= 0
        feature = np.concatenate([tree.feature for tree in trees])
        used = np.unique(feature[~is_leaf])
        return cls(
            n_features,
            used,
            roots.astype(np.int32),
            np.where(is_leaf, 0, np.searchsorted(used, feature)).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            _joined([tree.left for tree in trees], roots),
            _joined([tree.right for tree in trees], roots),
            leaf,
            sparse.vstack([tree.leaf_proba for tree in trees], format="csr"),
        )

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the mean frequencies of labels over the trees, (n_rows, n_labels)."""
        n_labels = self.leaf_proba.shape[1]
        proba = np.empty((X.shape[0], n_labels))
        per_leaf = -(-self.leaf_proba.nnz // max(1, self.leaf_proba.shape[0]))
        row_size = len(self.used) + n_labels + (8 + 4 * per_leaf) * len(self.roots)
        for rows in row_chunks(len(proba), row_size):
            proba[rows] = self._sums(as_single(X[rows], self.used, self.n_features))
        proba /= len(self.roots)
        return proba

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed at first access."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _sums(self, X: FloatArray) -> FloatArray:
        """Return the sums of the frequencies of labels over the trees."""
        table = self._checked_leaf_proba
        sums = np.zeros((len(X), table.shape[1]))
        nodes = self.roots, self.feature, self.threshold, self.left, self.right, self.leaf
        leaf_proba = table.indptr, table.indices, table.data
        if use_compiled(len(X) * len(self.roots)):
            _add_leaves_compiled(X, *nodes, *leaf_proba, sums)
        else:
            add_leaves(X, *nodes, *leaf_proba, sums)
        return sums

    @lazy
    def _checked_leaf_proba(self) -> Any:
        """Frequencies of labels in leaves, after a check of all indices.

        A model file may hold anything: an index out of range would read memory outside the arrays,
        and a child before its parent would make a loop without end.
        """
        nodes = np.arange(len(self.feature))
        is_leaf = self.leaf >= 0
        inner, table = nodes[~is_leaf], self.leaf_proba
        is_valid = (
            len({len(self.threshold), len(self.left), len(self.right), len(self.leaf), len(nodes)})
            == 1
            and {self.roots.dtype, self.feature.dtype, self.left.dtype, self.right.dtype,
                 self.leaf.dtype} == {np.dtype(np.int32)}
            and _within(self.used, 0, self.n_features)
            and _within(self.roots, 0, len(nodes))
            and _within(self.feature[inner], 0, len(self.used))
            and _within(self.left[inner], inner + 1, len(nodes))
            and _within(self.right[inner], inner + 1, len(nodes))
            and _within(self.leaf[is_leaf], 0, table.shape[0])
            and table.indptr.dtype == table.indices.dtype == np.int32
            and _within(table.indices, 0, table.shape[1])
            and len(table.indptr) == table.shape[0] + 1
            and bool((table.indptr[1:] >= table.indptr[:-1]).all())  # a difference may overflow
            and table.indptr[0] == 0
            and table.indptr[-1] == len(table.data) == len(table.indices)
        )  # fmt: skip
        if not is_valid:
            raise ValueError(
                "A forest has nodes that refer to features, nodes or leaves that it does not have. "
                "The model is damaged: fit the classifier again."
            )
        return table


def as_single(X: MatrixLike, used: IntArray, n_features: int) -> FloatArray:
    """Return some features of rows as a dense array of single precision, as trees compare them."""
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the forest expects {n_features}.")
    columns: Any = X if len(used) == n_features else X[:, used]
    if sparse.issparse(columns):
        columns = columns.toarray()
    return np.ascontiguousarray(to_single(columns))


def to_single(values: FloatArray) -> FloatArray:
    """Return values in single precision, those beyond its range at its limits."""
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype(np.float32)


def add_leaves(
    X: FloatArray,
    roots: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    leaf: IntArray,
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the frequencies of labels in the leaves of each row to sums of shape (n_rows, L)."""
    n_rows, n_labels = sums.shape
    row, tree = np.divmod(np.arange(n_rows * len(roots)), len(roots))
    node = roots[tree].astype(np.int64)
    moving = np.flatnonzero(leaf[node] < 0)
    while len(moving):
        at = node[moving]
        goes_left = X[row[moving], feature[at]] <= threshold[at]
        at = np.where(goes_left, left[at], right[at])
        node[moving] = at
        moving = moving[leaf[at] < 0]
    leaves = leaf[node]
    counts = indptr[leaves + 1] - indptr[leaves]
    ends = np.cumsum(counts, dtype=np.int64)
    places = np.arange(ends[-1]) + np.repeat(indptr[leaves] - ends + counts, counts)
    cells = np.repeat(row * n_labels, counts) + indices[places]
    sums += np.bincount(cells, data[places], n_rows * n_labels).reshape(sums.shape)


@compiled
def _add_leaves_compiled(
    X: Any, roots: Any, feature: Any, threshold: Any, left: Any, right: Any, leaf: Any,
    indptr: Any, indices: Any, data: Any, sums: Any,
) -> None:  # fmt: skip
    """Do the same as `add_leaves`."""
    for i in range(len(X)):
        for root in roots:
            node = root
            while leaf[node] < 0:
                node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
            k = leaf[node]
            for place in range(indptr[k], indptr[k + 1]):
                sums[i, indices[place]] += data[place]


def _joined(parts: Sequence[IntArray], offsets: IntArray) -> IntArray:
    """Concatenate indices that are not negative, each part shifted by its offset."""
    shifted = [
        np.where(part >= 0, part + offset, NO_CHILD)
        for part, offset in zip(parts, offsets, strict=True)
    ]
    return np.concatenate(shifted).astype(np.int32)


def _within(values: IntArray, low: Any, high: int) -> bool:
    """Return whether all values are at least `low` and below `high`."""
    return bool(((values >= low) & (values < high)).all())
