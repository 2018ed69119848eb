"""Rows of Dask collections, cut into blocks that do not depend on the chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask import delayed

from pairmend._utils.arrays import check_training_rows, stack_rows, take_rows
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import (
    Target,
    check_row_order,
    check_target,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike

CELLS = 2**22
"""Cells of a block of rows: 32 MiB in double precision."""
MIN_ROWS, MAX_ROWS = 1_000, 50_000
"""Bounds of the number of rows of a block, for very many and very few columns."""
FAN_IN = 8
"""Results that one task of a tree combines."""


class Block(NamedTuple):
    """Some rows with their labels and weights."""

    X: MatrixLike  # ndarray, CSR, DataFrame or EncodedFrame
    Y: BoolArray  # (n, L), label indicators
    weights: FloatArray | None  # (n,); None means ones
    numbers: Any = None  # (n,), among all rows

    @property
    def all_weights(self) -> FloatArray:
        """Weights, also where they are ones."""
        return np.ones(len(self.Y)) if self.weights is None else self.weights


@dataclass(frozen=True)
class Rows:
    """Training rows. Labels and weights are in memory, features in delayed blocks.

    The boundaries of the blocks follow from the numbers of rows and columns alone. What is computed
    block by block, such as sums or an order of training, is therefore the same for any chunks.

    Attributes
    ----------
    like : object
        A block without rows.
    target : Target
        The labels of all rows.
    weights : ndarray of shape (n_rows,) or None
        Checked sample weights, 0 for rows that are left out; None means ones.
    blocks : list of delayed
        Features.
    size : int
        Number of rows of each block; the last may have fewer.
    """

    like: Any
    target: Target
    weights: FloatArray | None
    blocks: list[Any]
    size: int

    @classmethod
    def read(cls, classifier: Any, X: Any, y: Any) -> "Rows":
        """Read collections for a classifier, without weights."""
        X, y = with_whole_rows(X, "X"), with_whole_rows(y, "y")
        if not (is_frame(X) or is_frame(y) or np.isnan([X.shape[0], y.shape[0]]).any()):
            y = y.rechunk({0: X.chunks[0]})
        parts, targets = ([*np.ravel(given.to_delayed())] for given in (X, y))
        if len(parts) != len(targets):
            raise ValueError(
                f"X has {len(parts)} blocks of rows, y has {len(targets)}; they must have the "
                "same blocks. Derive both from one collection, or repartition them."
            )
        min_labels = getattr(classifier, "_min_labels", 1)
        target, sizes = _read_target(classifier, y, targets, min_labels)
        like = without_rows(X)
        read = [delayed(_read)(x, t) for x, t in zip(parts, targets, strict=True)]
        size = min(max(CELLS // max(1, like.shape[1]), MIN_ROWS), MAX_ROWS)
        return cls(like, target, None, _cut(read, sizes, size), size)

    def __len__(self) -> int:
        return len(self.target.Y)

    @property
    def all_weights(self) -> FloatArray:
        """Weights, also where they are ones."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def present(self) -> IntArray:
        """The rows of positive weight."""
        return np.flatnonzero(self.all_weights > 0)

    def choose(self, chosen: IntArray) -> list[Any]:
        """Return the delayed `Block` of the chosen rows of each block that has any.

        What is known of rows is sent to the workers at once: a graph would hold it for each
        computation anew.
        """
        counts, parts = np.bincount(chosen, minlength=len(self)), []
        if counts.max() > 1:
            raise ValueError(
                "A split has the same row several times, which training by blocks does not "
                "support. Give each row at most once, and a larger sample_weight instead."
            )
        for number, block in enumerate(self.blocks):
            rows = slice(number * self.size, (number + 1) * self.size)
            here = counts[rows] > 0
            if here.any():
                weights = None if self.weights is None else self.weights[rows][here]
                own = here, rows.start, self.target.Y[rows][here], weights
                (known,) = dask.persist(as_task(own))
                parts.append(delayed(_take)(block, known))
        return parts


def with_whole_rows(array: Any, name: str) -> Any:
    """Return a collection whose chunks are whole rows; `name` is for messages."""
    if is_frame(array):
        return array
    if not isinstance(array, da.Array):
        raise TypeError(
            f"{name} must be a dask array or dataframe, got {type(array).__name__}. Convert it "
            "(dask.array.from_array, dask.dataframe.from_pandas), or call the classifier's own "
            "method."
        )
    if array.ndim > 2 or np.isnan(array.shape[1:]).any():
        raise ValueError(
            f"{name} must have the shape (rows, columns) with a known number of columns; got "
            f"{array.shape}. compute_chunk_sizes() computes unknown sizes."
        )
    if array.ndim == 2 and array.numblocks[1] > 1:
        return array.rechunk({1: -1})
    return array


def without_rows(given: Any) -> Any:
    """Return an empty block of a collection."""
    if is_frame(given):
        return given._meta
    return np.empty((0, *given.shape[1:]), dtype=given.dtype)


def is_frame(given: Any) -> bool:
    """Return whether something is a dask dataframe or series."""
    return dask.is_dask_collection(given) and hasattr(given, "_meta") and hasattr(given, "dtypes")


def stack(blocks: Sequence[Block]) -> Block:
    """Concatenate blocks."""
    if len(blocks) == 1:
        return blocks[0]
    X, *parts = zip(*blocks, strict=True)
    joined: list[Any] = [None if part[0] is None else np.concatenate(part) for part in parts]
    return Block(stack_rows(X), *joined)


def as_task(value: Any) -> Any:
    """Return a value as a task; dask would look for tasks inside of arrays, lists and data."""
    return delayed(value, pure=False, traverse=False)


def add_up(parts: list[Any]) -> Any:
    """Add parts by their method `plus`."""
    return reduce(lambda total, part: total.plus(part), parts)


def in_a_tree(parts: Sequence[Any], combine: Callable[[list[Any]], Any] = add_up) -> Any:
    """Combine delayed parts, a few at a time."""
    left = list(parts)
    while len(left) > 1:
        groups = (left[start : start + FAN_IN] for start in range(0, len(left), FAN_IN))
        left = [delayed(combine)(group) for group in groups]
    return left[0]


def _read_target(
    classifier: Any, y: Any, targets: list[Any], min_labels: int
) -> tuple[Target, list[int]]:
    """Return the labels of all rows, and the numbers of rows of the chunks."""
    like = without_rows(y)
    named = check_target(classifier, like, like, min_labels=min_labels) if like.ndim == 2 else None
    read = np.asarray if named is None else _read_labels
    parts = dask.compute(*(delayed(read)(part) for part in targets))
    sizes = [len(part) for part in parts]
    if not sum(sizes):
        raise ValueError("X has 0 rows in all its blocks, at least 1 is needed.")
    found = np.concatenate(parts)
    if named is None:
        return check_target(classifier, found, found, min_labels=min_labels), sizes
    return replace(named, Y=found), sizes


def _read_labels(y: Any) -> BoolArray:
    """Return the label indicators of a chunk."""
    if count_rows(y) == 0:
        return np.zeros(y.shape, dtype=bool)
    # The number of labels is checked before.
    return check_target(None, y, y, min_labels=1).Y


def _read(X: MatrixLike, y: Any) -> MatrixLike:
    """Check a chunk of rows, and that its targets are theirs."""
    n_rows = count_rows(X)
    if n_rows != count_rows(y):
        raise ValueError(
            f"A block of X has {n_rows} rows, that of y has {count_rows(y)}; they must have the "
            "same blocks. Derive both from one collection, or repartition them."
        )
    check_row_order(X, y, "y")
    return check_training_rows(X) if n_rows else X


def _cut(chunks: list[Any], sizes: list[int], size: int) -> list[Any]:
    """Cut chunks anew, into blocks of the same number of rows."""
    ends = np.cumsum(sizes)
    starts, blocks = ends - sizes, []
    for start in range(0, int(ends[-1]), size):
        touched = np.flatnonzero((starts < start + size) & (ends > start) & (ends > starts))
        spans = [(max(start - int(s), 0), start + size - int(s)) for s in starts[touched]]
        blocks.append(delayed(_join)([chunks[number] for number in touched], spans))
    return blocks


def _join(chunks: list[MatrixLike], spans: list[tuple[int, int]]) -> MatrixLike:
    """Concatenate spans of the rows of chunks."""
    pairs = zip(chunks, spans, strict=True)
    return stack_rows([take_rows(chunk, slice(*span)) for chunk, span in pairs])


def _take(X: MatrixLike, known: tuple[BoolArray, int, BoolArray, FloatArray | None]) -> Block:
    """Return the chosen rows of a block, given by a mask, with what is known of them."""
    is_chosen, start, Y, weights = known
    rows = np.flatnonzero(is_chosen)
    return Block(X if is_chosen.all() else take_rows(X, rows), Y, weights, start + rows)
