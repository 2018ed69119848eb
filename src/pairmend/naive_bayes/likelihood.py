"""Sums over the rows of classes, and the log-likelihoods and supports that follow from them.

The rows of label i without label j, one class of a pair's binary problem, are all rows of i
except those that both share; the same holds for sums over them. Only labels and the pairs that
share rows need sums of their own; all others follow by subtraction.

Log-likelihoods are linear in the columns of the design. For dense rows, the columns of each
subspace are gathered, and scores are a batch of matrix products. Sparse rows become one tall sparse
matrix with a row for each row and subspace, and scores are one product with it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import batches, lazy
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.kernels.rrc import fold
from pairmend.naive_bayes.features import Design, DesignMatrix

CANCELLED = 8
"""Rows are summed separately where subtraction would leave less than 1 part in this many."""
TILE = 2**18
"""Scores, or values gathered for them, computed at once: they stay in the processor's cache."""
MIN_ROWS = 32
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
class Sums:
    """Sums over groups of rows."""

    mass: FloatArray  # (n_groups,), weight of the rows
    count: IntArray  # (n_groups,), number of the rows, exact where the weight has rounding
    columns: Matrix  # (n_groups, n_columns), weighted sums of the design's columns
    # (n_groups, d), weight of the rows without a value of a feature; None if all have one
    absent: Any
    n_absent: Any  # (n_groups, d), number of these rows

    @classmethod
    def over(cls, groups: Any, weights: FloatArray | None, rows: DesignMatrix) -> "Sums":
        """Sum the rows of groups, given as CSR of ones (n_groups, n); weights None means all 1."""
        weighted = groups
        if weights is not None:
            data = weights[groups.indices]
            weighted = sparse.csr_array((data, groups.indices, groups.indptr), groups.shape)
        absent, n_absent = rows.absent, None
        if absent is not None:
            n_absent = groups @ absent
            absent = n_absent if weights is None else weighted @ absent
        count = np.diff(groups.indptr)
        mass = count.astype(float) if weights is None else weighted @ np.ones(groups.shape[1])
        parts = [weighted @ block for block in rows.blocks]
        columns = parts[0] if len(parts) == 1 else np.hstack(parts)
        return cls(mass, count, columns, absent, n_absent)

    def _parts(self) -> tuple[Any, ...]:
        return self.mass, self.count, self.columns, self.absent, self.n_absent

    def at(self, groups: IntArray | BoolArray | slice) -> "Sums":
        """Return the sums of some groups, dense."""
        parts: Any = (part if part is None else part[groups] for part in self._parts())
        return _sums(part.toarray() if sparse.issparse(part) else part for part in parts)

    def sizes(self) -> "Sums":
        """Return the weights and numbers of the rows alone."""
        return Sums(self.mass, self.count, np.empty((len(self.mass), 0)), None, None)

    def minus(self, other: "Sums") -> "Sums":
        """Subtract the sums over a part of each group's rows, both dense."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return _sums(None if ours is None else ours - theirs for ours, theirs in pairs)

    def plus(self, other: "Sums") -> "Sums":
        """Add the sums over other rows of the same groups."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return _sums(b if a is None else a if b is None else a + b for a, b in pairs)

    def combined(self, groups: Any) -> "Sums":
        """Return the sums over unions of groups, given as a CSR of integers."""
        return _sums(None if part is None else groups @ part for part in self._parts())

    def decayed(self, share: float, min_mass: float) -> "Sums":
        """Multiply weights by a share; groups that weigh less than `min_mass` become empty."""
        is_kept = share * self.mass >= min_mass
        which = np.where(is_kept, np.arange(len(is_kept)), -1)
        kept = self.combined(_selection(which, len(is_kept)))
        absent = None if kept.absent is None else share * kept.absent
        return Sums(share * kept.mass, kept.count, share * kept.columns, absent, kept.n_absent)

    def put(self, groups: IntArray | BoolArray, other: "Sums") -> None:
        """Set the sums of some groups, both dense."""
        for ours, theirs in zip(self._parts(), other._parts(), strict=True):
            if ours is not None:
                ours[groups] = theirs


@dataclass(frozen=True)
class GroupedRows:
    """Sums over the rows that have the same labels; all other sums are sums of these."""

    labels: BoolArray  # (n_sets, L), a virtual label included
    sums: Sums

    @classmethod
    def of(
        cls, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix, *, has_virtual: bool
    ) -> "GroupedRows":
        """Sum the rows of each set of labels that occurs."""
        if has_virtual:
            Y = np.column_stack([Y, np.ones(len(Y), dtype=bool)])
        words = np.zeros((len(Y), -(-Y.shape[1] // 64)), dtype=np.uint64)
        packed = np.packbits(Y, axis=1)
        words.view(np.uint8)[:, : packed.shape[1]] = packed
        order = np.lexsort(words.T)
        is_first = np.ones(len(Y), dtype=bool)
        is_first[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1)
        first = np.flatnonzero(is_first)
        groups = np.ones(len(Y)), order, np.append(first, len(Y))
        members = sparse.csr_array(groups, shape=(len(first), len(Y)))
        return cls(Y[order[first]], Sums.over(members, weights, rows))

    def lacking(self, pairs: IntArray) -> Sums:
        """Sum the rows of the first label of each pair that lack the second."""
        has, other = self.labels.T[pairs.T]
        return self.sums.combined(sparse.csr_array(has & ~other, dtype=np.intp))

    def shared(self) -> tuple[IntArray, IntArray, Sums]:
        """Sum the rows of each two labels that share any; return the labels, too."""
        n_sets, n_labels = self.labels.shape
        of_set, label = np.nonzero(self.labels)
        end = np.cumsum(np.count_nonzero(self.labels, axis=1))
        later = end[of_set] - np.arange(len(label)) - 1  # labels of the same set that follow
        entry = np.repeat(np.arange(len(label)), later)
        step = np.arange(len(entry)) - np.repeat(np.cumsum(later) - later, later) + 1
        code = label[entry] * n_labels + label[entry + step]
        # Codes of a small integer type are sorted by counting, which is fast.
        order = np.argsort(code.astype(np.min_scalar_type(n_labels**2)), kind="stable")
        is_first = np.diff(code[order], prepend=-1) > 0
        first = np.flatnonzero(is_first)
        ones, indptr = np.ones(len(order), dtype=np.intp), np.append(first, len(order))
        groups = sparse.csr_array((ones, of_set[entry[order]], indptr), shape=(len(first), n_sets))
        return *np.divmod(code[order[first]], n_labels), self.sums.combined(groups)


@dataclass(frozen=True)
class LabelSums:
    """Sums over the rows of labels, sufficient for every pair."""

    labels: Sums  # over the rows of each label
    shared: Sums  # over the rows of each two labels that share any
    number: IntArray  # (L, L), number of two labels in `shared`; -1 if they share no row
    # over rows of one label without another, where subtraction would lose digits
    exclusive: Sums
    exclusive_number: IntArray  # (L, L), number of two labels in `exclusive`; -1 if none
    # the last label is virtual: shared rows belong to the other label alone
    has_virtual: bool = False

    @classmethod
    def over(
        cls,
        Y: BoolArray,
        weights: FloatArray | None,
        rows: DesignMatrix,
        *,
        has_virtual: bool = False,
    ) -> "LabelSums":
        """Sum rows by their labels, with a virtual label after all others if `has_virtual`."""
        sets = GroupedRows.of(Y, weights, rows, has_virtual=has_virtual)
        sums = cls.part(sets, has_virtual=has_virtual).with_exclusive_numbers()
        return replace(sums, exclusive=sets.lacking(sums.exclusive_pairs))

    @classmethod
    def part(cls, sets: GroupedRows, *, has_virtual: bool) -> "LabelSums":
        """Sum a part of the rows, without the exclusive sums, which depend on all rows."""
        labels = sets.sums.combined(sparse.csr_array(sets.labels.T, dtype=np.intp))
        first, second, shared = sets.shared()
        n_labels = sets.labels.shape[1]
        number = np.full((n_labels, n_labels), -1, dtype=np.int32)
        number[first, second] = number[second, first] = np.arange(len(first))
        none = np.empty((0, 2), dtype=np.intp)
        no_number = np.full_like(number, -1)
        everything = labels.at(slice(None))
        return cls(everything, shared, number, sets.lacking(none), no_number, has_virtual)

    def plus(self, part: "LabelSums") -> "LabelSums":
        """Add the sums over other rows; exclusive sums stay as they are."""
        either = np.triu((self.number >= 0) | (part.number >= 0))
        first, second = np.nonzero(either)
        number = np.full_like(self.number, -1)
        number[first, second] = number[second, first] = np.arange(len(first))
        ours, theirs = (
            sums.shared.combined(_selection(sums.number[first, second], len(sums.shared.mass)))
            for sums in (self, part)
        )
        labels = self.labels.plus(part.labels).at(slice(None))
        return replace(self, labels=labels, shared=ours.plus(theirs), number=number)

    def with_exclusive_numbers(self) -> "LabelSums":
        """Determine which labels' rows need exclusive sums, given the sums over all rows.

        They are numbered after those that there are.
        """
        label, other = np.nonzero(self.number >= 0)
        shared = self.number[label, other]
        left = self.labels.count[label] - self.shared.count[shared]
        mass = self.labels.mass[label]
        is_small = (left > 0) & (mass - self.shared.mass[shared] < mass / CANCELLED)
        is_new = is_small & (self.exclusive_number[label, other] < 0)
        number = self.exclusive_number.copy()
        last = len(self.exclusive.mass) + np.count_nonzero(is_new)
        number[label[is_new], other[is_new]] = np.arange(len(self.exclusive.mass), last)
        return replace(self, exclusive_number=number)

    @property
    def exclusive_pairs(self) -> IntArray:
        """The label of each of the exclusive sums, and the label that its rows lack."""
        pairs = np.argwhere(self.exclusive_number >= 0)
        return pairs[np.argsort(self.exclusive_number[*pairs.T])]

    def with_rows(
        self, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix
    ) -> "LabelSums":
        """Add further rows.

        Rows that become a small part of their label's rows get exclusive sums from then on. Before,
        they were all of them, none, or enough for subtraction to preserve their digits.
        """
        sets = GroupedRows.of(Y, weights, rows, has_virtual=self.has_virtual)
        part = LabelSums.part(sets, has_virtual=self.has_virtual)
        sums = self.plus(part).with_exclusive_numbers()
        pairs = sums.exclusive_pairs
        n_old = len(self.exclusive.mass)
        before = self.only(*pairs[n_old:].T)
        old, new = np.arange(len(pairs)), np.arange(len(pairs)) - n_old
        old[n_old:] = -1
        new[n_old:][before.count <= 0] = -1  # the difference is only rounding
        earlier = self.exclusive.combined(_selection(old, n_old)).plus(
            before.combined(_selection(np.maximum(new, -1), len(before.mass)))
        )
        return replace(sums, exclusive=earlier.plus(sets.lacking(pairs)))

    def decayed(self, share: float, min_mass: float) -> "LabelSums":
        """Multiply weights by a share; groups that weigh less than `min_mass` become empty."""
        return self._with_each(lambda sums: sums.decayed(share, min_mass))

    def _with_each(self, change: Callable[[Sums], Sums]) -> "LabelSums":
        """Change the sums of labels, shared and exclusive ones in the same way."""
        parts: dict[str, Any] = {
            name: change(getattr(self, name)) for name in ("labels", "shared", "exclusive")
        }
        return replace(self, **parts)

    def only(self, label: IntArray, other: IntArray) -> Sums:
        """Return the sums over the rows of labels without those they share with other labels."""
        left = self.labels.at(label)
        shares = self.number[label, other] >= 0
        if self.has_virtual:
            shares &= other != len(self.number) - 1
        shared = self.shared.at(self.number[label, other][shares])
        if shares.all():
            left = left.minus(shared)
        else:
            left.put(shares, left.at(shares).minus(shared))
        place = self.exclusive_number[label, other]
        is_small = place >= 0
        if is_small.any():
            left.put(is_small, self.exclusive.at(place[is_small]))
        return left

    def sizes(self) -> tuple[FloatArray, IntArray]:
        """Return weight and number of the rows of each label without each other label, (L, L).

        Numbers may be negative where a label became empty before the rows that it shares.
        """
        sizes, shape = self._with_each(Sums.sizes), self.number.shape
        only = sizes.only(*(labels.ravel() for labels in np.indices(shape)))
        return np.where(only.count > 0, only.mass, 0).reshape(shape), only.count.reshape(shape)


def _sums(parts: Iterable[Any]) -> Sums:
    return Sums(*parts)


def _selection(which: IntArray, n_groups: int) -> Any:
    """Return the matrix that selects groups; -1 gives zeros."""
    exists = which >= 0
    indptr = np.concatenate([[0], np.cumsum(exists)])
    ones = np.ones(np.count_nonzero(exists), dtype=np.intp)
    return sparse.csr_array((ones, which[exists], indptr), shape=(len(which), n_groups))


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
    # Few distinct numbers of values: take each logarithm once.
    sizes, which = np.unique(np.diff(feature_statistics.offsets)[features], return_inverse=True)
    if total.shape[1] == 1:
        log_total = np.log(total + sizes)[:, which]
    else:
        log_total = np.log(total + sizes[which])
    log_base -= log_total
    base[:, features] = log_base


@dataclass(frozen=True)
class Scorer:
    """Terms of c classes, laid out to score rows."""

    # (n_columns + n_subspaces + 1, c): weights, constants of the subspaces, zeros
    columns: FloatArray
    base: FloatArray  # (d, c), contribution of a feature beside the columns, unless it is absent
    design: Design

    @classmethod
    def of(cls, terms: Terms, prior: FloatArray, design: Design) -> "Scorer":
        """Combine terms with the log-priors of the classes."""
        constants = terms.base @ design.subspace_masks + prior[:, np.newaxis]
        zeros = np.zeros((1, len(prior)))
        columns = np.concatenate([terms.weights.T, constants.T, zeros])
        return cls(columns, np.ascontiguousarray(terms.base.T), design)

    def at(self, classes: IntArray, sign: FloatArray) -> "Scorer":
        """Return some of the classes, their scores multiplied by signs."""
        columns, base = (np.take(part, classes, axis=1) for part in (self.columns, self.base))
        columns *= sign
        base *= sign
        return Scorer(columns, base, self.design)

    @lazy
    def by_subspace(self) -> FloatArray:
        """Weights in each subspace, (n_subspaces, c, width + 1)."""
        return np.take(self.columns, self.design.weight_table, axis=0).transpose(0, 2, 1)

    @lazy
    def with_absent(self) -> FloatArray:
        """All weights in one array, followed by those of absent features."""
        return np.concatenate([self.columns, -self.base])


@dataclass(frozen=True)
class ScoredRows:
    """Rows to be scored."""

    # dense (n_columns + 1, n), a one after the columns, or CSR (n * n_subspaces, columns of a
    # scorer and absent features)
    stack: Any
    absent: Any  # of dense rows: CSR (n * n_subspaces, d), absent features; None if there are none
    design: Design

    @classmethod
    def of(cls, rows: DesignMatrix, design: Design) -> "ScoredRows":
        """Prepare rows of a design matrix."""
        absent, first = rows.absent, rows.blocks[0]
        if absent is not None:
            absent = _tall(absent, np.arange(absent.shape[1]), design)
        if not sparse.issparse(first):
            ones = np.ones((1, len(first)))
            return cls(np.concatenate([*(block.T for block in rows.blocks), ones]), absent, design)
        n_subspaces = len(design.feature_statistics.subspaces)
        which = np.tile(np.arange(n_subspaces), first.shape[0])
        constant = sparse.csr_array(
            (np.ones(len(which)), which, np.arange(len(which) + 1)),
            shape=(len(which), n_subspaces + 1),
        )
        parts = [_tall(first, design.column_feature, design), constant]
        parts += [] if absent is None else [absent]
        return cls(sparse.hstack(parts, format="csr"), None, design)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        n, n_subspaces = self.stack.shape, len(self.design.feature_statistics.subspaces)
        return int(n[0] // n_subspaces if sparse.issparse(self.stack) else n[1])

    def tiles(self, n_classes: int) -> Iterator[slice]:
        """Cut the rows so that the scores of a tile stay in the processor's cache."""
        table = self.design.weight_table
        per_row = n_classes * len(table)
        if not sparse.issparse(self.stack):
            per_row = max(per_row, table.size)
        return batches(self.n_rows, max(MIN_ROWS, TILE // per_row))

    def at(self, rows: IntArray | slice) -> "ScoredRows":
        """Return some of the rows."""
        if isinstance(rows, slice) and (rows.start, rows.stop) == (0, self.n_rows):
            return self
        if sparse.issparse(self.stack):
            return replace(self, stack=self._tall_at(self.stack, rows))
        absent = None if self.absent is None else self._tall_at(self.absent, rows)
        is_slice = isinstance(rows, slice)
        stack = self.stack[:, rows] if is_slice else self.stack.take(rows, axis=1)
        return ScoredRows(stack, absent, self.design)

    def scores(self, scorer: Scorer) -> FloatArray:
        """Return the scores of rows, (n_subspaces, c, n), in any memory layout."""
        if sparse.issparse(self.stack):
            is_complete = self.stack.shape[1] == len(scorer.columns)
            return self._wide(self.stack @ (scorer.columns if is_complete else scorer.with_absent))
        columns = np.take(self.stack, self.design.value_table, axis=0)
        scores = scorer.by_subspace @ columns
        if self.absent is not None:
            scores -= self._wide(self.absent @ scorer.base)
        return scores

    def _tall_at(self, tall: Any, rows: IntArray | slice) -> Any:
        n = len(self.design.feature_statistics.subspaces)
        if isinstance(rows, slice):
            return tall[rows.start * n : rows.stop * n]
        return tall[(rows[:, np.newaxis] * n + np.arange(n)).ravel()]

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
            return cls(np.ascontiguousarray(scores), False, rows)
        return cls(np.exp(relative, order="C"), True, rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.scores.shape[2]

    def supports_of_pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the mean supports (n_pairs, n) for first labels of pairs.

        Pairs with the same first label are consecutive.
        """
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        out = np.empty((len(first), self.n_rows))
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
