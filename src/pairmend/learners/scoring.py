"""Scores of rows under many classes, in all subspaces at once.

Two ways to the same numbers. Of dense rows, the columns of each subspace are copied out, and
scores are a batch of matrix products. Sparse rows become one tall sparse matrix, a row of it for
each row and subspace, and scores are one product with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._basis import Basis, Expanded
from pairmend._streaming import batches
from pairmend._typing import FloatArray, IntArray
from pairmend.learners.sums import Terms

TILE = 2**17
"""Log-odds that are worked on at once: few enough to stay in the processor's cache."""


@dataclass(frozen=True)
class Scorer:
    """Terms of c classes, ready to score rows.

    Attributes
    ----------
    columns : ndarray of shape (n_columns + n_subspaces + 1, c)
        Weights of a basis' columns, constants of the subspaces, and a row of zeros.
    base : ndarray of shape (d, c)
        What features add that are not left out, beside the columns.
    table : ndarray of shape (n_subspaces, width + 1)
        Rows of `columns` that belong to each subspace, filled up with that of zeros.
    """

    columns: FloatArray
    base: FloatArray
    table: IntArray

    @classmethod
    def of(cls, terms: Terms, prior: FloatArray, basis: Basis) -> "Scorer":
        """Add what comes before any feature, a number for each class."""
        constants = terms.base @ basis.subspace_masks + prior[:, np.newaxis]
        n_columns, table = len(basis.column_feature), basis.subspace_table
        columns = np.zeros((n_columns + len(table) + 1, len(prior)))
        columns[:n_columns] = terms.weights.T
        columns[n_columns:-1] = constants.T
        constant = n_columns + np.arange(len(table))
        table = np.where(table < n_columns, table, n_columns + len(table))
        return cls(columns, np.ascontiguousarray(terms.base.T), np.column_stack([table, constant]))

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

    @cached_property
    def by_subspace(self) -> FloatArray:
        """Weights in each subspace, (n_subspaces, c, width + 1)."""
        return np.take(self.columns, self.table, axis=0).transpose(0, 2, 1)

    @cached_property
    def with_absent(self) -> FloatArray:
        """All weights in one array, those of features left out among them."""
        return np.concatenate([self.columns, -self.base])


@dataclass(frozen=True)
class ScoredRows(ABC):
    """Rows to be scored.

    Attributes
    ----------
    stack : ndarray or CSR
        The rows.
    absent : CSR of shape (n * n_subspaces, d) or None
        What the rows leave out of the subspaces.
    n_subspaces : int
        Number of subspaces.
    table : ndarray of shape (n_subspaces, width + 1)
        Rows of a dense stack that belong to each subspace.
    """

    stack: Any
    absent: Any
    n_subspaces: int
    table: IntArray

    @staticmethod
    def of(rows: Expanded, basis: Basis) -> "ScoredRows":
        """Prepare rows."""
        n_columns, n_subspaces = len(basis.column_feature), len(basis.subspace_table)
        absent = rows.absent
        if absent is not None:
            absent = _tall(absent, np.arange(absent.shape[1]), basis)
        n_rows = rows.blocks[0].shape[0]
        if sparse.issparse(rows.blocks[0]):
            which = np.tile(np.arange(n_subspaces), n_rows)
            constant = sparse.csr_array(
                (np.ones(len(which)), which, np.arange(len(which) + 1)),
                shape=(len(which), n_subspaces + 1),
            )
            parts = [_tall(rows.blocks[0], basis.column_feature, basis), constant]
            parts += [] if absent is None else [absent]
            stack = sparse.hstack(parts, format="csr")
            return _SparseRows(stack, absent, n_subspaces, basis.subspace_table)
        stack = np.empty((n_columns + 1, n_rows))
        np.concatenate([block.T for block in rows.blocks], out=stack[:-1])
        stack[-1] = 1  # for the constant; what fills up a narrow subspace gets no weight
        table = np.column_stack([basis.subspace_table, np.full(n_subspaces, n_columns)])
        return _DenseRows(stack, absent, n_subspaces, table)

    def tiles(self, n_classes: int) -> Iterator[slice]:
        """Cut the rows so that the scores of a tile stay in the processor's cache."""
        return batches(self.n_rows, max(8, TILE // (n_classes * self.n_subspaces)))

    def at(self, rows: IntArray | slice) -> "ScoredRows":
        """Return some of the rows."""
        absent = None if self.absent is None else self._tall_at(self.absent, rows)
        return type(self)(self._stack_at(rows), absent, self.n_subspaces, self.table)

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def scores(self, scorer: Scorer) -> FloatArray:
        """Score rows.

        Parameters
        ----------
        scorer : Scorer
            Terms of c classes.

        Returns
        -------
        ndarray of shape (n_subspaces, c, n)
            A view, laid out as is best for the work.
        """

    @abstractmethod
    def _stack_at(self, rows: IntArray | slice) -> Any: ...

    def _tall_at(self, tall: Any, rows: IntArray | slice) -> Any:
        n = self.n_subspaces
        if isinstance(rows, slice):
            return tall[rows.start * n : rows.stop * n]
        return tall[(rows[:, np.newaxis] * n + np.arange(n)).ravel()]

    def _wide(self, products: FloatArray) -> FloatArray:
        """Turn a product with a tall matrix to the shape of scores."""
        shape = (-1, self.n_subspaces, products.shape[1])
        return products.reshape(shape).transpose(1, 2, 0)


class _DenseRows(ScoredRows):
    """Rows as an array (columns and a one, n)."""

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[1])

    def scores(self, scorer: Scorer) -> FloatArray:
        scores = np.matmul(scorer.by_subspace, np.take(self.stack, self.table, axis=0))
        if self.absent is not None:
            scores -= self._wide(self.absent @ scorer.base)
        return scores

    def _stack_at(self, rows: IntArray | slice) -> Any:
        return self.stack[:, rows] if isinstance(rows, slice) else self.stack.take(rows, axis=1)


class _SparseRows(ScoredRows):
    """Rows as CSR (n * n_subspaces, columns of a scorer and features left out)."""

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[0]) // self.n_subspaces

    def scores(self, scorer: Scorer) -> FloatArray:
        columns = scorer.columns if self.absent is None else scorer.with_absent
        return self._wide(self.stack @ columns)

    def _stack_at(self, rows: IntArray | slice) -> Any:
        return self._tall_at(self.stack, rows)


def _tall(matrix: Any, features: IntArray, basis: Basis) -> Any:
    """Return a sparse matrix with a row for each row and subspace, cut to the subspace.

    Parameters
    ----------
    matrix : CSR of shape (n, n_columns)
        Rows.
    features : ndarray of shape (n_columns,)
        Feature of each column.
    basis : Basis
        Knows the subspaces.
    """
    n_subspaces = len(basis.subspace_table)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    cell, subspace = np.nonzero(basis.subspace_masks[features[matrix.indices]])
    cells = (matrix.data[cell], (row[cell] * n_subspaces + subspace, matrix.indices[cell]))
    shape = (matrix.shape[0] * n_subspaces, matrix.shape[1])
    return sparse.coo_array(cells, shape=shape).tocsr()
