"""Sums over the rows of each label and of each two labels that share rows.

The rows of label i without label j, one side of a pair's binary problem, are all rows of i
less those that both share, and so are sums over them. Only labels and the pairs that do share
rows need sums of their own; all others follow by subtraction.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.products import multiply
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.naive_bayes.design_matrix import Design, DesignMatrix

CANCELLED = 8
"""Where subtraction would leave less than one part in so many, rows are summed anew."""
DENSE_GROUPS = 0.125
"""Share of rows in a group from which on a dense product adds them up faster."""


@dataclass(frozen=True)
class Sums:
    """Sums over groups of rows.

    Attributes
    ----------
    mass : ndarray of shape (n_groups,)
        Weight of the rows.
    count : ndarray of int, shape (n_groups,)
        Number of the rows, which says without rounding whether there is any.
    columns : ndarray or CSR of shape (n_groups, n_columns)
        Weighted sums of a basis' columns.
    absent, n_absent : ndarray of shape (n_groups, d), CSR, or None
        Weight and number of the rows that leave out a feature; None where none does.
    """

    mass: FloatArray
    count: IntArray
    columns: Matrix
    absent: Any
    n_absent: Any

    @classmethod
    def over(cls, groups: Any, weights: FloatArray | None, rows: DesignMatrix) -> "Sums":
        """Add up rows.

        Parameters
        ----------
        groups : CSR of ones, shape (n_groups, n)
            Which rows are in which group.
        weights : ndarray of shape (n,) or None
            Weights of the rows, if they are not all 1.
        rows : DesignMatrix
            The rows.
        """
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
            columns = np.hstack([multiply(weighted, block) for block in rows.blocks])
        else:
            columns = np.hstack([weighted @ block for block in rows.blocks])
        return cls(mass, count, columns, absent, n_absent)

    def at(self, groups: IntArray | slice) -> "Sums":
        """Return the sums of some of the groups, dense."""
        return Sums(
            self.mass[groups],
            self.count[groups],
            _dense(self.columns[groups]),
            None if self.absent is None else _dense(self.absent[groups]),
            None if self.n_absent is None else _dense(self.n_absent[groups]),
        )

    def less(self, part: "Sums") -> "Sums":
        """Return the sums over the rows that are not in a part of them, dense both."""
        return Sums(
            self.mass - part.mass,
            self.count - part.count,
            self.columns - part.columns,
            None if self.absent is None else self.absent - part.absent,
            None if self.n_absent is None else self.n_absent - part.n_absent,
        )

    def plus(self, other: "Sums", ours: IntArray, theirs: IntArray) -> "Sums":
        """Return the sums over groups that are made of groups here and there.

        Parameters
        ----------
        other : Sums
            Sums over other rows.
        ours, theirs : ndarray of shape (n,)
            Which group here, and which there, each of the new groups is made of; -1 for none.
        """

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

    def faded(self, share: float, forgotten: float) -> "Sums":
        """Return the sums with a share of the weight left, those of groups now too light empty."""
        kept = share * self.mass >= forgotten
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
    """What classes make of a basis' columns: log-likelihoods up to a common constant.

    Attributes
    ----------
    weights : ndarray of shape (n_classes, n_columns)
        Weights of the columns.
    base : ndarray of shape (n_classes, d)
        What each feature adds for a row that is zero in all columns.
    usable : ndarray of bool, shape (n_classes, d), or None
        Features the class has seen; None if all.
    """

    weights: FloatArray
    base: FloatArray
    usable: Any

    @classmethod
    def of(cls, sums: Sums, design: Design) -> "Terms":
        """Estimate Gaussians and Laplace-smoothed frequencies from sums over classes."""
        feature_statistics, numeric = design.feature_statistics, design.numeric
        n, m = len(numeric), len(sums.mass)
        known = sums.mass[:, np.newaxis]  # weight of the rows that show a feature
        usable = None
        if sums.absent is not None:
            usable = feature_statistics.categorical | (sums.count[:, np.newaxis] > sums.n_absent)
            known = np.maximum(known - sums.absent, 0)
        weights = np.empty(sums.columns.shape)
        base = np.zeros((m, len(feature_statistics.categorical)))
        if n:
            divisor = known if known.shape[1] == 1 else known[:, numeric]
            divisor = np.where(divisor > 0, divisor, 1)
            mean = np.divide(sums.columns[:, :n], divisor, out=weights[:, :n])
            square = mean * mean
            # The floor is the unit, so the variance is at least 1; rounding never shows below.
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
            _count_values(sums.columns[:, 2 * n :], known, design, weights[:, 2 * n :], base)
        return cls(weights, base, usable)

    def at(self, classes: slice) -> "Terms":
        """Return the terms of some of the classes."""
        usable = None if self.usable is None else self.usable[classes]
        return Terms(self.weights[classes], self.base[classes], usable)

    def less(self, other: "Terms", design: Design) -> "Terms":
        """Return what makes log-odds: the difference, over features that both have seen."""
        weights, base = self.weights - other.weights, self.base - other.base
        if self.usable is not None:
            unusable = ~(self.usable & other.usable)
            base[unusable] = 0
            weights[unusable[:, design.column_feature]] = 0
        return Terms(weights, base, None)


def _count_values(
    counts: FloatArray, known: FloatArray, design: Design, weights: FloatArray, base: FloatArray
) -> None:
    """Fill in the terms of categorical features from the counts of all values but the base."""
    feature_statistics = design.feature_statistics
    features = np.flatnonzero(design.base >= 0)
    own = design.column_feature[2 * len(design.numeric) :]
    total = known if known.shape[1] == 1 else known[:, features]
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
    # Few numbers of values are different.
    sizes, which = np.unique(np.diff(feature_statistics.offsets)[features], return_inverse=True)
    if total.shape[1] == 1:
        log_total = np.log(total + sizes)[:, which]
    else:
        log_total = np.log(total + sizes[which])
    log_base -= log_total
    base[:, features] = log_base


@dataclass(frozen=True)
class LabelSums:
    """Sums over the rows of labels, enough for every pair.

    Attributes
    ----------
    labels : Sums
        Over the rows of each label.
    shared : Sums
        Over the rows of each two labels that share any.
    number : ndarray of shape (L, L)
        Number of two labels among those; -1 for labels that share no row.
    alone : Sums
        Over the rows of one label without another, where these are so few among the label's
        own that subtraction would leave mostly rounding.
    alone_number : ndarray of shape (n_shared, 2)
        Number of the rows of the first, and of the second, label alone among those; -1 where
        they are not summed.
    has_virtual : bool
        Whether the last label is the virtual one. Every row is its own, so it loses the rows
        it shares with another label to that label, and takes none from it.
    """

    labels: Sums
    shared: Sums
    number: IntArray
    alone: Sums
    alone_number: IntArray
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
        """Add up rows by their labels.

        Parameters
        ----------
        Y : ndarray of bool, shape (n, L)
            Label indicators.
        weights : ndarray of shape (n,) or None
            Weights of the rows, if they are not all 1.
        rows : DesignMatrix
            The rows.
        has_virtual : bool, default=False
            Whether a virtual label is to be added.
        """
        sums = cls.part(Y, weights, rows, has_virtual=has_virtual).marked()
        return replace(sums, alone=sum_alone(sums.alone_pairs, Y, weights, rows))

    @classmethod
    def part(
        cls,
        Y: BoolArray,
        weights: FloatArray | None,
        rows: DesignMatrix,
        *,
        has_virtual: bool = False,
    ) -> "LabelSums":
        """Add up a part of the rows; no label's are summed alone, before all are there."""
        nothing = sum_alone(np.empty((0, 2), dtype=np.intp), Y, weights, rows)
        if has_virtual:
            Y = with_virtual(Y)
        n_rows, n_labels = Y.shape
        by_label, by_label_row = np.nonzero(Y.T)
        labels = Sums.over(_groups(by_label, by_label_row, n_labels, n_rows), weights, rows)
        labels = labels.at(slice(None))

        first, second, row = _shared_rows(Y)
        code = first * n_labels + second
        # Few codes are sorted by counting.
        order = np.argsort(code.astype(np.min_scalar_type(n_labels**2)), kind="stable")
        code, row = code[order], row[order]
        is_new = np.diff(code, prepend=-1) > 0
        found, which = code[is_new], np.cumsum(is_new) - 1
        shared = Sums.over(_groups(which, row, len(found), n_rows), weights, rows)
        number = np.full((n_labels, n_labels), -1, dtype=np.int32)
        first, second = np.divmod(found, n_labels)
        number[first, second] = number[second, first] = np.arange(len(found))
        alone_number = np.full((len(found), 2), -1)
        return cls(labels, shared, number, nothing, alone_number, has_virtual)

    def plus(self, part: "LabelSums") -> "LabelSums":
        """Return the sums over these rows and a part of others; those alone stay as they are."""
        n_labels = len(self.number)
        upper = np.triu_indices(n_labels, k=1)
        ours, theirs = self.number[upper], part.number[upper]
        either = np.flatnonzero((ours >= 0) | (theirs >= 0))
        ours, theirs = ours[either], theirs[either]
        number = np.full_like(self.number, -1)
        first, second = (side[either] for side in upper)
        number[first, second] = number[second, first] = np.arange(len(either))
        alone_number = np.full((len(either), 2), -1)
        alone_number[ours >= 0] = self.alone_number[ours[ours >= 0]]
        every = np.arange(n_labels)
        return LabelSums(
            self.labels.plus(part.labels, every, every).at(slice(None)),
            self.shared.plus(part.shared, ours, theirs),
            number,
            self.alone,
            alone_number,
            self.has_virtual,
        )

    def marked(self) -> "LabelSums":
        """Say which labels' rows are to be summed without another's, now that all are there."""
        pairs = self._shared_pairs
        left = self.labels.count[pairs] - self.shared.count[:, np.newaxis]
        mass = self.labels.mass[pairs]
        few = (left > 0) & (mass - self.shared.mass[:, np.newaxis] < mass / CANCELLED)
        number = np.where(few, np.cumsum(few).reshape(few.shape) - 1, -1)
        return replace(self, alone_number=number)

    @property
    def _shared_pairs(self) -> IntArray:
        """The two labels of each of the shared sums."""
        return np.argwhere(np.triu(self.number >= 0))

    @property
    def alone_pairs(self) -> IntArray:
        """The label of each of the sums alone, and the one its rows lack."""
        which, side = np.nonzero(self.alone_number >= 0)
        shared = self._shared_pairs[which]
        pairs = np.empty_like(shared)
        pairs[self.alone_number[which, side]] = np.where(
            side[:, np.newaxis], shared[:, ::-1], shared
        )
        return pairs

    def extended(self, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix) -> "LabelSums":
        """Return the sums over these rows and further ones.

        Rows that become few among their label's are summed alone from then on. Before, they
        were all of them, none, or so many that subtraction left their digits.
        """
        sums = self.plus(LabelSums.part(Y, weights, rows, has_virtual=self.has_virtual))
        newly = (sums.marked().alone_number >= 0) & (sums.alone_number < 0)
        n_old, n_new = len(self.alone.mass), np.count_nonzero(newly)
        number = n_old + np.cumsum(newly).reshape(newly.shape) - 1
        sums = replace(sums, alone_number=np.where(newly, number, sums.alone_number))
        pairs = sums.alone_pairs
        before = self.only(*pairs[n_old:].T)
        old, new = np.arange(n_old + n_new), np.arange(-n_old, n_new)
        old[n_old:] = -1
        new[:n_old] = -1
        new[n_old:][before.count <= 0] = -1  # what subtraction left is rounding
        more = sum_alone(pairs, Y, weights, rows)
        every = np.arange(len(pairs))
        alone = self.alone.plus(before, old, new).plus(more, every, every)
        return replace(sums, alone=alone)

    def faded(self, share: float, forgotten: float) -> "LabelSums":
        """Return the sums with a share of each row's weight left.

        Parameters
        ----------
        share : float
            What is left, in (0, 1].
        forgotten : float
            Groups of rows that weigh less together are empty from then on.
        """
        return replace(
            self,
            labels=self.labels.faded(share, forgotten),
            shared=self.shared.faded(share, forgotten),
            alone=self.alone.faded(share, forgotten),
        )

    def only(self, label: IntArray, other: IntArray) -> Sums:
        """Return the sums over the rows of labels without those they share with others.

        Parameters
        ----------
        label, other : ndarray of shape (n_pairs,)
            Numbers of labels.
        """
        left = self.labels.at(label)
        share, number, place = self._numbers(label, other)
        if len(share) == len(label):
            left = left.less(self.shared.at(number))
        else:
            left.put(share, left.at(share).less(self.shared.at(number)))
        few = place >= 0
        if few.any():
            left.put(share[few], self.alone.at(place[few]))
        return left

    def sizes(self) -> tuple[FloatArray, IntArray]:
        """Return weight and number of the rows of each label without each other, (L, L).

        Numbers below 0 mean none: of a label forgotten a call before the rows it shares.
        """
        n_labels = len(self.number)
        mass = np.repeat(self.labels.mass[:, np.newaxis], n_labels, axis=1)
        count = np.repeat(self.labels.count[:, np.newaxis], n_labels, axis=1)
        label, other = np.nonzero(self.number >= 0)
        share, number, place = self._numbers(label, other)
        label, other = label[share], other[share]
        mass[label, other] -= self.shared.mass[number]
        count[label, other] -= self.shared.count[number]
        few = place >= 0
        mass[label[few], other[few]] = self.alone.mass[place[few]]
        count[label[few], other[few]] = self.alone.count[place[few]]
        return np.where(count > 0, mass, 0), count

    def _numbers(self, label: IntArray, other: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return where labels lose rows to others, and the numbers in `shared` and `alone`."""
        number = self.number[label, other]
        loses = number >= 0
        if self.has_virtual:
            loses &= other != len(self.number) - 1
        share = np.flatnonzero(loses)
        number = number[share]
        return share, number, self.alone_number[number, (label > other)[share].astype(int)]


def _dense(columns: Matrix) -> FloatArray:
    return columns.toarray() if sparse.issparse(columns) else columns


def _scaled(sums: Any, factor: FloatArray | BoolArray) -> Any:
    """Multiply the sums of each group, if there are any, with a number."""
    if sums is None or not len(factor):
        return sums
    factor = factor.astype(sums.dtype)
    if sparse.issparse(sums):
        return (sparse.diags_array(factor) @ sums).tocsr()
    return sums * factor.reshape(-1, *[1] * (sums.ndim - 1))


def _selection(which: IntArray, n_groups: int) -> Any:
    """Return the matrix that picks groups, and zeros for -1."""
    there = which >= 0
    indptr = np.concatenate([[0], np.cumsum(there)])
    ones = np.ones(np.count_nonzero(there), dtype=np.int64)
    return sparse.csr_array((ones, which[there], indptr), shape=(len(which), n_groups))


def with_virtual(Y: BoolArray) -> BoolArray:
    """Add a virtual label, which all rows carry."""
    return np.column_stack([Y, np.ones(len(Y), dtype=bool)])


def sum_alone(
    pairs: IntArray, Y: BoolArray, weights: FloatArray | None, rows: DesignMatrix
) -> Sums:
    """Add up the rows of first labels, the virtual one maybe among them, that lack the second."""
    Y = with_virtual(Y)
    groups = [np.flatnonzero(Y[:, label] & ~Y[:, other]) for label, other in pairs]
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    members = np.concatenate([np.empty(0, dtype=np.intp), *groups])
    return Sums.over(_groups(group, members, len(groups), len(Y)), weights, rows)


def _groups(group: IntArray, row: IntArray, n_groups: int, n_rows: int) -> Any:
    """Return which rows are in which group, as CSR; groups ascend."""
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
