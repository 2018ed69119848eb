"""Sums over the rows of classes.

The rows of label i without label j, one class of a pair's binary problem, are all rows of i
except those that both share; the same holds for sums over them. Only labels and the pairs that
share rows need sums of their own; all others follow by subtraction.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.computing import one_blas_thread
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix
from pairmend.naive_bayes.features import DesignMatrix

CANCELLED = 8
"""Rows are summed separately where subtraction would leave less than 1 part in this many."""


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
        """Return the sums over unions of groups, given as a matrix of integers."""
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
        pairs = sums.exclusive_pairs
        return replace(sums, exclusive=sets.lacking(pairs)) if len(pairs) else sums

    @classmethod
    @one_blas_thread()
    def part(cls, sets: GroupedRows, *, has_virtual: bool) -> "LabelSums":
        """Sum a part of the rows, without the exclusive sums, which depend on all rows."""
        labels = sets.sums.combined(sets.labels.T.astype(np.intp)).at(slice(None))
        first, second, shared = sets.shared()
        n_labels = sets.labels.shape[1]
        number = np.full((n_labels, n_labels), -1, dtype=np.int32)
        number[first, second] = number[second, first] = np.arange(len(first))
        no_number = np.full_like(number, -1)
        return cls(labels, shared, number, labels.at(slice(0)), no_number, has_virtual)

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
        left.put(shares, left.at(shares).minus(shared))
        place = self.exclusive_number[label, other]
        is_small = place >= 0
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
