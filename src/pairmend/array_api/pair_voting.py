"""Votes of all pairs of labels, corrected or not, in terms of the array API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.chunking import batches
from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.typing import IntArray
from pairmend.array_api.pair_confusion import DecidedRows, confusion_block
from pairmend.array_api.pair_naive_bayes import SUBSPACE_ARRAYS, PairNaiveBayes
from pairmend.array_api.supports import mean_supports, p_decide, vote

ARRAYS = 10
"""Number of arrays of the size of all supports of a block of pairs in memory at once."""


@dataclass(frozen=True)
class Variant:
    """How supports become votes.

    Attributes
    ----------
    overlap : float
        Membership of rows with both labels of a pair.
    balance : array of shape (n_labels, n_labels) or None
        Weight of the rows of the first label in its pair with the second, against imbalance.
    crisp : bool
        Whether supports are replaced by votes.
    weighted : bool
        Whether votes are weighted by the information of decisions.
    """

    overlap: float = 0.0
    balance: Any = None
    crisp: bool = False
    weighted: bool = False


@dataclass(frozen=True)
class PairCorrection:
    """What corrects supports around some rows.

    Attributes
    ----------
    decided : DecidedRows
        Decisions at the validation rows.
    weights : array of shape (n_validation_rows, n_rows)
        Weights of validation rows around rows.
    reference : str
        Name of the reference classifier.
    """

    decided: DecidedRows
    weights: Array
    reference: str


@dataclass(frozen=True)
class Block:
    """Pairs of some first labels with all labels from the first of them on.

    Of two labels in `first` both orders are there, and each label with itself: `mask`, (b, m),
    is 1 for each pair once.
    """

    first: slice
    n_labels: int

    @property
    def low(self) -> int:
        """The first of the second labels."""
        return int(self.first.start)

    @property
    def mask(self) -> np.ndarray[Any, Any]:
        """1 where the second label is after the first, (b, m)."""
        first = np.arange(self.first.start, self.first.stop)[:, np.newaxis]
        return (np.arange(self.low, self.n_labels) > first).astype(np.float64)


def support_blocks(model: PairNaiveBayes, X: Array) -> Iterator[tuple[Block, Array]]:
    """Yield the supports of blocks of pairs for their first labels, (b, m, n)."""
    space = model.namespace
    xp, n_labels = space.xp, model.n_labels
    rows = model.rows(X)
    n_rows, n_subspaces = rows.shape[:2]
    at_once = model.pairs_at_once(ARRAYS * n_rows)
    size = model.item_size * SUBSPACE_ARRAYS * n_subspaces * n_rows
    scored = max(1, space.max_bytes // size)
    for group in model.groups:
        start = group.start
        while start < min(group.stop, n_labels - 1):
            size = max(1, at_once // (n_labels - start))
            stop = min(start + size, group.stop, n_labels - 1)
            block = Block(slice(start, stop), n_labels)
            weights = model.log_odds_weights(block.first, block.low)
            shape = weights.shape[:2]
            weights = xp.reshape(weights, (-1, *weights.shape[2:]))
            found = [
                mean_supports(rows, weights[pairs, ...], space)
                for pairs in batches(weights.shape[0], scored)
            ]
            supports = xp.reshape(xp.concat(found, axis=0), (*shape, n_rows))
            constant = model.constant[block.first, block.low :][..., None]
            is_fixed = constant == constant
            yield (
                block,
                xp.where(is_fixed, xp.astype(constant, supports.dtype), supports),
            )
            start = stop


def vote_blocks(
    model: PairNaiveBayes, X: Array, correction: PairCorrection | None, variants: Sequence[Variant]
) -> Iterator[tuple[Block, list[Array]]]:
    """Yield the votes of blocks of pairs for their first labels, (b, m, n), in each variant."""
    space = model.namespace
    for block, supports in support_blocks(model, X):
        if correction is None:
            crisp = vote(supports, space) if any(v.crisp for v in variants) else supports
            yield block, [crisp if variant.crisp else supports for variant in variants]
            continue
        decided = p_decide(correction.reference, supports, space)
        p = space.xp.astype(decided, space.float64)
        sums = {
            overlap: confusion_block(
                correction.weights, correction.decided, block.first, block.low, overlap, space
            )
            for overlap in {variant.overlap for variant in variants}
        }
        yield (
            block,
            [_corrected(p, sums[v.overlap], v, block, space) for v in variants],
        )


def confusion_blocks(
    model: PairNaiveBayes, correction: PairCorrection, variant: Variant
) -> Iterator[tuple[Block, tuple[Array, ...]]]:
    """Yield the confusion matrices of blocks: e[truth][decision] in a row, (b, m, n) each."""
    n_labels, space = model.n_labels, model.namespace
    n_rows = correction.weights.shape[1]
    size = max(1, space.max_bytes // (8 * ARRAYS * n_rows * n_labels))
    for start in range(0, n_labels - 1, size):
        block = Block(slice(start, min(start + size, n_labels - 1)), n_labels)
        sums = confusion_block(
            correction.weights, correction.decided, block.first, block.low, variant.overlap, space
        )
        first, second = balanced(sums, variant, block)
        yield block, (*first, *second)


def balanced(sums: Any, variant: Variant, block: Block) -> Any:
    """Multiply the sums of each class by its weight."""
    if variant.balance is None:
        return sums
    (hit, miss), (false, reject) = sums
    first = variant.balance[block.first, block.low :][..., None]
    second = variant.balance.T[block.first, block.low :][..., None]
    return (hit * first, miss * first), (false * second, reject * second)


def _corrected(p: Array, sums: Any, variant: Variant, block: Block, namespace: Namespace) -> Array:
    """Return the votes of a variant from probabilities of decisions and confusion sums."""
    (hit, miss), (false, reject) = balanced(sums, variant, block)
    xp = namespace.xp
    given_first = _share(hit, false, 1.0, xp)
    given_second = _share(miss, reject, 0.0, xp)
    votes = given_second + p * (given_first - given_second)
    if variant.crisp:
        votes = vote(votes, namespace)
    if not variant.weighted:
        return votes
    return 0.5 + _information(hit, miss, false, reject, xp) * (votes - 0.5)


def _share(part: Array, rest: Array, undefined: float, xp: Any) -> Array:
    """Divide a part by its sum with the rest; where that is 0 the share is `undefined`."""
    total = part + rest
    is_empty = total <= 0
    total = xp.where(is_empty, xp.ones_like(total), total)
    return xp.where(is_empty, xp.full_like(total, undefined), part / total)


def _information(hit: Array, miss: Array, false: Array, reject: Array, xp: Any) -> Array:
    """Return 1 bit less the conditional entropy of the truth, see `kernels.information`."""
    total = hit + miss + false + reject
    is_empty = total <= 0
    total = xp.where(is_empty, xp.ones_like(total), total)
    cells = [part / total for part in (hit, miss, false, reject)]
    decisions = [cells[0] + cells[2], cells[1] + cells[3]]
    conditional = sum(_entropy(c, xp) for c in cells) - sum(_entropy(d, xp) for d in decisions)
    found = decisions[0] + decisions[1] - conditional
    return xp.clip(found, min=0.0, max=1.0)


def _entropy(share: Array, xp: Any) -> Array:
    """Return the summand of an entropy, in bits."""
    positive = xp.where(share > 0, share, xp.ones_like(share))
    return -positive * xp.log2(positive)


def sum_votes(
    blocks: Iterator[tuple[Block, list[Array]]], n_variants: int, n_rows: int, model: PairNaiveBayes
) -> list[Array]:
    """Return the sums of the votes of pairs for each label, (n_labels, n), in each variant."""
    space = model.namespace
    xp, n_labels = space.xp, model.n_labels
    shape, dtype = (n_labels, n_rows), space.float64
    totals = [xp.zeros(shape, dtype=dtype, device=space.device) for _ in range(n_variants)]
    for block, variants in blocks:
        mask = space.asarray(block.mask)[..., None]
        for total, votes in zip(totals, variants, strict=True):
            counted = xp.astype(votes, dtype) * mask
            total[block.first, :] += xp.sum(counted, axis=1)
            total[block.low :, :] += xp.sum(mask - counted, axis=0)
    return totals


def in_pair_order(
    blocks: Iterator[tuple[Block, Array]], order: IntArray, namespace: Namespace
) -> tuple[Array, Array]:
    """Return the values of all pairs in the library's order, (n_pairs, n).

    `order` is that of the labels of the blocks. Also returned is whether the first label of a
    pair is the second one in its block, (n_pairs, 1).
    """
    xp = namespace.xp
    values, first, second = [], [], []
    for block, found in blocks:
        i, j = np.nonzero(block.mask)
        flat = xp.reshape(found, (-1, found.shape[-1]))
        width = block.n_labels - block.low
        values.append(xp.take(flat, namespace.asarray(i * width + j), axis=0))
        first.append(order[i + block.first.start])
        second.append(order[j + block.low])
    a, b = np.concatenate(first), np.concatenate(second)
    sorting = np.lexsort((np.maximum(a, b), np.minimum(a, b)))
    flipped = (a > b)[sorting][:, np.newaxis]
    joined = xp.take(xp.concat(values, axis=0), namespace.asarray(sorting), axis=0)
    return joined, namespace.asarray(flipped)
