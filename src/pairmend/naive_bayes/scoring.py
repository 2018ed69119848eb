"""Scores of rows under many classes, in all subspaces at once.

There are two implementations of the same result. For dense rows, the columns of each subspace are
gathered, and scores are a batch of matrix products. Sparse rows become one tall sparse matrix with
a row for each row and subspace, and scores are one product with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import batches
from pairmend._utils.lazy import lazy
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.kernels.rrc import fold
from pairmend.naive_bayes.design_matrix import Design, DesignMatrix
from pairmend.naive_bayes.sums import Terms

TILE = 2**16
"""Log-odds computed at once, few enough to stay in the processor's cache."""
LIMIT = 700.0
"""Log-odds beyond which the exponential overflows, or leaves its fast path."""
SMALLEST = 2.0**-115
"""Smallest mean probability that is folded, about 2e-35.

Decisions of the reference classifier have about the square of it as probability. Weights times
that are no subnormal numbers, and its square root is in the range of single precision."""


@dataclass(frozen=True)
class Scorer:
    """Terms of c classes, laid out to score rows."""

    # (n_columns + n_subspaces + 1, c): weights, constants of the subspaces, zeros
    columns: FloatArray
    base: FloatArray  # (d, c), contribution of a feature beside the columns, unless it is absent
    # (n_subspaces, width + 1), rows of `columns` of each subspace, padded with zeros
    table: IntArray

    @classmethod
    def of(cls, terms: Terms, prior: FloatArray, design: Design) -> "Scorer":
        """Combine terms with the log-priors of the classes."""
        constants = terms.base @ design.subspace_masks + prior[:, np.newaxis]
        n_columns, table = len(design.column_feature), design.weight_table
        columns = np.empty((n_columns + len(table) + 1, len(prior)))
        columns[:n_columns] = terms.weights.T
        columns[n_columns:-1] = constants.T
        columns[-1] = 0
        return cls(columns, np.ascontiguousarray(terms.base.T), table)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.columns.shape[1]

    def at(self, classes: IntArray, sign: FloatArray) -> "Scorer":
        """Return some of the classes, their scores multiplied by signs."""
        columns, base = (np.take(part, classes, axis=1) for part in (self.columns, self.base))
        columns *= sign
        base *= sign
        return Scorer(columns, base, self.table)

    @lazy
    def by_subspace(self) -> FloatArray:
        """Weights in each subspace, (n_subspaces, c, width + 1)."""
        return np.take(self.columns, self.table, axis=0).transpose(0, 2, 1)

    @lazy
    def with_absent(self) -> FloatArray:
        """All weights in one array, followed by those of absent features."""
        n_columns, n_features = len(self.columns), len(self.base)
        weights = np.empty((n_columns + n_features, self.n_classes))
        weights[:n_columns] = self.columns
        np.negative(self.base, out=weights[n_columns:])
        return weights


@dataclass(frozen=True)
class ScoredRows(ABC):
    """Rows to be scored."""

    stack: Any  # the rows, dense or CSR
    absent: Any  # CSR (n * n_subspaces, d), absent features; None if there are none
    n_subspaces: int
    table: IntArray  # (n_subspaces, width + 1), rows of a dense stack of each subspace

    @staticmethod
    def of(rows: DesignMatrix, design: Design) -> "ScoredRows":
        """Prepare rows of a design matrix."""
        n_columns, n_subspaces = len(design.column_feature), len(design.subspace_table)
        absent = rows.absent
        if absent is not None:
            absent = _tall(absent, np.arange(absent.shape[1]), design)
        n_rows = rows.blocks[0].shape[0]
        if sparse.issparse(rows.blocks[0]):
            which = np.tile(np.arange(n_subspaces), n_rows)
            constant = sparse.csr_array(
                (np.ones(len(which)), which, np.arange(len(which) + 1)),
                shape=(len(which), n_subspaces + 1),
            )
            parts = [_tall(rows.blocks[0], design.column_feature, design), constant]
            parts += [] if absent is None else [absent]
            stack = sparse.hstack(parts, format="csr")
            return _SparseRows(stack, absent, n_subspaces, design.subspace_table)
        stack = np.empty((n_columns + 1, n_rows))
        np.concatenate([block.T for block in rows.blocks], out=stack[:-1])
        stack[-1] = 1  # for the constant; padding has the weight 0
        return _DenseRows(stack, absent, n_subspaces, design.value_table)

    def tiles(self, n_classes: int) -> Iterator[slice]:
        """Cut the rows so that the scores of a tile stay in the processor's cache."""
        return batches(self.n_rows, max(8, TILE // (n_classes * self.n_subspaces)))

    @abstractmethod
    def at(self, rows: IntArray | slice) -> "ScoredRows":
        """Return some of the rows."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def scores(self, scorer: Scorer) -> FloatArray:
        """Return the scores of rows, (n_subspaces, c, n), in any memory layout."""

    def supports(self, scorer: Scorer, *, folded: bool = False) -> FloatArray:
        """Return supports (c, n) with scores as log-odds against, averaged over the subspaces.

        They may be folded, see :mod:`pairmend.kernels.rrc`.
        """
        return (folded_mean_logistic if folded else mean_logistic)(self.scores(scorer))

    def supports_of_pairs(
        self, scores: FloatArray, first: IntArray, second: IntArray, *, folded: bool = False
    ) -> FloatArray:
        """Return the mean supports (n_pairs, n) for first labels of pairs.

        Log-odds are differences of the scores, (n_subspaces, L, n), of two labels. Pairs with the
        same first label are consecutive.
        """
        mean = folded_mean_logistic if folded else mean_logistic
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        out = np.empty((len(first), scores.shape[2]))
        for low, high in zip(starts, [*starts[1:], len(first)], strict=True):
            others: Any = second[low:high]
            if others[-1] - others[0] == high - low - 1:  # a slice, without a copy
                others = slice(others[0], others[-1] + 1)
            out[low:high] = mean(scores[:, others] - scores[:, first[low], np.newaxis])
        return out

    def folded_supports_at(self, scores: FloatArray, label: IntArray, row: IntArray) -> FloatArray:
        """Return the folded mean supports (m, L) for labels at rows against all labels."""
        against = scores[:, :, row]
        against -= against[:, label, np.arange(len(label))][:, np.newaxis]
        return folded_mean_logistic(against).T


class _CopiedRows(ScoredRows):
    """Rows of which parts are copied."""

    def at(self, rows: IntArray | slice) -> ScoredRows:
        absent = None if self.absent is None else self._tall_at(self.absent, rows)
        return replace(self, stack=self._stack_at(rows), absent=absent)

    @abstractmethod
    def _stack_at(self, rows: IntArray | slice) -> Any: ...

    def _tall_at(self, tall: Any, rows: IntArray | slice) -> Any:
        n = self.n_subspaces
        if isinstance(rows, slice):
            return tall[rows.start * n : rows.stop * n]
        return tall[(rows[:, np.newaxis] * n + np.arange(n)).ravel()]

    def _wide(self, products: FloatArray) -> FloatArray:
        """Reshape a product with a tall matrix to the shape of scores."""
        shape = (-1, self.n_subspaces, products.shape[1])
        return products.reshape(shape).transpose(1, 2, 0)


class _DenseRows(_CopiedRows):
    """Rows as an array (n_columns + 1, n), a one after the columns."""

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[1])

    def scores(self, scorer: Scorer) -> FloatArray:
        scores = scorer.by_subspace @ np.take(self.stack, self.table, axis=0)
        if self.absent is not None:
            scores -= self._wide(self.absent @ scorer.base)
        return scores

    def _stack_at(self, rows: IntArray | slice) -> Any:
        return self.stack[:, rows] if isinstance(rows, slice) else self.stack.take(rows, axis=1)


class _SparseRows(_CopiedRows):
    """Rows as CSR (n * n_subspaces, columns of a scorer and absent features)."""

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[0]) // self.n_subspaces

    def scores(self, scorer: Scorer) -> FloatArray:
        columns = scorer.columns if self.absent is None else scorer.with_absent
        return self._wide(self.stack @ columns)

    def _stack_at(self, rows: IntArray | slice) -> Any:
        return self._tall_at(self.stack, rows)


def _tall(matrix: Any, features: IntArray, design: Design) -> Any:
    """Return a sparse matrix with a row for each row and subspace, restricted to the subspace."""
    n_subspaces = len(design.subspace_table)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    cell, subspace = np.nonzero(design.subspace_masks[features[matrix.indices]])
    cells = (matrix.data[cell], (row[cell] * n_subspaces + subspace, matrix.indices[cell]))
    shape = (matrix.shape[0] * n_subspaces, matrix.shape[1])
    return sparse.coo_array(cells, shape=shape).tocsr()


def mean_logistic(against: FloatArray) -> FloatArray:
    """Return the mean over the first axis of the probabilities with these log-odds against.

    Works in place, as passes over memory dominate the cost; `against` is overwritten. Small
    probabilities keep all their digits. Fastest if `against` is contiguous, or has three axes and
    is contiguous with the last one first.
    """
    np.clip(against, -LIMIT, LIMIT, out=against)
    np.exp(against, out=against)
    against += 1
    np.divide(1, against, out=against)
    if against.ndim == 3 and not against.flags.c_contiguous:
        share = np.full(len(against), 1 / len(against), dtype=against.dtype)
        return (share @ against.transpose(2, 0, 1)).T
    mean: FloatArray = np.add.reduce(against, axis=0)
    mean /= len(against)
    return mean


def folded_mean_logistic(against: FloatArray) -> FloatArray:
    """Return the same mean and its complement as one number, see :mod:`pairmend.kernels.folding`.

    The probability that is smaller in the first of n summands is averaged. Its complement is then
    at least 1 / (2 n), and keeps its digits. `against` is overwritten.
    """
    side = np.copysign(1.0, against[0])
    against *= side
    return side * fold(np.maximum(mean_logistic(against), SMALLEST))
