"""Perceptrons of all pairs, trained row by row."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.pairwise.learners.base import PairLearner


class PerceptronPairLearner(PairLearner):
    """A perceptron for each pair of labels, all trained together.

    A row trains the pairs of each of its labels with each label that it lacks, and, with a virtual
    label, the pairs of the virtual label with all others. Their margins are one product, and
    perceptrons that misclassify the row are updated. The result equals that of a separate
    perceptron for each pair trained on the same rows in the same order.

    The last of `n_labels` is the virtual label if `has_virtual`. With `average`, weights are
    averaged over all rows that a pair was trained on. `unit` is the weight that counts as one row
    in smoothed shares. Weights are stored `by_feature`, which suits sparse rows, or by pair, which
    suits dense ones.
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
        self.has_virtual, self.by_feature = has_virtual, by_feature
        self.fit_intercept = fit_intercept
        self.dtype, self.n_labels, self.n_features = dtype, n_labels, n_features
        self.unit = unit
        self._pairs = label_pairs(n_labels)
        shape = (len(self._pairs), n_features + fit_intercept)
        order: Any = "F" if by_feature else "C"
        self._weights = np.zeros(shape, dtype=dtype, order=order)
        # Each update times the number of earlier rows, for which it does not enter the average.
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
        """Number of floats that a row needs in memory during prediction, without its supports."""
        return int(self._weights.shape[1])

    def fit(
        self,
        X: Matrix,
        Y: BoolArray,
        pairs: IntArray,
        fit_params: dict[str, Any],
        owner: Any = None,
    ) -> "PerceptronPairLearner":
        """Update all pairs by passes over the rows of positive weight.

        `fit_params` are ``sample_weight``, ``max_iter``, and ``rng``, which shuffles the rows, or
        None. Without an average, a pass without mistakes is the last one.
        """
        weights, rng = fit_params["sample_weight"], fit_params["rng"]
        rows = np.flatnonzero(weights > 0)
        for self.n_iter_ in range(1, fit_params["max_iter"] + 1):
            order = rows if rng is None else rng.permutation(rows)
            if not self.partial_fit(X[order], Y[order], weights[order]) and self._drift is None:
                break
        return self

    def partial_fit(self, X: Matrix, Y: BoolArray, weights: FloatArray) -> int:
        """Update all pairs with one row after another; return the number of misclassifications.

        Y is without the virtual label; the update by each row is multiplied by its weight, above 0.
        """
        rows = self._extend(X)
        if self.by_feature and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        update = self._update_sparse if self.by_feature else self._update_dense
        mistakes = 0
        for row, (row_labels, weight) in enumerate(zip(Y, weights.tolist(), strict=True)):
            cells = self._trained_cells(row_labels)
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
            mistakes += update(pair, side, weight, values, features)
        return mistakes

    def supports(self, X: Matrix, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each.

        The support is (1 + cosine) / 2 with the angle between a pair's weights and the row: 1/2 on
        the hyperplane, and in [0, 1] for any scale of the features.
        """
        rows = self._extend(X)
        length = np.sqrt((rows * rows).sum(axis=1))
        mass = self._mass.reshape(self.n_labels, self.n_labels)
        for labels in blocks:
            block = pairs_of(labels, self.n_labels)
            weights = self.averaged(block)
            product = length[:, np.newaxis] * np.sqrt((weights * weights).sum(axis=1))
            cosine = np.divide(
                rows @ weights.T, product, out=np.zeros_like(product), where=product > 0
            )
            supports = np.clip((1 + cosine) / 2, 0, 1)
            # A pair without rows of one class has a constant support, the smoothed share.
            first, second = self._pairs[block].T
            ours, theirs = mass[first, second], mass[second, first]
            constant = (ours == 0) | (theirs == 0)
            supports[:, constant] = ((ours + 1) / (ours + theirs + 2))[constant]
            yield supports

    def averaged(self, block: slice = slice(None)) -> FloatArray:
        """Return the weights used in prediction, the intercept last, (n_pairs, ...)."""
        weights = self._weights[block]
        if self._drift is None:
            return weights
        seen = np.maximum(self._seen[block], 1).astype(self.dtype)
        return weights - self._drift[block] / seen[:, np.newaxis]

    def _update_dense(
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

    def _update_sparse(
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

    def _trained_cells(self, row_labels: BoolArray) -> IntArray:
        """Return the pairs that a row trains, each as correct label * L + wrong label."""
        winners, losers = np.flatnonzero(row_labels), np.flatnonzero(~row_labels)
        against = np.append(losers, self.n_labels - 1) if self.has_virtual else losers
        cells = ((winners * self.n_labels)[:, np.newaxis] + against).ravel()
        if not self.has_virtual:
            return cells
        return np.concatenate([cells, (self.n_labels - 1) * self.n_labels + losers])

    def _extend(self, X: Matrix) -> Any:
        """Return rows in the weights' precision, with a column of ones for the intercept."""
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=self.dtype)
            one = sparse.csr_array(np.ones((X.shape[0], int(self.fit_intercept)), dtype=self.dtype))
            return sparse.hstack([X, one], format="csr")
        one = np.ones((len(X), int(self.fit_intercept)))
        return np.hstack([X, one]).astype(self.dtype, copy=False)
