"""Labels in groups of similar numbers of rows, so that one batch of products covers a group."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from pairmend._utils.chunking import batches
from pairmend._utils.namespaces import Array, Convert, Namespace
from pairmend._utils.typing import BoolArray, IntArray

PADDING = 0.25
"""Share of rows of a group that may be padding..."""
FREE_PADDING = 4096
"""...or this number of rows, which is too small to matter."""


@dataclass(frozen=True)
class LabelGroup:
    """Consecutive labels, with a table of the rows of each, padded to the same length.

    Attributes
    ----------
    start, stop : int
        The first label, and the one after the last.
    rows : array of int, shape (n_labels, n_rows)
        Numbers of the rows that have each label; padding is 0.
    valid : array of float, shape (n_labels, n_rows)
        1 for rows, 0 for padding.
    """

    start: int
    stop: int
    rows: Array
    valid: Array

    def part(self, start: int, stop: int) -> "LabelGroup":
        """Return the group without labels before `start` or from `stop` on."""
        low, high = max(start, self.start), min(stop, self.stop)
        here = slice(low - self.start, high - self.start)
        return replace(
            self, start=low, stop=high, rows=self.rows[here, :], valid=self.valid[here, :]
        )

    @property
    def n_rows(self) -> int:
        """Number of rows of a label, padding included."""
        return int(self.rows.shape[1])

    def __sklearn_array_api_convert__(self, convert: Convert) -> "LabelGroup":
        return replace(self, rows=convert(self.rows), valid=convert(self.valid))


def label_order(Y: BoolArray, *, has_virtual: bool) -> IntArray:
    """Return the labels by falling number of rows; a virtual label, after all others, is first."""
    order = np.argsort(-np.count_nonzero(Y, axis=0), kind="stable")
    return np.concatenate([[Y.shape[1]], order]) if has_virtual else order


def in_order(Y: BoolArray, order: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return the rows of each label, and label indicators, with labels in the given order.

    All rows belong to a virtual label, whose indicators are false: in its pair with another
    label, a row with the other label belongs to that one.
    """
    if len(order) > Y.shape[1]:
        Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)])[:, order]
        members = Y.copy()
        members[:, 0] = True
        return members, Y
    members = np.take(Y, order, axis=1)
    return members, members


def group_labels(members: BoolArray, namespace: Namespace, max_rows: int) -> list[LabelGroup]:
    """Cut labels, ordered by falling number of rows, into groups of at most `max_rows` rows.

    A label with more rows is a group of its own. `members`, (n, L), are the rows of each label.
    """
    by_label = np.ascontiguousarray(members.T)
    counts = np.count_nonzero(by_label, axis=1)
    groups, start = [], 0
    while start < len(counts):
        # The order may be that of other rows: the first label need not have most rows.
        largest = np.maximum.accumulate(counts[start:])
        padded = largest * np.arange(1, len(largest) + 1)
        rows = np.cumsum(counts[start:])
        fits = (padded <= max_rows) & (padded - rows <= np.maximum(PADDING * rows, FREE_PADDING))
        size = len(fits) if fits.all() else max(1, int(np.argmin(fits)))
        groups.append(_group(by_label[start : start + size], start, namespace))
        start += size
    return groups


def _group(by_label: BoolArray, start: int, namespace: Namespace) -> LabelGroup:
    label, row = np.nonzero(by_label)
    counts = np.count_nonzero(by_label, axis=1)
    place = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(counts), max(1, int(counts.max())))
    rows, valid = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    rows[label, place], valid[label, place] = row, 1.0
    return LabelGroup(start, start + len(counts), namespace.asarray(rows), namespace.asarray(valid))


def parts_of(groups: list[LabelGroup], labels: slice) -> Iterator[LabelGroup]:
    """Yield the groups without labels outside of a slice."""
    for group in groups:
        if group.start < labels.stop and group.stop > labels.start:
            yield group.part(labels.start, labels.stop)


def masked_products(
    cells: Callable[[Array, Array], Array],
    values: Callable[[Array], Array],
    group: LabelGroup,
    namespace: Namespace,
    max_rows: int,
) -> Array:
    """Sum over the rows of each label the products of its cells and values.

    `cells` and `values` return, for a table of rows and the mask of its padding, arrays
    (g, n, m) and (g, n, c). The result is (g, m, c).
    """
    xp = namespace.xp
    step = max(1, max_rows // max(1, group.stop - group.start))
    total = None
    for part in batches(group.n_rows, step):
        rows, valid = group.rows[:, part], group.valid[:, part]
        product = xp.matmul(xp.permute_dims(cells(rows, valid), (0, 2, 1)), values(rows))
        total = product if total is None else total + product
    return total
