"""RandomSubspaceNB on blocks of rows: feature statistics and sums, block by block."""

from dataclasses import replace
from typing import Any

import dask
import numpy as np
from dask import delayed

from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.training import unit_weight, without_negligible
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.distributed.rows import Block, Rows, as_task, in_a_tree
from pairmend.frames import FrameEncoder
from pairmend.naive_bayes.estimator import RandomSubspaceNB, read_numbers
from pairmend.naive_bayes.features import Design, DistinctValues, FeatureStatistics
from pairmend.naive_bayes.sums import GroupedRows, LabelSums, Sums
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

MOST_GROUPS = 64
"""Groups of features whose distinct values are combined separately, at the most."""


def train_pairs(
    learner: SubspaceNBPairLearner, rows: Rows, train: IntArray, pairs: IntArray
) -> SubspaceNBPairLearner:
    """Train all pairs on the chosen rows, in two or three passes over their blocks.

    The learner equals one that is trained on these rows at once, but for the order of additions.
    """
    seeded = seed_estimator(learner.estimator, learner.seed)
    blocks, design = _read(seeded, rows, train)
    n_labels, given = int(pairs.max()) + 1, as_task(design)
    parts = [delayed(_sum_labels)(block, given, n_labels) for block in blocks]
    sums = in_a_tree(parts).compute().with_exclusive_numbers()
    if len(lacking := sums.exclusive_pairs):
        parts = [delayed(_sum_exclusive)(block, given, n_labels, lacking) for block in blocks]
        sums = replace(sums, exclusive=in_a_tree(parts).compute())
    return learner.set_sums(pairs, design, sums)


def _read(seeded: RandomSubspaceNB, rows: Rows, train: IntArray) -> tuple[list[Any], Design]:
    """Return delayed blocks of numbers of the chosen rows, and their design."""
    declared, encoder = seeded.declare(rows.like)
    unit = 1.0
    if rows.weights is not None:
        unit = unit_weight(rows.weights[train])
        train = train[without_negligible(rows.weights[train], unit) > 0]
    given = as_task((seeded, encoder, unit))
    blocks = [delayed(_read_numbers)(block, given) for block in rows.choose(train)]
    found = _distinct_values(blocks, rows.like.shape[1], declared)
    features = replace(seeded.statistics_of_values(found, declared, encoder), unit=unit)
    # Centres need only be near the means.
    return blocks, delayed(_design)(blocks[0], as_task(features)).compute()


def _read_numbers(
    block: Block, given: tuple[RandomSubspaceNB, FrameEncoder | None, float]
) -> Block:
    """Return a block with numbers and relative weights."""
    seeded, encoder, unit = given
    weights = None if block.weights is None else block.weights / unit
    return Block(read_numbers(seeded, block.X, encoder), block.Y, weights)


def _distinct_values(
    blocks: list[Any], n_features: int, declared: BoolArray | None
) -> DistinctValues:
    """Find the distinct values of features; those of numeric features are counted and dropped."""
    declared = np.zeros(n_features, dtype=bool) if declared is None else declared
    n_groups = min(n_features, len(blocks), MOST_GROUPS)
    groups = np.array_split(np.arange(n_features), n_groups)
    lists = [delayed(_list_values, nout=n_groups)(block, groups) for block in blocks]
    parts = [
        delayed(_count_values)(in_a_tree(group_lists, _union), declared[group])
        for group, group_lists in zip(groups, zip(*lists, strict=True), strict=True)
    ]
    counts, low, high, is_kept, values = (
        np.concatenate(columns) for columns in zip(*dask.compute(*parts), strict=True)
    )
    feature = np.repeat(np.flatnonzero(is_kept), counts[is_kept])
    return DistinctValues(counts, low, high, lambda features: values[features[feature]])


def _list_values(block: Block, groups: list[IntArray]) -> list[tuple[IntArray, FloatArray]]:
    """Return the numbers of distinct values of each group of features, and the values."""
    found = DistinctValues.of(block.X)
    every = np.ones(len(found.count), dtype=bool)
    values = np.split(found.listed(every), np.cumsum(found.count)[:-1])
    return [(found.count[group], np.concatenate([values[f] for f in group])) for group in groups]


def _union(parts: list[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    found = DistinctValues.union(parts)
    return found.count, found.listed(np.ones(len(found.count), dtype=bool))


def _count_values(part: tuple[IntArray, FloatArray], declared: BoolArray) -> tuple[Any, ...]:
    """Return what `DistinctValues` has; values of those features only that may be categorical."""
    found = DistinctValues.union([part])
    is_kept = declared | (found.count <= 2)
    return found.count, found.low, found.high, is_kept, found.listed(is_kept)


def _design(block: Block, features: FeatureStatistics) -> Design:
    return Design.from_rows(features, block.X)


def _sum_labels(block: Block, design: Design, n_labels: int) -> LabelSums:
    has_virtual = block.Y.shape[1] < n_labels
    return LabelSums.part(_label_sets(block, design, has_virtual), has_virtual=has_virtual)


def _sum_exclusive(block: Block, design: Design, n_labels: int, pairs: IntArray) -> Sums:
    return _label_sets(block, design, block.Y.shape[1] < n_labels).lacking(pairs)


def _label_sets(block: Block, design: Design, has_virtual: bool) -> GroupedRows:
    return GroupedRows.of(block.Y, block.weights, design.expand(block.X), has_virtual=has_virtual)
