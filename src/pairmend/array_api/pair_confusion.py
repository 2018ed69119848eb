"""Local fuzzy confusion matrices of pairs and their correction, in terms of the array API.

What is computed is described in :mod:`pairmend.kernels.confusion`; here labels are in groups and
a block of pairs is an array (first labels, second labels, ...).
"""

from dataclasses import dataclass, replace

import numpy as np

from pairmend._utils.chunking import batches
from pairmend._utils.namespaces import Array, Convert, Namespace
from pairmend._utils.typing import BoolArray, IntArray
from pairmend.array_api.label_groups import LabelGroup, group_labels
from pairmend.array_api.pair_naive_bayes import PairNaiveBayes
from pairmend.array_api.supports import fold, folded_mean_supports, root_p_decide


@dataclass(frozen=True)
class DecidedGroup:
    """Decisions of the pairs of a group of labels at the validation rows of these labels.

    Attributes
    ----------
    group : LabelGroup
        The labels and their validation rows.
    roots : array of shape (g, n_labels, n)
        Square root of the smaller of the probabilities of deciding for the label and for each
        other label. Its sign is negative if the smaller one is that of the other label.
    """

    group: LabelGroup
    roots: Array

    def part(self, start: int, stop: int) -> "DecidedGroup":
        """Return the group without labels before `start` or from `stop` on."""
        group = self.group.part(start, stop)
        here = slice(group.start - self.group.start, group.stop - self.group.start)
        return DecidedGroup(group, self.roots[here, ...])

    def __sklearn_array_api_convert__(self, convert: Convert) -> "DecidedGroup":
        return DecidedGroup(self.group.__sklearn_array_api_convert__(convert), convert(self.roots))


@dataclass(frozen=True)
class DecidedRows:
    """Decisions of pairs at the validation rows, in parts that were predicted together.

    Attributes
    ----------
    indicators : array of shape (n_rows, n_labels)
        1 where a row has a label; 0 for a virtual label.
    parts : list of list of DecidedGroup
        For each part of the rows, all labels in groups.
    has_virtual : bool
        Whether the first label is virtual.
    """

    indicators: Array
    parts: list[list[DecidedGroup]]
    has_virtual: bool

    def __sklearn_array_api_convert__(self, convert: Convert) -> "DecidedRows":
        parts = [[group.__sklearn_array_api_convert__(convert) for group in p] for p in self.parts]
        return replace(self, indicators=convert(self.indicators), parts=parts)


def decide_rows(
    model: PairNaiveBayes, X: Array, members: BoolArray, rows: IntArray, reference: str
) -> list[DecidedGroup]:
    """Return the decisions of trained pairs at the rows of each label.

    `X` and `members`, (n, L), are those of all validation rows, of which `rows` are predicted.
    """
    chosen = members
    if len(rows) < len(members):
        chosen = np.zeros_like(members)
        chosen[rows] = members[rows]
    xp = model.namespace.xp
    max_rows = max(1, model.namespace.max_bytes // (32 * model.n_labels))
    decided = []
    for group in group_labels(chosen, model.namespace, max_rows):
        step = max(1, model.pairs_at_once(0) // model.n_labels)
        parts = [
            _decide_group(model, X, group.part(start, start + step), reference)
            for start in range(group.start, group.stop, step)
        ]
        decided.append(DecidedGroup(group, xp.concat(parts, axis=0)))
    return decided


def _decide_group(model: PairNaiveBayes, X: Array, group: LabelGroup, reference: str) -> Array:
    """Return the array `roots` of a :class:`DecidedGroup`."""
    space = model.namespace
    xp = space.xp
    labels = slice(group.start, group.stop)
    weights = model.log_odds_weights(labels, 0)
    constant = model.constant[labels, :][..., None]
    is_fixed, fixed = constant == constant, xp.astype(fold(constant, xp), model.float_dtype)
    roots = []
    for columns in batches(group.n_rows, max(1, model.rows_at_once // (group.stop - group.start))):
        at = space.take(X, group.rows[:, columns])
        own = model.rows(xp.reshape(at, (-1, at.shape[-1])))
        own = xp.reshape(own, (*at.shape[:2], *own.shape[1:]))
        folded = xp.where(is_fixed, fixed, folded_mean_supports(own, weights, space))
        roots.append(xp.copysign(root_p_decide(reference, xp.abs(folded), space), folded))
    return xp.concat(roots, axis=2)


def confusion_block(
    weights: Array,
    decided: DecidedRows,
    first: slice,
    low: int,
    overlap: float,
    namespace: Namespace,
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return confusion sums e[truth][decision], (b, n_labels - low, t), of a block of pairs.

    `weights`, (M, t), are those of validation rows around t points. The pairs have labels in
    `first` and labels from `low` on. Rows with both labels of a pair have the membership `overlap`.
    """
    xp = namespace.xp
    n_labels = decided.indicators.shape[1]
    total = None
    for part in decided.parts:
        others = slice(low, n_labels)
        given = weights, decided, overlap, namespace
        own = xp.concat([_sums(g, others, *given) for g in _parts(part, first)], axis=0)
        other = xp.concat([_sums(g, first, *given) for g in _parts(part, others)], axis=0)
        other, width = xp.permute_dims(other, (1, 0, 2)), first.stop - first.start
        # For second labels, the decision for the label itself is that for the second label.
        sums = (
            own[:, : n_labels - low, :],
            own[:, n_labels - low :, :],
            other[width:, ...],
            other[:width, ...],
        )
        total = sums if total is None else tuple(a + b for a, b in zip(total, sums, strict=True))
    assert total is not None
    return total[:2], total[2:]


def _parts(groups: list[DecidedGroup], labels: slice) -> list[DecidedGroup]:
    return [
        decided.part(labels.start, labels.stop)
        for decided in groups
        if decided.group.start < labels.stop and decided.group.stop > labels.start
    ]


def _sums(
    decided: DecidedGroup,
    others: slice,
    weights: Array,
    rows: DecidedRows,
    overlap: float,
    namespace: Namespace,
) -> Array:
    """Return the sums of decisions for labels, then for others, (g, 2 n_others, t)."""
    xp, group = namespace.xp, decided.group
    roots = xp.astype(decided.roots[:, others, :], weights.dtype)
    smaller, is_other = roots * roots, xp.signbit(roots)
    larger = 1 - smaller
    has_other = namespace.take(rows.indicators[:, others], group.rows)
    share = (1 - (1 - overlap) * has_other) * group.valid[..., None]
    if rows.has_virtual and group.start == 0 and overlap:
        # Rows with both labels belong to the other label if this one is virtual.
        only = (1 - has_other[:1, ...]) * group.valid[:1, :, None]
        share = xp.concat([only, share[1:, ...]], axis=0)
    share = xp.permute_dims(share, (0, 2, 1))
    chosen = [xp.where(is_other, larger, smaller), xp.where(is_other, smaller, larger)]
    cells = xp.concat([part * share for part in chosen], axis=1)
    step = max(1, namespace.max_bytes // (16 * weights.shape[1] * (group.stop - group.start)))
    total = None
    for columns in batches(group.n_rows, step):
        at = namespace.take(weights, group.rows[:, columns])
        product = xp.matmul(cells[:, :, columns], at)
        total = product if total is None else total + product
    return total
