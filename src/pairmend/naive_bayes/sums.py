"""Sums over rows by label and pair; Gaussians and Laplace-smoothed frequencies from them.

The rows of label i without label j, one class of a pair's binary problem, are all rows of i
except those that both share; the same holds for sums over them. Only labels and the pairs that
share rows need sums of their own; all others follow by subtraction.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.threads import one_blas_thread
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.naive_bayes.design_matrix import Design, DesignMatrix

CANCELLED = 8
"""Rows are summed separately where subtraction would leave less than 1 part in this many."""
DENSE_GROUPS = 0.125
"""Share of rows in a group above which a dense product is faster."""


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
        if len(rows.blocks) == 1:
            return cls(mass, count, weighted @ rows.blocks[0], absent, n_absent)
        if weighted.nnz > DENSE_GROUPS * np.prod(groups.shape):
            weighted = weighted.toarray()
        with one_blas_thread():
            columns = np.hstack([weighted @ block for block in rows.blocks])
        return cls(mass, count, columns, absent, n_absent)

    def at(self, groups: IntArray | slice) -> "Sums":
        """Return the sums of some groups, dense."""
        return Sums(
            self.mass[groups],
            self.count[groups],
            _dense(self.columns[groups]),
            None if self.absent is None else _dense(self.absent[groups]),
            None if self.n_absent is None else _dense(self.n_absent[groups]),
        )

    def minus(self, part: "Sums") -> "Sums":
        """Subtract the sums over a part of each group's rows, both dense."""
        return Sums(
            self.mass - part.mass,
            self.count - part.count,
            self.columns - part.columns,
            None if self.absent is None else self.absent - part.absent,
            None if self.n_absent is None else self.n_absent - part.n_absent,
        )

    def plus(
        self, other: "Sums", ours: IntArray | None = None, theirs: IntArray | None = None
    ) -> "Sums":
        """Return sums over unions of groups of two sets of rows.

        Each new group is the union of group `ours` here and group `theirs` in `other`; -1 is none.
        None means all groups of both, which are the same.
        """
        ours = np.arange(len(self.mass)) if ours is None else ours
        theirs = ours if theirs is None else theirs

        def add(mine: Any, more: Any) -> Any:
            if mine is None and more is None:
                return None
            parts = [
                _selection(which, sums.shape[0]) @ sums
                for which, sums in ((ours, mine), (theirs, more))
                if sums is not None
            ]
            return sum(parts[1:], start=parts[0])

        return Sums(*(add(vars(self)[name], vars(other)[name]) for name in vars(self)))

    def decayed(self, share: float, min_mass: float) -> "Sums":
        """Multiply weights by a share; groups that weigh less than `min_mass` become empty."""
        kept = share * self.mass >= min_mass
        left = share * kept
        return Sums(
            _scaled(self.mass, left),
            _scaled(self.count, kept),
            _scaled(self.columns, left),
            _scaled(self.absent, left),
            _scaled(self.n_absent, kept),
        )

    def put(self, groups: IntArray, other: "Sums") -> None:
        """Set the sums of some groups."""
        self.mass[groups], self.count[groups] = other.mass, other.count
        self.columns[groups] = other.columns
        if self.absent is not None:
            self.absent[groups], self.n_absent[groups] = other.absent, other.n_absent


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
        weights, base = self.weights - other.weights, self.base - other.base
        if self.usable is not None:
            unusable = ~(self.usable & other.usable)
            base[unusable] = 0
            weights[unusable[:, design.column_feature]] = 0
        return Terms(weights, base, None)


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
class LabelSums:
    """Sums over the rows of labels, sufficient for every pair."""

    labels: Sums  # over the rows of each label
    shared: Sums  # over the rows of each two labels that share any
    number: IntArray  # (L, L), number of two labels in `shared`; -1 if they share no row
    # over rows of one label without another, where subtraction would lose digits
    exclusive: Sums
    # (n_shared, 2), numbers in `exclusive` of first and second label; -1 if none
    exclusive_number: IntArray
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
        sums = cls.part(Y, weights, rows, has_virtual=has_virtual).with_exclusive_numbers()
        return replace(sums, exclusive=sum_exclusive(sums.exclusive_pairs, Y, weights, rows))

    @classmethod
    def part(
        cls,
        Y: BoolArray,
        weights: FloatArray | None,
        rows: DesignMatrix,
        *,
        has_virtual: bool = False,
    ) -> "LabelSums":
        """Sum a part of the rows, without the exclusive sums, which depend on all rows."""
        none = sum_exclusive(np.empty((0, 2), dtype=np.intp), Y, weights, rows)
        if has_virtual:
            Y = with_virtual(Y)
        n_rows, n_labels = Y.shape
        by_label, by_label_row = np.nonzero(Y.T)
        labels = Sums.over(_groups(by_label, by_label_row, n_labels, n_rows), weights, rows)
        labels = labels.at(slice(None))

        first, second, row = _shared_rows(Y)
        code = first * n_labels + second
        # Codes of a small integer type are sorted by counting, which is fast.
        order = np.argsort(code.astype(np.min_scalar_type(n_labels**2)), kind="stable")
        code, row = code[order], row[order]
        is_new = np.diff(code, prepend=-1) > 0
        found, which = code[is_new], np.cumsum(is_new) - 1
        shared = Sums.over(_groups(which, row, len(found), n_rows), weights, rows)
        number = np.full((n_labels, n_labels), -1, dtype=np.int32)
        first, second = np.divmod(found, n_labels)
        number[first, second] = number[second, first] = np.arange(len(found))
        exclusive_number = np.full((len(found), 2), -1)
        return cls(labels, shared, number, none, exclusive_number, has_virtual)

    def plus(self, part: "LabelSums") -> "LabelSums":
        """Add the sums over other rows; exclusive sums stay as they are."""
        n_labels = len(self.number)
        upper = np.triu_indices(n_labels, k=1)
        ours, theirs = self.number[upper], part.number[upper]
        either = np.flatnonzero((ours >= 0) | (theirs >= 0))
        ours, theirs = ours[either], theirs[either]
        number = np.full_like(self.number, -1)
        first, second = (side[either] for side in upper)
        number[first, second] = number[second, first] = np.arange(len(either))
        exclusive_number = np.full((len(either), 2), -1)
        exclusive_number[ours >= 0] = self.exclusive_number[ours[ours >= 0]]
        return LabelSums(
            self.labels.plus(part.labels).at(slice(None)),
            self.shared.plus(part.shared, ours, theirs),
            number,
            self.exclusive,
            exclusive_number,
            self.has_virtual,
        )

    def with_exclusive_numbers(self) -> "LabelSums":
        """Determine which labels' rows need exclusive sums, given the sums over all rows."""
        pairs = self._shared_pairs
        left = self.labels.count[pairs] - self.shared.count[:, np.newaxis]
        mass = self.labels.mass[pairs]
        is_small = (left > 0) & (mass - self.shared.mass[:, np.newaxis] < mass / CANCELLED)
        number = np.where(is_small, np.cumsum(is_small).reshape(is_small.shape) - 1, -1)
        return replace(self, exclusive_number=number)

    @property
    def _shared_pairs(self) -> IntArray:
        """The two labels of each of the shared sums."""
        return np.argwhere(np.triu(self.number >= 0))

    @property
    def exclusive_pairs(self) -> IntArray:
        """The label of each of the exclusive sums, and the label that its rows lack."""
        which, side = np.nonzero(self.exclusive_number >= 0)
        shared = self._shared_pairs[which]
        pairs = np.empty_like(shared)
        pairs[self.exclusive_number[which, side]] = np.where(
            side[:, np.newaxis], shared[:, ::-1], shared
        )
        return pairs

    def with_rows(
        self, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix
    ) -> "LabelSums":
        """Add further rows.

        Rows that become a small part of their label's rows get exclusive sums from then on. Before,
        they were all of them, none, or enough for subtraction to preserve their digits.
        """
        sums = self.plus(LabelSums.part(Y, weights, rows, has_virtual=self.has_virtual))
        newly = (sums.with_exclusive_numbers().exclusive_number >= 0) & (sums.exclusive_number < 0)
        n_old, n_new = len(self.exclusive.mass), np.count_nonzero(newly)
        number = n_old + np.cumsum(newly).reshape(newly.shape) - 1
        sums = replace(sums, exclusive_number=np.where(newly, number, sums.exclusive_number))
        pairs = sums.exclusive_pairs
        before = self.only(*pairs[n_old:].T)
        old, new = np.arange(n_old + n_new), np.arange(-n_old, n_new)
        old[n_old:] = -1
        new[:n_old] = -1
        new[n_old:][before.count <= 0] = -1  # the difference is only rounding
        more = sum_exclusive(pairs, Y, weights, rows)
        exclusive = self.exclusive.plus(before, old, new).plus(more)
        return replace(sums, exclusive=exclusive)

    def decayed(self, share: float, min_mass: float) -> "LabelSums":
        """Multiply weights by a share; groups that weigh less than `min_mass` become empty."""
        return replace(
            self,
            labels=self.labels.decayed(share, min_mass),
            shared=self.shared.decayed(share, min_mass),
            exclusive=self.exclusive.decayed(share, min_mass),
        )

    def only(self, label: IntArray, other: IntArray) -> Sums:
        """Return the sums over the rows of labels without those they share with other labels."""
        left = self.labels.at(label)
        share, number, place = self._numbers(label, other)
        if len(share) == len(label):
            left = left.minus(self.shared.at(number))
        else:
            left.put(share, left.at(share).minus(self.shared.at(number)))
        is_small = place >= 0
        if is_small.any():
            left.put(share[is_small], self.exclusive.at(place[is_small]))
        return left

    def sizes(self) -> tuple[FloatArray, IntArray]:
        """Return weight and number of the rows of each label without each other label, (L, L).

        Numbers may be negative where a label became empty before the rows that it shares.
        """
        n_labels = len(self.number)
        mass = np.repeat(self.labels.mass[:, np.newaxis], n_labels, axis=1)
        count = np.repeat(self.labels.count[:, np.newaxis], n_labels, axis=1)
        label, other = np.nonzero(self.number >= 0)
        share, number, place = self._numbers(label, other)
        label, other = label[share], other[share]
        mass[label, other] -= self.shared.mass[number]
        count[label, other] -= self.shared.count[number]
        is_small = place >= 0
        mass[label[is_small], other[is_small]] = self.exclusive.mass[place[is_small]]
        count[label[is_small], other[is_small]] = self.exclusive.count[place[is_small]]
        return np.where(count > 0, mass, 0), count

    def _numbers(self, label: IntArray, other: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return where labels share rows with others, and numbers in `shared` and `exclusive`."""
        number = self.number[label, other]
        loses = number >= 0
        if self.has_virtual:
            loses &= other != len(self.number) - 1
        share = np.flatnonzero(loses)
        number = number[share]
        return share, number, self.exclusive_number[number, (label > other)[share].astype(int)]


def _dense(columns: Matrix) -> FloatArray:
    return columns.toarray() if sparse.issparse(columns) else columns


def _scaled(sums: Any, factor: FloatArray | BoolArray) -> Any:
    """Multiply the sums of each group by a factor."""
    if sums is None or not len(factor):
        return sums
    factor = factor.astype(sums.dtype)
    if sparse.issparse(sums):
        return (sparse.diags_array(factor) @ sums).tocsr()
    return sums * factor.reshape(-1, *[1] * (sums.ndim - 1))


def _selection(which: IntArray, n_groups: int) -> Any:
    """Return the matrix that selects groups; -1 gives zeros."""
    exists = which >= 0
    indptr = np.concatenate([[0], np.cumsum(exists)])
    ones = np.ones(np.count_nonzero(exists), dtype=np.int64)
    return sparse.csr_array((ones, which[exists], indptr), shape=(len(which), n_groups))


def with_virtual(Y: BoolArray) -> BoolArray:
    """Append the column of a virtual label, which all rows have."""
    return np.column_stack([Y, np.ones(len(Y), dtype=bool)])


def sum_exclusive(
    pairs: IntArray, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix
) -> Sums:
    """Sum the rows of the first label of each pair that lack the second."""
    Y = with_virtual(Y)
    groups = [np.flatnonzero(Y[:, label] & ~Y[:, other]) for label, other in pairs]
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    members = np.concatenate([np.empty(0, dtype=np.intp), *groups])
    return Sums.over(_groups(group, members, len(groups), len(Y)), weights, rows)


def _groups(group: IntArray, row: IntArray, n_groups: int, n_rows: int) -> Any:
    """Return the rows of each group as CSR; groups ascend."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    return sparse.csr_array((np.ones(len(row)), row, indptr), shape=(n_groups, n_rows))


def _shared_rows(Y: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """List each two labels of each row, the smaller first, and the row."""
    row, label = np.nonzero(Y)
    end = np.cumsum(np.count_nonzero(Y, axis=1))
    later = end[row] - np.arange(len(label)) - 1  # labels of the same row that follow
    entry = np.repeat(np.arange(len(label)), later)
    step = np.arange(len(entry)) - np.repeat(np.cumsum(later) - later, later) + 1
    return label[entry], label[entry + step], row[entry]
