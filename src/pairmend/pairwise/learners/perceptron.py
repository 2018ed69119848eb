"""Perceptrons of all pairs, taught row by row."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.kernels.pairs import label_pairs


class PerceptronPairLearner:
    """A perceptron for each pair of labels, all of them taught together.

    A row teaches the pairs of one of its labels with one that it lacks, and with a virtual
    label the pairs of that with all others. Their margins are one product, and those that are
    not on the right side take a step. What comes out is what a perceptron for each pair would
    be after the same rows in the same order.

    Parameters
    ----------
    n_labels : int
        Number of labels, at least two; the last is the virtual one, if there is one.
    n_features : int
        Number of features.
    has_virtual : bool
        Whether the last label is virtual.
    fit_intercept : bool
        Whether there is a weight of a feature that is always 1.
    average : bool
        Whether weights are averaged over all rows that a pair has seen.
    dtype : str
        Precision of the weights.
    unit : float
        Weight of a row that counts as one row in smoothed shares.
    by_feature : bool
        Whether the weights of a feature lie side by side, as suits sparse rows, or those of a
        pair, as suits dense ones.
    """

    def __init__(
        self,
        n_labels: int,
        n_features: int,
        *,
        has_virtual: bool = False,
        fit_intercept: bool = True,
        average: bool = False,
        dtype: str = "float64",
        unit: float = 1.0,
        by_feature: bool = False,
    ):
        self.has_virtual, self.fit_intercept, self.by_feature = (
            has_virtual,
            fit_intercept,
            by_feature,
        )
        self.dtype, self.n_labels, self.n_features = dtype, n_labels, n_features
        self.unit = unit
        self._pairs = label_pairs(n_labels)
        shape = (len(self._pairs), n_features + fit_intercept)
        order: Any = "F" if by_feature else "C"
        self._weights = np.zeros(shape, dtype=dtype, order=order)
        # Earlier rows than the step's do not know of it; their share of it is taken off at last.
        self._drift = np.zeros(shape, dtype=dtype, order=order) if average else None
        self._seen = np.zeros(len(self._pairs), dtype=np.int64)
        self._mass = np.zeros(n_labels * n_labels)

        first, second = self._pairs.T
        number = np.zeros((n_labels, n_labels), dtype=np.intp)
        number[first, second] = number[second, first] = np.arange(len(first))
        self._number = number.ravel()
        self._side = np.sign(np.subtract.outer(-np.arange(n_labels), -np.arange(n_labels)))
        self._side = self._side.astype(dtype).ravel()

    @property
    def row_size(self) -> int:
        """How many floats a row takes while it is asked about, pairs left aside."""
        return int(self._weights.shape[1])

    def learn(self, X: Matrix, Y: BoolArray, weights: FloatArray) -> int:
        """Teach all pairs a row after another.

        Parameters
        ----------
        X : ndarray or CSR of shape (n, d)
            Rows, finite.
        Y : ndarray of bool, shape (n, L)
            Their labels, without the virtual one.
        weights : ndarray of shape (n,)
            What the steps of each row are multiplied with, above 0.

        Returns
        -------
        int
            How often a pair was on the wrong side, or on neither.
        """
        rows = self._extend(X)
        if self.by_feature and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        teach = self._teach_sparse if self.by_feature else self._teach_dense
        mistakes = 0
        for row, (label_rows, weight) in enumerate(zip(Y, weights.tolist(), strict=True)):
            cells = self._p_decide(label_rows)
            if not len(cells):
                continue
            self._mass[cells] += weight / self.unit
            pair, side = self._number.take(cells), self._side.take(cells)
            self._seen[pair] += 1
            if self.by_feature:
                here = slice(rows.indptr[row], rows.indptr[row + 1])
                features, values = rows.indices[here], rows.data[here]
            elif sparse.issparse(rows):
                features, values = None, rows[[row]].toarray()[0]
            else:
                features, values = None, rows[row]
            mistakes += teach(pair, side, weight, values, features)
        return mistakes

    def supports(self, X: Matrix, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each.

        Half of one plus the cosine of the angle between a pair's weights and the row: 1/2 on
        the hyperplane, and whatever the units of the features, between 0 and 1.
        """
        rows = self._extend(X)
        length = np.sqrt((rows * rows).sum(axis=1))
        mass = self._mass.reshape(self.n_labels, self.n_labels)
        for block in blocks:
            weights = self.averaged(block)
            product = length[:, np.newaxis] * np.sqrt((weights * weights).sum(axis=1))
            cosine = np.divide(
                rows @ weights.T, product, out=np.zeros_like(product), where=product > 0
            )
            supports = np.clip((1 + cosine) / 2, 0, 1)
            # A pair that lacks the rows of a side says the smoothed share of the other.
            first, second = self._pairs[block].T
            ours, theirs = mass[first, second], mass[second, first]
            constant = (ours == 0) | (theirs == 0)
            supports[:, constant] = ((ours + 1) / (ours + theirs + 2))[constant]
            yield supports

    def averaged(self, block: slice = slice(None)) -> FloatArray:
        """Return the weights that decide, the intercept behind all others, (pairs, ...)."""
        weights = self._weights[block]
        if self._drift is None:
            return weights
        seen = np.maximum(self._seen[block], 1).astype(self.dtype)
        return weights - self._drift[block] / seen[:, np.newaxis]

    def _teach_dense(
        self, pair: IntArray, side: FloatArray, weight: float, values: FloatArray, _: None
    ) -> int:
        margins = self._weights.take(pair, axis=0) @ values
        wrong = np.flatnonzero(margins * side <= 0)
        pair = pair[wrong]
        step = np.multiply.outer(side[wrong] * weight, values)
        self._weights[pair] += step
        if self._drift is not None:
            step *= (self._seen[pair] - 1).astype(self.dtype)[:, np.newaxis]
            self._drift[pair] += step
        return len(wrong)

    def _teach_sparse(
        self,
        pair: IntArray,
        side: FloatArray,
        weight: float,
        values: FloatArray,
        features: IntArray,
    ) -> int:
        cells = (features.astype(np.intp) * len(self._pairs))[:, np.newaxis] + pair
        margins = values @ self._weights.ravel(order="F").take(cells)
        wrong = np.flatnonzero(margins * side <= 0)
        cells = cells[:, wrong]
        step = np.multiply.outer(values, side[wrong] * weight)
        self._weights.ravel(order="F")[cells] += step
        if self._drift is not None:
            step *= (self._seen[pair[wrong]] - 1).astype(self.dtype)
            self._drift.ravel(order="F")[cells] += step
        return len(wrong)

    def _p_decide(self, label_rows: BoolArray) -> IntArray:
        """Return the label that should win and the one that should lose, winner * L + loser."""
        winners, losers = np.flatnonzero(label_rows), np.flatnonzero(~label_rows)
        against = np.append(losers, self.n_labels - 1) if self.has_virtual else losers
        cells = ((winners * self.n_labels)[:, np.newaxis] + against).ravel()
        if not self.has_virtual:
            return cells
        return np.concatenate([cells, (self.n_labels - 1) * self.n_labels + losers])

    def _extend(self, X: Matrix) -> Any:
        """Return rows in the weights' precision, with a one behind all features if need be."""
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=self.dtype)
            one = sparse.csr_array(np.ones((X.shape[0], int(self.fit_intercept)), dtype=self.dtype))
            return sparse.hstack([X, one], format="csr")
        one = np.ones((len(X), int(self.fit_intercept)))
        return np.hstack([X, one]).astype(self.dtype, copy=False)
