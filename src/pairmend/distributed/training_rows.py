"""Training rows in delayed blocks, with their labels, weights and splits."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, NamedTuple

import dask
import numpy as np
from dask import delayed

from pairmend._utils.fit_params import route_fit_params
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.distributed.blocks import (
    Collection,
    aligned,
    check_same_blocks,
    in_a_tree,
    read_block,
    read_labels,
    read_target,
)
from pairmend.distributed.splits import BlockSplits, FoldDraw, GivenRows, cut_splits
from pairmend.model_selection.out_of_fold import split_rows


class SplitBlock(NamedTuple):
    """Some rows with their labels, weights and splits."""

    X: MatrixLike  # ndarray, CSR or DataFrame
    Y: BoolArray  # (n, L), label indicators
    weights: FloatArray | None  # (n,); None means ones
    splits: BlockSplits


@dataclass(frozen=True)
class SplitSummary:
    """Numbers of rows of each split; the last one has all rows for training."""

    n_train: IntArray  # (n_splits + 1,)
    n_test: IntArray  # (n_splits,)
    n_positive: IntArray  # (n_splits + 1, n_labels), training rows with the label
    mass: FloatArray  # (n_splits + 1,), weight of the training rows
    positive_mass: FloatArray  # (n_splits + 1, n_labels)

    def varying(self, split: int) -> IntArray:
        """Return the labels that some training rows have and some do not."""
        n_positive = self.n_positive[split]
        return np.flatnonzero((n_positive > 0) & (n_positive < self.n_train[split]))

    def smoothed_share(self, split: int, unit: float) -> FloatArray:
        """Return the Laplace-smoothed share of training rows with each label."""
        share: FloatArray = (self.positive_mass[split] / unit + 1) / (self.mass[split] / unit + 2)
        return share


@dataclass(frozen=True)
class TrainingRows:
    """Rows of Dask collections.

    Attributes
    ----------
    X, y : Collection
        Rows and targets, in the same blocks.
    target : Target
        Names of the labels; it has no rows.
    sizes : list of int
        Numbers of rows of the blocks.
    sample_weight : ndarray of shape (n_rows,) or None
        Checked sample weights, 0 for rows that are left out.
    plans : list of FoldDraw or GivenRows
        How to split each block.
    n_splits : int
        Number of splits.
    indices : ndarray of int
        Rows with an out-of-fold prediction, in ascending order.
    """

    X: Collection
    y: Collection
    target: Target
    sizes: list[int]
    sample_weight: FloatArray | None
    plans: list[Any]
    n_splits: int
    indices: IntArray

    @classmethod
    def read(cls, classifier: Any, base: Any, X: Any, y: Any, sample_weight: Any) -> "TrainingRows":
        """Read collections for a classifier with this base classifier; rows are not split."""
        rows, labels = Collection.of(X, "X"), Collection.of(aligned(X, y), "y")
        check_same_blocks(rows, labels)
        target = read_target(classifier, labels, min_labels=1)
        sizes = rows.sizes or list(
            dask.compute(*(delayed(count_rows)(block) for block in labels.blocks))
        )
        if not sum(sizes):
            raise ValueError("X has 0 rows in all its blocks, at least 1 is needed.")
        if sample_weight is not None:
            (sample_weight,) = dask.compute(sample_weight)
            given = {"sample_weight": np.asarray(sample_weight)}
            _, sample_weight = route_fit_params(classifier, base, np.empty((sum(sizes), 0)), given)
        plans = [GivenRows()] * len(sizes)
        return cls(rows, labels, target, sizes, sample_weight, plans, 0, np.empty(0, dtype=int))

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return np.ones(sum(self.sizes)) if self.sample_weight is None else self.sample_weight

    @property
    def classes(self) -> Any:
        """The classes of a 1-D target, None of indicators."""
        return None if self.target.multilabel else self.target.classes

    @property
    def indicators(self) -> Target:
        """The target of a base classifier: each of 1-D classes is a label, which one row has."""
        return Target(self.target.Y, np.arange(len(self.target.classes)), multilabel=True)

    def split(self, cv: Any, seed: int) -> "TrainingRows":
        """Return the same rows with splits.

        An int is the number of folds, which are drawn in each block; otherwise `cv` gives row
        numbers. A splitter gets the target, for which all labels are gathered here.
        """
        present = self.weights > 0
        if isinstance(cv, Integral):
            n_folds = int(cv)
            if n_folds > present.sum():
                raise ValueError(
                    f"{n_folds} folds need at least as many samples, got {present.sum()}. Pass "
                    "fewer folds or more samples."
                )
            plans = [FoldDraw(n_folds, seed, number) for number in range(len(self.sizes))]
            return replace(self, plans=plans, n_splits=n_folds, indices=np.flatnonzero(present))
        if hasattr(cv, "split"):
            target = replace(self.target, Y=np.concatenate(dask.compute(*self.label_blocks())))
        else:
            target = replace(self.target, Y=np.empty((len(present), 0), bool), multilabel=True)
        splits = split_rows(cv, np.empty((len(present), 0)), target, present, seed)
        tests = [test for _, test in splits]
        return replace(
            self,
            plans=cut_splits(splits, self.sizes),
            n_splits=len(splits),
            indices=np.unique(np.concatenate([np.empty(0, dtype=np.int64), *tests])),
        )

    def blocks(self) -> list[Any]:
        """Return the delayed `SplitBlock` of each block."""
        return [
            delayed(_read_split_block)(x, y, self.classes, plan, weights)
            for x, y, plan, weights in zip(
                self.X.blocks,
                self.y.blocks,
                self.delayed_plans(),
                self.weights_by_block(),
                strict=True,
            )
        ]

    def label_blocks(self) -> list[Any]:
        """Return the delayed label indicators of each block."""
        return [delayed(read_labels)(y, self.classes) for y in self.y.blocks]

    def weights_by_block(self) -> Sequence[FloatArray | None]:
        """Return the sample weights of each block, None if all are 1."""
        if self.sample_weight is None:
            return [None] * len(self.sizes)
        return np.split(self.sample_weight, np.cumsum(self.sizes)[:-1])

    def summary(self) -> SplitSummary:
        """Count the rows and labels of all splits; only labels are computed."""
        parts = [
            delayed(_summarise)(Y, plan, weights, self.n_splits)
            for Y, plan, weights in zip(
                self.label_blocks(), self.delayed_plans(), self.weights_by_block(), strict=True
            )
        ]
        summary: SplitSummary = in_a_tree(_add_summaries, parts).compute()
        return summary

    def delayed_plans(self) -> list[Any]:
        """Return the plans as tasks: dask would look for tasks inside of arrays and lists."""
        return [delayed(plan, pure=False, traverse=False) for plan in self.plans]


def _read_split_block(
    X: MatrixLike, y: Any, classes: Any, plan: Any, weights: FloatArray | None
) -> SplitBlock:
    block = read_block(X, y, classes)
    return SplitBlock(block.X, block.Y, weights, splits_of(block.Y, plan, weights))


def splits_of(Y: BoolArray, plan: Any, weights: FloatArray | None) -> BlockSplits:
    """Return the splits of a block; rows of weight 0 are in none."""
    present = np.ones(len(Y), dtype=bool) if weights is None else weights > 0
    splits: BlockSplits = plan.of_block(Y, present)
    return splits


def _summarise(Y: BoolArray, plan: Any, weights: FloatArray | None, n_splits: int) -> SplitSummary:
    splits = splits_of(Y, plan, weights)
    trains = [splits.train(split) for split in range(n_splits + 1)]
    mass = np.ones(len(Y)) if weights is None else weights
    return SplitSummary(
        np.array([len(train) for train in trains]),
        np.array([len(splits.test(split)) for split in range(n_splits)], dtype=np.int64),
        np.array([Y[train].sum(axis=0) for train in trains]),
        np.array([mass[train].sum() for train in trains]),
        np.array([mass[train] @ Y[train] for train in trains]),
    )


def _add_summaries(parts: Sequence[SplitSummary]) -> SplitSummary:
    sums = {
        field.name: np.sum([getattr(part, field.name) for part in parts], axis=0)
        for field in fields(SplitSummary)
    }
    return SplitSummary(**sums)
