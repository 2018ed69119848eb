"""RandomSubspaceNB on blocks of rows: feature statistics and sums, block by block."""

from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone

from pairmend._utils.arrays import EncodedFrame, has_categories, set_feature_attributes
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.distributed.rows import Block, Rows, as_task, in_a_tree
from pairmend.frames import FrameEncoder
from pairmend.frames.kinds import MAX_CATEGORIES
from pairmend.mended.rows import RowEncoder
from pairmend.naive_bayes.estimator import RandomSubspaceNB, read_numbers
from pairmend.naive_bayes.features import Design, DistinctValues, FeatureStatistics
from pairmend.naive_bayes.sums import GroupedRows, LabelSums, Sums
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

NO_ENCODER = RowEncoder(None, for_base=False, for_distances=False)
MOST_GROUPS = 64
"""Groups of features whose distinct values are combined separately, at the most."""


def train_pairs(
    learner: SubspaceNBPairLearner, rows: Rows, train: IntArray, pairs: IntArray
) -> SubspaceNBPairLearner:
    """Train all pairs on the chosen rows, in two or three passes over their blocks.

    The learner equals one that is trained on these rows at once, but for the order of additions.
    """
    seeded = seed_estimator(learner.estimator, learner.seed)
    numbers = _Numbers.of(seeded, rows, NO_ENCODER, train)
    # Centres need only be near the means.
    design = delayed(_design)(numbers.blocks[0], as_task(numbers.features)).compute()
    n_labels, task = int(pairs.max()) + 1, as_task(design)
    sums = in_a_tree(numbers.map(_sum_labels, task, n_labels)).compute().with_exclusive_numbers()
    if len(sums.exclusive_pairs):
        parts = numbers.map(_sum_exclusive, task, n_labels, sums.exclusive_pairs)
        sums = replace(sums, exclusive=in_a_tree(parts).compute())
    return learner.set_sums(pairs, design, sums)


def train_labels(
    seeded: RandomSubspaceNB, rows: Rows, encoder: RowEncoder, train: IntArray, labels: IntArray
) -> list[RandomSubspaceNB]:
    """Train a classifier for each of some labels on the chosen rows, in two passes.

    Each equals one that is trained on these rows at once, but for the order of additions.
    """
    if not len(labels):
        return []
    numbers = _Numbers.of(seeded, rows, encoder, train)
    # Centres need only be near the means.
    design = delayed(_design)(numbers.blocks[0], as_task(numbers.features)).compute()
    sums = in_a_tree(numbers.map(_sum_classes, as_task(design), labels)).compute()
    trained = []
    for place in range(len(labels)):
        classifier = clone(seeded)
        set_feature_attributes(classifier, numbers.like)
        both = sums.at(slice(2 * place, 2 * place + 2))
        trained.append(classifier._set_sums([0, 1], both, design))
    return trained


def check_frame(like: Any, encoder: FrameEncoder | None) -> None:
    """Raise a ValueError for columns of a frame that can only be encoded with all their rows."""
    if isinstance(like, EncodedFrame):  # the frame was checked before it was encoded
        return
    for place, summary in enumerate(() if encoder is None else encoder.columns_):
        column = like.iloc[:, place]
        found = column.cat.categories if has_categories(column) else None
        if summary.kind == "number":
            continue
        # Dask represents unknown categories by a placeholder.
        if found is None or "__UNKNOWN_CATEGORIES__" in found or len(found) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {column.name!r} holds {column.dtype}; columns of Dask collections must "
                f"hold numbers, or at most {MAX_CATEGORIES} categories that are known: "
                f"X = X.categorize(columns=[{column.name!r}])."
            )


@dataclass(frozen=True)
class _Numbers:
    """The numbers of chosen rows in blocks, and the statistics of their features."""

    like: Any  # an empty block
    blocks: list[Any]  # delayed blocks of numbers
    features: FeatureStatistics

    @classmethod
    def of(
        cls, seeded: RandomSubspaceNB, rows: Rows, encoder: RowEncoder, train: IntArray
    ) -> "_Numbers":
        like, _ = encoder.encode(rows.like)
        declared, frame_encoder = seeded.declare(like)
        check_frame(like, frame_encoder)
        present, unit = rows.weighed(train)
        given = as_task(seeded), as_task(encoder), as_task(frame_encoder), unit
        blocks = [delayed(_read_numbers)(block, *given) for block in rows.choose(present)]
        features = seeded.statistics_of_values(
            _distinct_values(blocks, like.shape[1], declared), declared, frame_encoder
        )
        return cls(like, blocks, replace(features, unit=unit))

    def map(self, function: Any, *given: Any) -> list[Any]:
        """Return delayed calls of a function with each block."""
        return [delayed(function)(block, *given) for block in self.blocks]


def _read_numbers(
    block: Block,
    seeded: RandomSubspaceNB,
    encoder: RowEncoder,
    frame_encoder: FrameEncoder | None,
    unit: float,
) -> Block:
    """Return a block with numbers and relative weights."""
    X, _ = encoder.encode(block.X)
    weights = None if block.weights is None else block.weights / unit
    return Block(read_numbers(seeded, X, frame_encoder), block.Y, weights)


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


def _sum_classes(block: Block, design: Design, labels: IntArray) -> Sums:
    """Sum the rows without each label, and those with it."""
    Y = block.Y[:, labels].astype(bool)
    classes = sparse.csr_array(np.stack([~Y.T, Y.T], axis=1).reshape(-1, len(Y)), dtype=float)
    return Sums.over(classes, block.weights, design.expand(block.X))


def _label_sets(block: Block, design: Design, n_labels: int) -> GroupedRows:
    has_virtual = block.Y.shape[1] < n_labels
    return GroupedRows.of(block.Y, block.weights, design.expand(block.X), has_virtual=has_virtual)


def _sum_labels(block: Block, design: Design, n_labels: int) -> LabelSums:
    has_virtual = block.Y.shape[1] < n_labels
    return LabelSums.part(_label_sets(block, design, n_labels), has_virtual=has_virtual)


def _sum_exclusive(block: Block, design: Design, n_labels: int, pairs: IntArray) -> Sums:
    return _label_sets(block, design, n_labels).lacking(pairs)
