"""RandomSubspaceNB for all pairs on blocks of rows: feature statistics and sums, by blocks."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone

from pairmend._utils.cells import SPARSE_SHARE, Cells
from pairmend._utils.frames import EncodedFrame, has_categories
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import seed_estimator
from pairmend.distributed.rows import Block, Rows, as_task, in_a_tree
from pairmend.frames import FrameEncoder
from pairmend.frames.kinds import MAX_CATEGORIES
from pairmend.mended.rows import RowEncoder
from pairmend.naive_bayes.class_sums import ClassSums
from pairmend.naive_bayes.design_matrix import Design
from pairmend.naive_bayes.estimator import RandomSubspaceNB, read_numbers
from pairmend.naive_bayes.feature_statistics import DistinctValues, FeatureStatistics
from pairmend.naive_bayes.sums import LabelSums, Sums, sum_exclusive
from pairmend.pairwise.learners import SubspaceNBPairLearner

NO_ENCODER = RowEncoder(None, for_base=False, for_distances=False)
MOST_GROUPS = 64
"""Groups of features whose distinct values are combined separately, at the most."""
Part = tuple[IntArray, FloatArray]
"""Distinct values of some features in some rows: their number for each feature, and a list."""


def train_pairs(
    estimator: RandomSubspaceNB,
    rows: Rows,
    train: BoolArray,
    pairs: IntArray,
    *,
    n_jobs: int | None,
    seed: int,
) -> SubspaceNBPairLearner:
    """Train all pairs on the chosen rows, in two or three passes over their blocks.

    The learner equals one that is trained on these rows at once, but for the order of additions.
    """
    data = _Statistics.of(seed_estimator(estimator, seed), rows, NO_ENCODER, train)
    design = Design(data.features, data.centre_sums.centre(~data.features.categorical))

    kept_design = as_task(design)
    n_labels = int(pairs.max()) + 1
    parts = [delayed(_sum_labels)(data.read, kept_design, b, n_labels) for b in data.blocks]
    sums = in_a_tree(_plus, parts).compute().with_exclusive_numbers()
    exclusive_pairs = sums.exclusive_pairs
    if len(exclusive_pairs):
        parts = [
            delayed(_sum_exclusive)(data.read, kept_design, block, exclusive_pairs)
            for block in data.blocks
        ]
        sums = replace(sums, exclusive=in_a_tree(_plus_exclusive, parts).compute())
    return SubspaceNBPairLearner(estimator, n_jobs=n_jobs, seed=seed).set_sums(pairs, design, sums)


def train_labels(
    seeded: RandomSubspaceNB,
    rows: Rows,
    encoder: RowEncoder,
    train: BoolArray,
    labels: IntArray,
) -> list[RandomSubspaceNB]:
    """Train a classifier for each of some labels on the chosen rows, in two passes.

    Each equals one that is trained on these rows at once, but for the order of additions.
    """
    if not len(labels):
        return []
    data = _Statistics.of(seeded, rows, encoder, train)
    kept = as_task(data.features)
    parts = [delayed(_sum_classes)(data.read, kept, block, labels) for block in data.blocks]
    sums: ClassSums = in_a_tree(_plus_classes, parts).compute()
    return [
        clone(seeded)._set_sums(data.like, [0, 1], sums.at(place), data.features)
        for place in range(len(labels))
    ]


@dataclass(frozen=True)
class _Statistics:
    """The chosen rows as numbers, and what is known of their features before training."""

    like: Any  # an empty block
    read: Any  # delayed `_Reader`
    blocks: list[Any]  # delayed blocks of the chosen rows
    features: FeatureStatistics
    centre_sums: "_CentreSums"

    @classmethod
    def of(
        cls, seeded: RandomSubspaceNB, rows: Rows, encoder: RowEncoder, train: BoolArray
    ) -> "_Statistics":
        like, _ = encoder.encode(rows.like)
        declared, frame_encoder = seeded.declare(like)
        check_frame(like, frame_encoder)
        present, unit = rows.weighed(train)
        read = as_task(_Reader(seeded, encoder, frame_encoder, unit))
        blocks, n_features = rows.choose(present), like.shape[1]

        n_groups = min(n_features, len(blocks), MOST_GROUPS)
        groups = np.array_split(np.arange(n_features), n_groups)
        summaries = [delayed(_summarise_block, nout=2)(read, block, groups) for block in blocks]
        may_be_categorical = np.zeros(n_features, dtype=bool) if declared is None else declared
        found = [
            delayed(_candidates)(
                in_a_tree(_union, [values[g] for _, values in summaries]), may_be_categorical[group]
            )
            for g, group in enumerate(groups)
        ]
        centre_sums, *found = dask.compute(
            in_a_tree(_total, [numbers for numbers, _ in summaries]), *found
        )
        features = seeded.statistics_of_values(_concatenate(found), declared, frame_encoder)
        return cls(like, read, blocks, replace(features, unit=unit), centre_sums)


def _sum_classes(
    read: "_Reader", feature_statistics: FeatureStatistics, block: Block, labels: IntArray
) -> ClassSums:
    numbers, weights = read(block)
    cells, weights = Cells.of(numbers), np.ones(len(block.Y)) if weights is None else weights
    codes = block.Y[:, labels].T.astype(np.int64)
    return ClassSums.stack(
        [ClassSums.over(cells, c, weights, 2, feature_statistics) for c in codes]
    )


def _plus_classes(parts: list[ClassSums]) -> ClassSums:
    return reduce(ClassSums.plus, parts)


def check_frame(like: Any, encoder: FrameEncoder | None) -> None:
    """Raise a ValueError for columns of a frame that can only be encoded with all their rows."""
    if isinstance(like, EncodedFrame):  # the frame was checked before it was encoded
        return
    for place, summary in enumerate(() if encoder is None else encoder.columns_):
        column = like.iloc[:, place]
        if summary.kind not in ("number", "category"):
            raise ValueError(
                f"Column {column.name!r} holds {column.dtype}; columns of Dask collections must "
                "hold numbers or categories. Convert it to numbers, or remove it."
            )
        if summary.kind == "number":
            continue
        # Dask represents unknown categories by a placeholder.
        if not has_categories(column) or "__UNKNOWN_CATEGORIES__" in column.cat.categories:
            raise ValueError(
                f"The categories of column {column.name!r} are not known. Compute them first: "
                f"X = X.categorize(columns=[{column.name!r}])."
            )
        if len(column.cat.categories) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {column.name!r} has {len(column.cat.categories)} categories, of which "
                f"only the {MAX_CATEGORIES} most frequent would be used, but columns of Dask "
                "collections are not counted. Merge rare categories, or remove the column."
            )


@dataclass(frozen=True)
class _Reader:
    """Reads the numbers and the relative weights of a block."""

    estimator: RandomSubspaceNB
    encoder: RowEncoder
    frame_encoder: FrameEncoder | None
    unit: float

    def __call__(self, block: Block) -> tuple[Any, FloatArray | None]:
        X, _ = self.encoder.encode(block.X)
        weights = None if block.weights is None else block.weights / self.unit
        return read_numbers(self.estimator, X, self.frame_encoder), weights


@dataclass(frozen=True)
class _CentreSums:
    """Sums from which the centres of features are computed."""

    n_rows: int  # number of rows
    n_stored: int  # number of stored cells; all cells of dense rows
    is_sparse: bool  # whether all blocks are sparse
    total: FloatArray  # (d,), sum of the non-missing values
    count: FloatArray  # (d,), number of the non-missing values

    def centre(self, numeric: BoolArray) -> FloatArray:
        """Return the centres of numeric features, as `Design.from_rows` chooses them."""
        if self.is_sparse and self.n_stored <= SPARSE_SHARE * self.n_rows * len(self.total):
            return np.zeros(np.count_nonzero(numeric))
        return (self.total / np.maximum(self.count, 1))[numeric]


def _summarise_block(
    read: _Reader, block: Block, groups: list[IntArray]
) -> tuple[_CentreSums, list[Part]]:
    """Return the sums for the features' centres in a block, and its distinct values by group."""
    X, _ = read(block)
    n_rows, n_features = X.shape
    found = DistinctValues.of(X)
    values = np.split(found.listed(np.ones(n_features, dtype=bool)), np.cumsum(found.count)[:-1])
    parts = [(found.count[group], np.concatenate([values[f] for f in group])) for group in groups]
    if sparse.issparse(X):
        present = ~np.isnan(X.data)
        column = X.indices
        total = np.bincount(column[present], X.data[present], n_features).astype(float)
        count = n_rows - np.bincount(column[~present], minlength=n_features)
        return _CentreSums(n_rows, X.nnz, True, total, count), parts
    present = ~np.isnan(X)
    total, count = np.where(present, X, 0).sum(axis=0), present.sum(axis=0)
    return _CentreSums(n_rows, X.size, False, total, count), parts


def _total(parts: list[_CentreSums]) -> _CentreSums:
    return _CentreSums(
        sum(part.n_rows for part in parts),
        sum(part.n_stored for part in parts),
        all(part.is_sparse for part in parts),
        np.sum([part.total for part in parts], axis=0),
        np.sum([part.count for part in parts], axis=0),
    )


def _union(parts: list[Part]) -> Part:
    found = DistinctValues.union(parts)
    return found.count, found.listed(np.ones(len(found.count), dtype=bool))


def _candidates(part: Part, may_be_categorical: BoolArray) -> tuple[DistinctValues, BoolArray]:
    """Keep the values of those features only that may be categorical."""
    found = DistinctValues.union([part])
    kept = may_be_categorical | (found.count <= 2)
    values = found.listed(kept)
    return replace(found, listed=lambda features: values), kept


def _concatenate(found: list[tuple[DistinctValues, BoolArray]]) -> DistinctValues:
    """Concatenate groups of features."""
    count = np.concatenate([group.count for group, _ in found])
    kept = np.concatenate([kept for _, kept in found])
    values = np.concatenate([group.listed(kept) for group, kept in found])
    feature = np.repeat(np.flatnonzero(kept), count[kept])
    return DistinctValues(
        count,
        np.concatenate([group.low for group, _ in found]),
        np.concatenate([group.high for group, _ in found]),
        lambda features: values[features[feature]],
    )


def _sum_labels(read: _Reader, design: Design, block: Block, n_labels: int) -> LabelSums:
    has_virtual = block.Y.shape[1] < n_labels
    numbers, weights = read(block)
    return LabelSums.part(block.Y, weights, design.expand(numbers), has_virtual=has_virtual)


def _sum_exclusive(read: _Reader, design: Design, block: Block, pairs: IntArray) -> Sums:
    numbers, weights = read(block)
    return sum_exclusive(pairs, block.Y, weights, design.expand(numbers))


def _plus(parts: list[LabelSums]) -> LabelSums:
    return reduce(LabelSums.plus, parts)


def _plus_exclusive(parts: list[Sums]) -> Sums:
    every = np.arange(len(parts[0].mass))
    return reduce(lambda one, other: one.plus(other, every, every), parts)
