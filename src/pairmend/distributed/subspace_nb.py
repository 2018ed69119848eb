"""The closed-form pair learner on blocks of rows: survey, sums, and their union in a tree."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse

from pairmend._utils.cells import SPARSE_SHARE
from pairmend._utils.frames import has_categories
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import seed_estimator
from pairmend.distributed.blocks import Block, in_a_tree
from pairmend.frames import FrameEncoder
from pairmend.naive_bayes.design_matrix import Design
from pairmend.naive_bayes.estimator import RandomSubspaceNB, read_numbers
from pairmend.naive_bayes.feature_statistics import Distinct
from pairmend.naive_bayes.sums import LabelSums, Sums, sum_alone
from pairmend.pairwise.learners import SubspaceNBPairLearner

MOST_GROUPS = 64
"""Groups of features whose distinct values are united apart from each other, at the most."""
Part = tuple[IntArray, FloatArray]
"""Distinct values of some features in some rows: how many each has, and all in a list."""


def train_subspace_nb(
    estimator: RandomSubspaceNB,
    blocks: list[Any],
    like: Any,
    pairs: IntArray,
    *,
    n_jobs: int | None,
    seed: int,
) -> SubspaceNBPairLearner:
    """Train all pairs on blocks of rows, in two or three passes over them.

    Parameters
    ----------
    estimator : RandomSubspaceNB
        The base classifier.
    blocks : list of Delayed
        Blocks of the training rows.
    like : ndarray or DataFrame
        What rows look like.
    pairs : ndarray of shape (n_pairs, 2)
        The pairs of labels.
    n_jobs, seed
        As `SubspaceNBPairLearner` takes them.

    Returns
    -------
    SubspaceNBPairLearner
        As it would be trained on all rows at once, but for the order in which numbers are added.
    """
    seeded = seed_estimator(estimator, seed)
    declared, encoder = seeded.declare(like)
    _check_columns(like, encoder)
    read = delayed(_Reader(seeded, encoder), pure=False, traverse=False)

    groups = np.array_split(np.arange(like.shape[1]), min(like.shape[1], len(blocks), MOST_GROUPS))
    facts = [delayed(_look, nout=2)(read, block, groups) for block in blocks]
    wanted = np.zeros(like.shape[1], dtype=bool) if declared is None else declared
    found = [
        delayed(_summarise)(in_a_tree(_unite, [values[g] for _, values in facts]), wanted[group])
        for g, group in enumerate(groups)
    ]
    about, *found = dask.compute(in_a_tree(_add_up, [numbers for numbers, _ in facts]), *found)
    if not about.n_rows:
        raise ValueError("X has 0 rows in all its blocks, at least 1 is needed")
    feature_statistics = seeded.statistics_of_values(_listed(found), declared, encoder)
    design = Design(feature_statistics, about.centre(~feature_statistics.categorical))

    kept_design = delayed(design, pure=False, traverse=False)
    n_labels = int(pairs.max()) + 1
    parts = [delayed(_sum_labels)(read, kept_design, block, n_labels) for block in blocks]
    sums = in_a_tree(_plus, parts).compute().marked()
    alone = sums.alone_pairs
    if len(alone):
        parts = [delayed(_sum_alone)(read, kept_design, block, alone) for block in blocks]
        sums = replace(sums, alone=in_a_tree(_plus_alone, parts).compute())
    return SubspaceNBPairLearner(estimator, n_jobs=n_jobs, seed=seed).adopt(pairs, design, sums)


def _check_columns(like: Any, encoder: FrameEncoder | None) -> None:
    """Refuse columns of a frame that cannot be read before all their rows are there."""
    for place, summary in enumerate(() if encoder is None else encoder.columns_):
        column = like.iloc[:, place]
        if summary.kind not in ("number", "category"):
            raise ValueError(
                f"Column {column.name!r} holds {column.dtype}, and blocks of rows are read where "
                "all columns are numbers or categories. Make numbers of it, or leave it out."
            )
        if summary.kind == "number":
            continue
        # Dask gives a column whose categories it has not looked for a placeholder of its own.
        if not has_categories(column) or "__UNKNOWN_CATEGORIES__" in column.cat.categories:
            raise ValueError(
                f"the categories of column {column.name!r} are not known before its rows are "
                f"read. Find them out first: X = X.categorize(columns=[{column.name!r}])."
            )


@dataclass(frozen=True)
class _Reader:
    """Reads the numbers of a block, an empty one among them."""

    estimator: RandomSubspaceNB
    encoder: FrameEncoder | None

    def __call__(self, block: Block) -> Any:
        if len(block.Y):
            return read_numbers(self.estimator, block.X, self.encoder)
        return sparse.csr_array((0, block.X.shape[1]))


@dataclass(frozen=True)
class _About:
    """What the centres of features are made of.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_listed : int
        Number of cells that are listed, all of dense rows.
    is_sparse : bool
        Whether all blocks are sparse.
    total, count : ndarray of shape (d,)
        Sum and number of the known values of each feature.
    """

    n_rows: int
    n_listed: int
    is_sparse: bool
    total: FloatArray
    count: FloatArray

    def centre(self, numeric: BoolArray) -> FloatArray:
        """Return where numeric features are seen from, as `Design.learn` chooses it."""
        if self.is_sparse and self.n_listed <= SPARSE_SHARE * self.n_rows * len(self.total):
            return np.zeros(np.count_nonzero(numeric))
        return (self.total / np.maximum(self.count, 1))[numeric]


def _look(read: _Reader, block: Block, groups: list[IntArray]) -> tuple[_About, list[Part]]:
    """Look at a block: what its features' centres are made of, and their distinct values."""
    X = read(block)
    n_rows, n_features = X.shape
    found = Distinct.of(X) if n_rows else _nothing(n_features)
    values = np.split(found.listed(np.ones(n_features, dtype=bool)), np.cumsum(found.count)[:-1])
    parts = [(found.count[group], np.concatenate([values[f] for f in group])) for group in groups]
    if sparse.issparse(X):
        known = ~np.isnan(X.data)
        column = X.indices
        total = np.bincount(column[known], X.data[known], n_features).astype(float)
        count = n_rows - np.bincount(column[~known], minlength=n_features)
        return _About(n_rows, X.nnz, True, total, count), parts
    known = ~np.isnan(X)
    total, count = np.where(known, X, 0).sum(axis=0), known.sum(axis=0)
    return _About(n_rows, X.size, False, total, count), parts


def _nothing(n_features: int) -> Distinct:
    zeros = np.zeros(n_features)
    return Distinct(zeros.astype(np.intp), zeros, zeros, lambda features: np.empty(0))


def _add_up(parts: list[_About]) -> _About:
    return _About(
        sum(part.n_rows for part in parts),
        sum(part.n_listed for part in parts),
        all(part.is_sparse for part in parts if part.n_rows),
        np.sum([part.total for part in parts], axis=0),
        np.sum([part.count for part in parts], axis=0),
    )


def _unite(parts: list[Part]) -> Part:
    found = Distinct.united(parts)
    return found.count, found.listed(np.ones(len(found.count), dtype=bool))


def _summarise(part: Part, wanted: BoolArray) -> tuple[Distinct, BoolArray]:
    """Keep the values of those features only that may be categorical."""
    found = Distinct.united([part])
    kept = wanted | (found.count <= 2)
    values = found.listed(kept)
    return replace(found, listed=lambda features: values), kept


def _listed(found: list[tuple[Distinct, BoolArray]]) -> Distinct:
    """Put groups of features together."""
    count = np.concatenate([group.count for group, _ in found])
    kept = np.concatenate([kept for _, kept in found])
    values = np.concatenate([group.listed(kept) for group, kept in found])
    feature = np.repeat(np.flatnonzero(kept), count[kept])
    return Distinct(
        count,
        np.concatenate([group.low for group, _ in found]),
        np.concatenate([group.high for group, _ in found]),
        lambda features: values[features[feature]],
    )


def _sum_labels(read: _Reader, design: Design, block: Block, n_labels: int) -> LabelSums:
    has_virtual = block.Y.shape[1] < n_labels
    return LabelSums.part(block.Y, None, design.expand(read(block)), has_virtual=has_virtual)


def _sum_alone(read: _Reader, design: Design, block: Block, pairs: IntArray) -> Sums:
    return sum_alone(pairs, block.Y, None, design.expand(read(block)))


def _plus(parts: list[LabelSums]) -> LabelSums:
    return reduce(LabelSums.plus, parts)


def _plus_alone(parts: list[Sums]) -> Sums:
    every = np.arange(len(parts[0].mass))
    return reduce(lambda one, other: one.plus(other, every, every), parts)
