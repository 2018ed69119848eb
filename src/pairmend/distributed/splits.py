"""Splits of rows in blocks: folds that are drawn in each block, or given row numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pairmend._utils.typing import BoolArray, IntArray
from pairmend.mended.label_sets import distinct_rows


class BlockSplits(Protocol):
    """The splits of the rows of a block, as positions in the block."""

    def train(self, split: int) -> IntArray:
        """Return the training rows; all rows if `split` is the number of splits."""

    def test(self, split: int) -> IntArray:
        """Return the test rows."""

    def tested(self) -> IntArray:
        """Return the rows in any test part, in ascending order."""


@dataclass(frozen=True)
class Folds:
    """K folds.

    Attributes
    ----------
    fold : ndarray of int, shape (n_rows,)
        The fold of each row, -1 for a row of weight 0.
    """

    fold: IntArray

    def train(self, split: int) -> IntArray:
        """Return the rows of all other folds."""
        return np.flatnonzero((self.fold >= 0) & (self.fold != split))

    def test(self, split: int) -> IntArray:
        """Return the rows of the fold."""
        return np.flatnonzero(self.fold == split)

    def tested(self) -> IntArray:
        """Return all rows of positive weight."""
        return np.flatnonzero(self.fold >= 0)


@dataclass(frozen=True)
class GivenSplits:
    """Splits that the user gave, cut to a block.

    Attributes
    ----------
    parts : sequence of tuple
        Training and test rows of each split.
    present : ndarray of int
        Rows of positive weight.
    """

    parts: Sequence[tuple[IntArray, IntArray]]
    present: IntArray

    def train(self, split: int) -> IntArray:
        """Return the training rows; all rows if `split` is the number of splits."""
        return self.present if split == len(self.parts) else self.parts[split][0]

    def test(self, split: int) -> IntArray:
        """Return the test rows."""
        return self.parts[split][1]

    def tested(self) -> IntArray:
        """Return the rows in any test part, in ascending order."""
        return np.unique(np.concatenate([test for _, test in self.parts]))


@dataclass(frozen=True)
class GivenRows:
    """Row numbers of the splits of a block; none if rows are not split.

    Attributes
    ----------
    parts : sequence of tuple
        Training and test rows of each split.
    """

    parts: Sequence[tuple[IntArray, IntArray]] = ()

    def of_block(self, Y: BoolArray, present: BoolArray) -> GivenSplits:
        """Return the splits of the rows with these labels."""
        return GivenSplits(self.parts, np.flatnonzero(present))


@dataclass(frozen=True)
class FoldDraw:
    """How to draw the folds of a block: its own random numbers, stratified by label sets.

    Attributes
    ----------
    n_folds, seed : int
        Number of folds, and a seed for all blocks.
    number : int
        Number of the block.
    """

    n_folds: int
    seed: int
    number: int

    def of_block(self, Y: BoolArray, present: BoolArray) -> Folds:
        """Draw the folds of the rows with these labels.

        Rows are shuffled within each label set, and dealt to the folds in turn, set after set.
        The rows of a set in a block differ between two folds by at most one. The stratification of
        `MultilabelStratifiedKFold`, a loop over rows, would take longer than the training.
        """
        fold = np.full(len(Y), -1)
        rows = np.flatnonzero(present)
        rng = np.random.default_rng([self.seed, self.number])
        _, sets = distinct_rows(Y[rows])
        order = np.lexsort((rng.random(len(rows)), sets))
        fold[rows[order]] = (np.arange(len(rows)) + rng.integers(self.n_folds)) % self.n_folds
        return Folds(fold)


def cut_splits(
    splits: Sequence[tuple[IntArray, IntArray]], sizes: Sequence[int]
) -> list[GivenRows]:
    """Return the splits of all rows by block, each part in ascending order."""
    cut = [(cut_rows(train, sizes), cut_rows(test, sizes)) for train, test in splits]
    return [
        GivenRows([(train[block], test[block]) for train, test in cut])
        for block in range(len(sizes))
    ]


def cut_rows(rows: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Return row numbers by block, ascending, as positions in the block."""
    rows = np.sort(rows)
    ends = np.cumsum(sizes)
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    return [part - start for part, start in zip(parts, ends - sizes, strict=True)]
