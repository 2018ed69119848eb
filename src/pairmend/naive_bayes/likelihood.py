"""Log-likelihoods of classes, and the supports that follow from them.

Log-likelihoods are linear in the columns of the design. For dense rows, the columns of each
subspace are gathered, and scores are a batch of matrix products. Sparse rows become one tall sparse
matrix with a row for each row and subspace, and scores are one product with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import batches, lazy, one_blas_thread
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.rrc import fold
from pairmend.naive_bayes.features import Design, DesignMatrix
from pairmend.naive_bayes.sums import Sums

TILE = 2**17
"""Scores, or values gathered for them, computed at once: they stay in the processor's cache."""
MIN_ROWS = 64
"""Rows of a tile: loops over fewer are slow."""
LOWEST = -650.0
"""Smallest logarithm of a relative likelihood: ratios of smaller ones would lose digits."""
LIMIT = 700.0
"""Log-odds beyond which the exponential overflows, or leaves its fast path."""
SMALLEST = 2.0**-115
"""Smallest mean probability that is folded, about 2e-35.

Decisions of the reference classifier have about the square of it as probability. Weights times
that are no subnormal numbers, and its square root is in the range of single precision."""


@dataclass(frozen=True)
class Terms:
    """Coefficients of the design's columns in the log-likelihoods of classes, up to a constant."""

    weights: FloatArray  # (n_classes, n_columns)
    base: FloatArray  # (n_classes, d), of each feature, for a row that is zero in all columns
    usable: Any  # bool (n_classes, d), features with a value in the class; None if all

    @classmethod
    def of(cls, sums: Sums, design: Design) -> "Terms":
        """Estimate Gaussians and Laplace-smoothed frequencies from sums over classes."""
        feature_statistics, numeric = design.feature_statistics, design.numeric
        n, m = len(numeric), len(sums.mass)
        mass = sums.mass[:, np.newaxis]  # weight of the rows that have a value
        usable = None
        if sums.absent is not None:
            usable = feature_statistics.categorical | (sums.count[:, np.newaxis] > sums.n_absent)
            mass = np.maximum(mass - sums.absent, 0)
        weights = np.empty(sums.columns.shape)
        base = np.zeros((m, len(feature_statistics.categorical)))
        if n:
            divisor = mass if mass.shape[1] == 1 else mass[:, numeric]
            divisor = np.where(divisor > 0, divisor, 1)
            mean = np.divide(sums.columns[:, :n], divisor, out=weights[:, :n])
            square = mean * mean
            # The floor is the unit, so the variance is at least 1, far above rounding.
            variance = sums.columns[:, n : 2 * n] / divisor
            np.maximum(np.subtract(variance, square, out=variance), 1, out=variance)
            inverse = np.divide(1, variance, out=weights[:, n : 2 * n])
            square *= inverse
            square += np.log(variance, out=variance)
            square *= -0.5
            base[:, numeric] = square
            mean *= inverse
            inverse *= -0.5
        if feature_statistics.categorical.any():
            _count_values(sums.columns[:, 2 * n :], mass, design, weights[:, 2 * n :], base)
        return cls(weights, base, usable)

    def at(self, classes: slice) -> "Terms":
        """Return the terms of some classes."""
        usable = None if self.usable is None else self.usable[classes]
        return Terms(self.weights[classes], self.base[classes], usable)

    def minus(self, other: "Terms", design: Design) -> "Terms":
        """Subtract the terms of other classes, over features usable in both: those of log-odds."""
        odds = Terms(self.weights - other.weights, self.base - other.base, None)
        return odds if self.usable is None else odds.where(self.usable & other.usable, design)

    def where(self, usable: BoolArray, design: Design) -> "Terms":
        """Set the terms of all other features to 0, in place."""
        self.base[~usable] = 0
        self.weights[~usable[:, design.column_feature]] = 0
        return self

    def gaussians(self, design: Design) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations, (n_classes, d), NaN for categorical features."""
        numeric = design.numeric
        mean, scale = np.full((2, *self.base.shape), np.nan)
        by_value, by_square = np.split(self.weights[:, : 2 * len(numeric)], 2, axis=1)
        mean[:, numeric] = design.centre - by_value / by_square / 2 / design.unit
        scale[:, numeric] = 1 / np.sqrt(-2 * by_square) / design.unit
        return mean, scale


def _count_values(
    counts: FloatArray, mass: FloatArray, design: Design, weights: FloatArray, base: FloatArray
) -> None:
    """Fill in the terms of categorical features from the counts of all values but the base."""
    feature_statistics = design.feature_statistics
    features = np.flatnonzero(design.base >= 0)
    own = design.column_feature[2 * len(design.numeric) :]
    total = mass if mass.shape[1] == 1 else mass[:, features]
    counts = np.maximum(counts, 0)
    log_base = np.empty((len(counts), len(features)))
    log_base[:] = total
    if len(own):
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        others = counts if len(starts) == len(own) else np.add.reduceat(counts, starts, axis=1)
        log_base[:, np.searchsorted(features, own[starts])] -= others
    np.maximum(log_base, 0, out=log_base)
    log_base += 1
    np.log(log_base, out=log_base)
    counts += 1
    np.log(counts, out=weights)
    of_column = np.searchsorted(features, own)
    weights -= np.take(log_base, of_column, axis=1, mode="clip")
    log_base -= np.log(total + np.diff(feature_statistics.offsets)[features])
    base[:, features] = log_base


@dataclass(frozen=True)
class Scorer:
    """Terms of c classes, laid out to score rows."""

    # (c, n_columns + n_subspaces + 1): weights, constants of the subspaces, zeros
    weights: FloatArray
    base: FloatArray  # (c, d), contribution of a feature beside the columns, unless it is absent
    design: Design

    @classmethod
    @one_blas_thread()
    def of(cls, terms: Terms, prior: FloatArray, design: Design) -> "Scorer":
        """Combine terms with the log-priors of the classes."""
        constants = terms.base @ design.subspace_masks + prior[:, np.newaxis]
        zeros = np.zeros((len(prior), 1))
        return cls(np.hstack([terms.weights, constants, zeros]), terms.base, design)

    def at(self, classes: IntArray, sign: FloatArray) -> "Scorer":
        """Return some of the classes, their scores multiplied by signs."""
        weights, base = (part[classes] * sign[:, np.newaxis] for part in (self.weights, self.base))
        return Scorer(weights, base, self.design)

    @lazy
    def by_subspace(self) -> FloatArray:
        """Weights in each subspace, (n_subspaces, c, width + 1)."""
        return np.take(self.weights, self.design.subspace_tables[1], axis=1).transpose(1, 0, 2)

    @lazy
    def by_column(self) -> FloatArray:
        """All weights, one column for each class."""
        return np.ascontiguousarray(self.weights.T)

    @lazy
    def with_absent(self) -> FloatArray:
        """The same, followed by the weights of absent features."""
        return np.concatenate([self.weights.T, -self.base.T])


@dataclass(frozen=True)
class ScoredRows:
    """Rows to be scored."""

    # dense (n_columns + 1, n), a one after the columns, or CSR (n * n_subspaces, columns of a
    # scorer and absent features)
    stack: Any
    absent: Any  # of dense rows: CSR (n * n_subspaces, d), absent features; None if there are none
    n_rows: int
    design: Design

    @classmethod
    def of(cls, rows: DesignMatrix, design: Design) -> "ScoredRows":
        """Prepare rows of a design matrix."""
        absent, first, n_rows = rows.absent, rows.blocks[0], rows.blocks[0].shape[0]
        if absent is not None:
            absent = _tall(absent, np.arange(absent.shape[1]), design)
        if not sparse.issparse(first):
            stack = np.ones((len(design.column_feature) + 1, n_rows))
            np.concatenate([block.T for block in rows.blocks], out=stack[:-1])
            return cls(stack, absent, n_rows, design)
        n_subspaces = len(design.feature_statistics.subspaces)
        which = np.tile(np.arange(n_subspaces), n_rows)
        constant = sparse.csr_array(
            (np.ones(len(which)), which, np.arange(len(which) + 1)),
            shape=(len(which), n_subspaces + 1),
        )
        parts = [_tall(first, design.column_feature, design), constant]
        parts += [] if absent is None else [absent]
        return cls(sparse.hstack(parts, format="csr"), None, n_rows, design)

    def tiles(self, n_classes: int, n_rows: int) -> Iterator[slice]:
        """Cut rows so that the scores of a tile stay in the processor's cache."""
        table = self.design.subspace_tables[0]
        per_row = n_classes * len(table)
        if isinstance(self.stack, np.ndarray):
            per_row = max(per_row, table.size)
        return batches(n_rows, max(MIN_ROWS, TILE // per_row))

    def scores(self, scorer: Scorer, rows: IntArray | slice) -> FloatArray:
        """Return the scores of some rows, (n_subspaces, c, n), in any memory layout."""
        if not isinstance(self.stack, np.ndarray):
            is_complete = self.stack.shape[1] == scorer.weights.shape[1]
            weights = scorer.by_column if is_complete else scorer.with_absent
            return self._wide(self._tall_at(self.stack, rows) @ weights)
        chosen = self.stack[:, rows] if isinstance(rows, slice) else self.stack.take(rows, axis=1)
        scores = scorer.by_subspace @ np.take(chosen, self.design.subspace_tables[0], axis=0)
        if self.absent is not None:
            scores -= self._wide(self._tall_at(self.absent, rows) @ scorer.base.T)
        return scores

    def _tall_at(self, tall: Any, rows: IntArray | slice) -> Any:
        n = len(self.design.feature_statistics.subspaces)
        if not isinstance(rows, slice):
            return tall[(rows[:, np.newaxis] * n + np.arange(n)).ravel()]
        return tall if rows == slice(0, self.n_rows) else tall[rows.start * n : rows.stop * n]

    def _wide(self, products: FloatArray) -> FloatArray:
        """Reshape a product with a tall matrix to the shape of scores."""
        n_subspaces = len(self.design.feature_statistics.subspaces)
        return products.reshape(-1, n_subspaces, products.shape[1]).transpose(1, 2, 0)


def _tall(matrix: Any, features: IntArray, design: Design) -> Any:
    """Return a sparse matrix with a row for each row and subspace, restricted to the subspace."""
    n_subspaces = len(design.feature_statistics.subspaces)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    cell, subspace = np.nonzero(design.subspace_masks[features[matrix.indices]])
    cells = (matrix.data[cell], (row[cell] * n_subspaces + subspace, matrix.indices[cell]))
    shape = (matrix.shape[0] * n_subspaces, matrix.shape[1])
    return sparse.coo_array(cells, shape=shape).tocsr()


@dataclass(frozen=True)
class LabelScores:
    """Scores of rows under labels, of which pairs without a model of their own need no others."""

    # (n_subspaces, L, n), log-likelihoods, or likelihoods relative to the largest
    scores: FloatArray
    are_likelihoods: bool
    rows: slice  # the rows' numbers among all rows

    @classmethod
    def of(cls, scores: FloatArray, rows: slice) -> "LabelScores":
        """Exponentiate once for each label instead of once for each pair, if none vanishes."""
        relative = scores - scores.max(axis=1, keepdims=True)
        if relative.min(initial=0) < LOWEST:
            return cls(scores, False, rows)
        return cls(np.exp(relative, order="C"), True, rows)

    def supports_of_pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the mean supports (n_pairs, n) for first labels of pairs.

        Pairs with the same first label are consecutive.
        """
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        out = np.empty((len(first), self.scores.shape[2]))
        for low, high in zip(starts, [*starts[1:], len(first)], strict=True):
            others: Any = second[low:high]
            if others[-1] - others[0] == high - low - 1:  # a slice, without a copy
                others = slice(others[0], others[-1] + 1)
            own = self.scores[:, first[low], np.newaxis]
            out[low:high] = self._mean(own, self.scores[:, others], folded=False)
        return out

    def folded_supports_at(self, label: IntArray, row: IntArray) -> FloatArray:
        """Return the folded mean supports (m, L) for labels at rows against all labels."""
        own = self.scores[:, label[np.newaxis], row]
        return self._mean(own, self.scores[:, :, row], folded=True).T

    def _mean(self, own: FloatArray, others: FloatArray, *, folded: bool) -> FloatArray:
        """Return the mean supports for labels against others, (n_others, n)."""
        if not self.are_likelihoods:
            return (folded_mean_logistic if folded else mean_logistic)(others - own)
        total = own + others
        if not folded:
            return np.add.reduce(np.divide(own, total, out=total), axis=0) / len(own)
        share = np.divide(1 / len(own), total, out=total)
        first, second = (np.einsum("skn,skn->kn", share, part) for part in (own, others))
        return np.where(first <= second, np.maximum(first, SMALLEST), -np.maximum(second, SMALLEST))


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
    """Return the same mean and its complement as one number, see :mod:`pairmend.kernels.rrc`.

    The probability that is smaller in the first of n summands is averaged. Its complement is then
    at least 1 / (2 n), and keeps its digits. `against` is overwritten.
    """
    side = np.copysign(1.0, against[0])
    against *= side
    return side * fold(np.maximum(mean_logistic(against), SMALLEST))
