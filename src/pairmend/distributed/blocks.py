"""Dask collections as blocks of rows; checks of their shapes and chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask import delayed
from scipy import sparse

from pairmend._utils.frames import EncodedFrame
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.targets import Target, check_row_order, check_target
from pairmend._utils.typing import BoolArray, IntArray, MatrixLike
from pairmend._utils.validation import check_training_rows, take_rows

FAN_IN = 8
"""Results that one task of a tree combines."""


class Block(NamedTuple):
    """Some rows and their labels."""

    X: MatrixLike  # ndarray, CSR or DataFrame
    Y: BoolArray  # (n, L), label indicators


@dataclass(frozen=True)
class Collection:
    """A Dask collection, cut into blocks of whole rows."""

    blocks: list[Any]  # delayed arrays, CSR matrices or frames
    like: Any  # an empty block
    sizes: list[int] | None  # numbers of rows of the blocks, if known without computing them

    @classmethod
    def of(cls, given: Any, name: str) -> "Collection":
        """Read a dask array, dataframe or series; `name` is for messages."""
        given = with_whole_rows(given, name)
        blocks = given.to_delayed()  # a list for frames, an array for arrays
        known = not is_frame(given) and not np.isnan(given.shape[0])
        sizes = list(given.chunks[0]) if known else None
        return cls(list(np.ravel(blocks)), without_rows(given), sizes)


def without_rows(given: Any) -> Any:
    """Return an empty block of a collection."""
    if is_frame(given):
        return given._meta
    return np.empty((0, *given.shape[1:]), dtype=given.dtype)


def is_frame(given: Any) -> bool:
    """Return whether something is a dask dataframe or series."""
    return dask.is_dask_collection(given) and hasattr(given, "_meta") and hasattr(given, "dtypes")


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


def aligned(X: Any, y: Any) -> Any:
    """Rechunk a target like the rows, as far as sizes are known."""
    known = isinstance(X, da.Array) and isinstance(y, da.Array)
    if not known or np.isnan([X.shape[0], y.shape[0]]).any() or X.chunks[0] == y.chunks[0]:
        return y
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {y.shape[0]}; expected the same number.")
    return y.rechunk({0: X.chunks[0]})


def pair_up(X: Collection, y: Collection, classes: Any) -> list[Any]:
    """Return blocks of rows with their labels, delayed; `classes` are those of a 1-D target."""
    check_same_blocks(X, y)
    return [delayed(read_block)(x, t, classes) for x, t in zip(X.blocks, y.blocks, strict=True)]


def check_same_blocks(X: Collection, y: Collection) -> None:
    """Raise an error for different numbers of blocks."""
    if len(X.blocks) != len(y.blocks):
        raise ValueError(
            f"X has {len(X.blocks)} blocks of rows, y has {len(y.blocks)}; they must have the "
            "same blocks. Derive both from one collection, or repartition them."
        )


def read_block(X: MatrixLike, y: Any, classes: Any) -> Block:
    """Check a block of rows and its targets; `classes` are those of a 1-D target."""
    n_rows = count_rows(X)
    if n_rows != count_rows(y):
        raise ValueError(
            f"A block of X has {n_rows} rows, that of y has {count_rows(y)}; they must have the "
            "same blocks. Derive both from one collection, or repartition them."
        )
    if n_rows:
        check_row_order(X, y, "y")
        X = check_training_rows(X)
    return Block(X, read_labels(y, classes))


def read_labels(y: Any, classes: Any) -> BoolArray:
    """Return the label indicators of a block of targets; `classes` are those of a 1-D target."""
    n_rows = count_rows(y)
    if classes is not None:
        return np.asarray(np.asarray(y).reshape(n_rows, 1) == classes)
    if n_rows == 0:
        return np.zeros((0, y.shape[1]), dtype=bool)
    # The number of labels is checked before.
    return check_target(None, y, y, min_labels=1).Y


def read_target(classifier: Any, labels: Collection, *, min_labels: int) -> Target:
    """Return the target's labels, which are its columns, or the classes in its rows."""
    if labels.like.ndim == 2:
        return check_target(classifier, labels.like, labels.like, min_labels=min_labels)
    found = in_a_tree(_union_of_classes, [delayed(np.unique)(block) for block in labels.blocks])
    classes = found.compute()
    return check_target(classifier, classes, classes)


def _union_of_classes(parts: list[Any]) -> Any:
    return np.unique(np.concatenate(parts))


def sizes_of(blocks: Sequence[Any]) -> list[int]:
    """Count the rows of blocks."""
    return list(dask.compute(*(delayed(_size)(block) for block in blocks)))


def _size(block: Block) -> int:
    return len(block.Y)


def rows_of(blocks: Sequence[Any], sizes: Sequence[int], rows: IntArray) -> tuple[list[Any], Any]:
    """Return the delayed blocks with any of the rows (ascending), cut to them, and their sizes."""
    ends = np.cumsum(sizes)
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    chosen = [
        (delayed(_take)(block, part - start), len(part))
        for block, part, start in zip(blocks, parts, ends - sizes, strict=True)
        if len(part)
    ]
    return [block for block, _ in chosen], np.array([count for _, count in chosen])


def _take(block: Block, rows: IntArray) -> Block:
    return Block(take_rows(block.X, rows), block.Y[rows])


def stack(blocks: Sequence[Block]) -> Block:
    """Concatenate blocks."""
    blocks = [block for block in blocks if len(block.Y)]
    if not blocks:
        raise ValueError("X has 0 rows in all its blocks, at least 1 is needed.")
    X = stack_rows([block.X for block in blocks])
    return Block(X, np.concatenate([block.Y for block in blocks]))


def stack_rows(parts: Sequence[MatrixLike]) -> MatrixLike:
    """Concatenate rows: arrays, CSR matrices, frames or encoded frames."""
    if isinstance(parts[0], EncodedFrame):
        return replace(parts[0], values=np.concatenate([part.values for part in parts]))
    if hasattr(parts[0], "columns"):
        import pandas as pd

        return pd.concat(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def in_a_tree(combine: Callable[[list[Any]], Any], parts: Sequence[Any]) -> Any:
    """Combine delayed parts, a few at a time, by a function of a list of parts."""
    left = list(parts)
    while len(left) > 1:
        groups = (left[start : start + FAN_IN] for start in range(0, len(left), FAN_IN))
        left = [delayed(combine)(group) for group in groups]
    return left[0]
