"""Scores of rows under many classes, in all subspaces at once.

Two ways to the same numbers. Dense rows are copied out once for each subspace, and scores are
a batch of matrix products. Sparse rows become one tall sparse matrix, a row of it for each row
and subspace, and scores are one product with it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._basis import Basis, Expanded
from pairmend._typing import FloatArray, IntArray
from pairmend.learners.sums import Terms


@dataclass(frozen=True)
class ScoredRows(ABC):
    """Rows to be scored.

    Attributes
    ----------
    basis : Basis
        What the rows are written in.
    stack : ndarray or CSR
        The rows in all subspaces.
    absent : CSR of shape (n, d) or None
        What rows leave out.
    """

    basis: Basis
    stack: Any
    absent: Any

    @staticmethod
    def of(rows: Expanded, basis: Basis) -> "ScoredRows":
        """Prepare rows."""
        if sparse.issparse(rows.matrix):
            return _SparseRows.prepare(rows, basis)
        return _DenseRows.prepare(rows, basis)

    def at(self, rows: IntArray | slice) -> "ScoredRows":
        """Return some of the rows."""
        absent = None if self.absent is None else self.absent[rows]
        return type(self)(self.basis, self._stack_at(rows), absent)

    def scores(self, terms: Terms, prior: FloatArray) -> FloatArray:
        """Score rows.

        Parameters
        ----------
        terms : Terms
            Terms of c classes.
        prior : ndarray of shape (c,)
            Added to the scores of each class.

        Returns
        -------
        ndarray of shape (n_subspaces, c, n)
            A view, laid out as is best for the work.
        """
        masks = self.basis.subspace_masks
        scores = self._products(terms.weights)
        scores += (terms.base @ masks + prior[:, np.newaxis]).T[:, :, np.newaxis]
        if self.absent is not None:
            for mask, score in zip(masks.T, scores, strict=True):
                score -= (self.absent @ (terms.base * mask).T).T
        return scores

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def _stack_at(self, rows: IntArray | slice) -> Any: ...

    @abstractmethod
    def _products(self, weights: FloatArray) -> FloatArray: ...


class _DenseRows(ScoredRows):
    @classmethod
    def prepare(cls, rows: Expanded, basis: Basis) -> "_DenseRows":
        n_columns = rows.matrix.shape[1]
        chosen = np.minimum(basis.subspace_table, max(n_columns - 1, 0))
        stack = rows.matrix.T[chosen].transpose(0, 2, 1) if n_columns else None
        if stack is None:
            stack = np.zeros((len(chosen), len(rows.matrix), 0))
        return cls(basis, np.ascontiguousarray(stack), rows.absent)

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[1])

    def _stack_at(self, rows: IntArray | slice) -> Any:
        return self.stack[:, rows]

    def _products(self, weights: FloatArray) -> FloatArray:
        # Subspaces with fewer columns than others are filled up with one of no weight.
        padded = np.vstack([weights.T, np.zeros((1, len(weights)))])[self.basis.subspace_table]
        padded = padded[:, : self.stack.shape[2]]
        return np.matmul(padded.transpose(0, 2, 1), self.stack.transpose(0, 2, 1))


class _SparseRows(ScoredRows):
    @classmethod
    def prepare(cls, rows: Expanded, basis: Basis) -> "_SparseRows":
        matrix, masks = rows.matrix, basis.subspace_masks
        n_subspaces = masks.shape[1]
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        cell, subspace = np.nonzero(masks[basis.column_feature[matrix.indices]])
        stack = sparse.coo_array(
            (matrix.data[cell], (row[cell] * n_subspaces + subspace, matrix.indices[cell])),
            shape=(matrix.shape[0] * n_subspaces, matrix.shape[1]),
        )
        return cls(basis, stack.tocsr(), rows.absent)

    @property
    def n_rows(self) -> int:
        return int(self.stack.shape[0]) // self.basis.subspace_masks.shape[1]

    def _stack_at(self, rows: IntArray | slice) -> Any:
        n_subspaces = self.basis.subspace_masks.shape[1]
        if isinstance(rows, slice):
            return self.stack[rows.start * n_subspaces : rows.stop * n_subspaces]
        return self.stack[(rows[:, np.newaxis] * n_subspaces + np.arange(n_subspaces)).ravel()]

    def _products(self, weights: FloatArray) -> FloatArray:
        products = self.stack @ np.ascontiguousarray(weights.T)
        n_subspaces = self.basis.subspace_masks.shape[1]
        return products.reshape(-1, n_subspaces, len(weights)).transpose(1, 2, 0)
