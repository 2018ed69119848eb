"""Compiled equivalents of the numpy functions of ``naive_bayes/scoring.py``."""

import numpy as np

from pairmend._utils.compilation import compiled
from pairmend._utils.exponentials import CHUNK, exponential_factors
from pairmend._utils.products import LARGEST
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.kernels.logistic import SMALLEST

WITHIN = 8
"""Columns read together: one line of the processor's cache."""
TILE = 2**15
"""Log-odds computed at once, few enough to stay in the processor's cache."""
ROWS = 256
"""Rows processed at once, at the most, so that their columns stay in the cache, too."""
MIN_ROWS = 32
"""Rows of one product, at the least: fewer are slow."""


@compiled()
def _add_logistic_chunk(
    against: FloatArray, total: FloatArray, powers: FloatArray, bits: IntArray
) -> None:
    exponential_factors(against, powers, bits)
    for i in range(len(against)):
        total[i] += 1.0 / (1.0 + against[i] * powers[i])


@compiled()
def add_logistic(against: FloatArray, total: FloatArray, powers: FloatArray) -> None:
    """Add the probabilities with these log-odds against, (n,), to a total.

    `against` and the work space `powers`, (CHUNK,), are overwritten.
    """
    bits = powers.view(np.int64)
    for start in range(0, len(against), CHUNK):
        part = slice(start, start + CHUNK)
        _add_logistic_chunk(against[part], total[part], powers, bits)


@compiled()
def _turn(against: FloatArray, side: FloatArray, is_first: bool) -> None:
    """Multiply log-odds by the sign they have in the first subspace, which is written to `side`."""
    if is_first:
        for i in range(len(side)):
            side[i] = -1.0 if against[i] < 0 else 1.0
    for i in range(len(side)):
        against[i] *= side[i]


@compiled()
def _fold_mean(mean: float, side: float) -> float:
    """Return a support and its complement as one number, see ``kernels/logistic.py``."""
    return side * (mean - 1 if mean > 0.5 else max(mean, SMALLEST))


@compiled()
def _are_consecutive(places: IntArray) -> bool:
    for i in range(1, len(places)):
        if places[i] != places[i - 1] + 1:
            return False
    return len(places) > 0


@compiled()
def _gather(
    source: FloatArray, lines: IntArray, places: IntArray, consecutive: bool, out: FloatArray
) -> None:
    """Copy positions of lines."""
    n = len(places)
    for k in range(len(lines)):
        line, copy = source[lines[k]], out[k]
        if consecutive:
            here = line[places[0] : places[0] + n]
            for i in range(n):
                copy[i] = here[i]
        else:
            for i in range(n):
                copy[i] = line[places[i]]


@compiled()
def _block_sizes(n_rows: int, n_classes: int, width: int) -> tuple[int, int]:
    """Return how many rows and classes one product has, see :mod:`pairmend._utils.products`."""
    rows = min(n_rows, max(MIN_ROWS, LARGEST // max(1, n_classes * width)))
    return rows, min(n_classes, max(1, LARGEST // max(1, rows * width)))


@compiled()
def _fill_means(
    stack: FloatArray,
    table: IntArray,
    rows: IntArray,
    weights: FloatArray,
    weight_table: IntArray,
    folded: bool,
    out: FloatArray,
) -> None:
    n_subspaces, width = table.shape
    n_classes = weights.shape[1]
    classes = np.arange(n_classes)
    at_once = max(1, min(len(rows), ROWS, TILE // max(1, n_classes)))
    n_block, c_block = _block_sizes(at_once, n_classes, width)
    chosen, own = np.empty(width * n_block), np.empty(width * n_classes)
    against, total = np.empty(c_block * n_block), np.empty(n_classes * at_once)
    side, powers = np.empty(n_classes * at_once if folded else 0), np.empty(CHUNK)
    for start in range(0, len(rows), at_once):
        stop = min(start + at_once, len(rows))
        total[: n_classes * (stop - start)] = 0
        for s in range(n_subspaces):
            for c in range(0, n_classes, c_block):  # the weights of a block are contiguous
                some = classes[c : c + c_block]
                part = own[width * c : width * (c + len(some))].reshape((width, len(some)))
                _gather(weights, weight_table[s], some, True, part)
            low = 0
            for left in range(start, stop, n_block):
                here = rows[left : min(left + n_block, stop)]
                n = len(here)
                tile = chosen[: width * n].reshape((width, n))
                _gather(stack, table[s], here, _are_consecutive(here), tile)
                for c in range(0, n_classes, c_block):
                    m = min(c_block, n_classes - c)
                    part = own[width * c : width * (c + m)].reshape((width, m))
                    scores = against[: m * n]
                    np.dot(part.T, tile, scores.reshape((m, n)))
                    if folded:
                        _turn(scores, side[low : low + m * n], s == 0)
                    add_logistic(scores, total[low : low + m * n], powers)
                    low += m * n
        low = 0
        for left in range(start, stop, n_block):
            n = min(n_block, stop - left)
            for c in range(n_classes):
                for i in range(n):
                    mean = total[low + i] / n_subspaces
                    out[c, left + i] = _fold_mean(mean, side[low + i]) if folded else mean
                low += n


@compiled()
def mean_supports(
    stack: FloatArray,
    table: IntArray,
    rows: IntArray,
    weights: FloatArray,
    weight_table: IntArray,
    folded: bool,
    out: FloatArray,
) -> None:
    """Fill in the supports (c, m) of some rows, averaged over the subspaces.

    `table` (n_subspaces, width) are the lines of `stack` (n_columns, n) in each subspace, and
    `weight_table` those of `weights` (n_weights, c) in the log-odds against each class. Supports
    may be folded, see ``kernels/folding.py``.
    """
    _fill_means(stack, table, rows, weights, weight_table, folded, out)


@compiled()
def folded_supports_of_labels(
    stack: FloatArray,
    table: IntArray,
    rows: IntArray,
    indptr: IntArray,
    weights: FloatArray,
    weight_table: IntArray,
    places: IntArray,
    label: int,
    out: FloatArray,
) -> None:
    """Fill in folded supports for a label at its rows, (n_entries, L), in pairs with own models.

    `rows` and `indptr` are those of `LabelRows`, `places` (L, L) the model of each two labels or
    -1, and `weights` (n_weights, n_models) belong to the log-odds against the first label of each
    model.
    """
    others = np.flatnonzero(places[label] >= 0)
    n_others, n_columns = len(others), len(stack)
    if n_others == 0:
        return
    own = np.empty((len(weights), n_others))
    for c in range(n_others):
        sign = 1.0 if label < others[c] else -1.0
        for k in range(len(weights)):
            own[k, c] = sign * weights[k, places[label, others[c]]]
    low, high = indptr[label], indptr[label + 1]
    columns = np.arange(n_columns)
    for start in range(low, high, ROWS):
        here = rows[start : min(start + ROWS, high)]
        # Columns are in several subspaces, so each row is copied once, before.
        mine, supports = np.empty((n_columns, len(here))), np.empty((n_others, len(here)))
        _gather(stack, columns, here, False, mine)
        _fill_means(mine, table, np.arange(len(here)), own, weight_table, True, supports)
        for i in range(len(here)):
            for c in range(n_others):
                out[start + i, others[c]] = supports[c, i]


@compiled()
def score(
    stack: FloatArray,
    table: IntArray,
    rows: IntArray,
    weights: FloatArray,
    weight_table: IntArray,
    out: FloatArray,
) -> None:
    """Fill in the scores of rows, (n_subspaces, c, m), see :func:`mean_supports`."""
    n_subspaces, width = table.shape
    n_classes = weights.shape[1]
    classes = np.arange(n_classes)
    n_block, c_block = _block_sizes(max(1, min(len(rows), ROWS)), n_classes, width)
    chosen, own = np.empty(width * n_block), np.empty(width * c_block)
    scores = np.empty(c_block * n_block)
    for s in range(n_subspaces):
        for c in range(0, n_classes, c_block):
            some = classes[c : c + c_block]
            m = len(some)
            part = own[: width * m].reshape((width, m))
            _gather(weights, weight_table[s], some, True, part)
            for start in range(0, len(rows), n_block):
                here = rows[start : start + n_block]
                n = len(here)
                tile, block = chosen[: width * n], scores[: m * n].reshape((m, n))
                _gather(stack, table[s], here, _are_consecutive(here), tile.reshape((width, n)))
                np.dot(part.T, tile.reshape((width, n)), block)
                out[s, c : c + m, start : start + n] = block


@compiled()
def mean_supports_of_pairs(
    scores: FloatArray, first: IntArray, second: IntArray, folded: bool
) -> FloatArray:
    """Return the mean supports (n_pairs, n) with differences of scores as log-odds."""
    n_subspaces, _, n = scores.shape
    out = np.zeros((len(first), n))
    against, side, powers = np.empty(n), np.empty(n), np.empty(CHUNK)
    for m in range(len(first)):
        for s in range(n_subspaces):
            ours, theirs = scores[s, first[m]], scores[s, second[m]]
            for i in range(n):
                against[i] = theirs[i] - ours[i]
            if folded:
                _turn(against, side, s == 0)
            add_logistic(against, out[m], powers)
        for i in range(n):
            mean = out[m, i] / n_subspaces
            out[m, i] = _fold_mean(mean, side[i]) if folded else mean
    return out


@compiled()
def folded_supports_at(scores: FloatArray, label: IntArray, row: IntArray) -> FloatArray:
    """Return the folded mean supports (m, L) for labels at rows against all labels."""
    n_subspaces, n_labels, _ = scores.shape
    size = n_subspaces * n_labels
    against, supports, powers = np.empty(size), np.empty(size), np.empty(CHUNK)
    side, total = np.empty(n_labels), np.empty(n_labels)
    out = np.empty((len(label), n_labels))
    for m in range(len(label)):
        for s in range(n_subspaces):
            own, here = scores[s, label[m], row[m]], against[s * n_labels : (s + 1) * n_labels]
            for j in range(n_labels):
                here[j] = scores[s, j, row[m]] - own
            _turn(here, side, s == 0)
        supports[:], total[:] = 0, 0
        add_logistic(against, supports, powers)
        for s in range(n_subspaces):
            for j in range(n_labels):
                total[j] += supports[s * n_labels + j]
        for j in range(n_labels):
            out[m, j] = _fold_mean(total[j] / n_subspaces, side[j])
    return out


@compiled()
def stack_rows(
    X: FloatArray,
    centre: FloatArray,
    unit: FloatArray,
    start: int,
    stop: int,
    stack: FloatArray,
) -> None:
    """Fill in scaled values, their squares and ones, (2 d + 1, n), for some rows."""
    n_features = X.shape[1]
    for first in range(0, n_features, WITHIN):
        last = min(first + WITHIN, n_features)
        for i in range(start, stop):
            row = X[i, first:last]
            for f in range(len(row)):
                stack[first + f, i] = row[f]
    for f in range(n_features):
        values, squares = stack[f, start:stop], stack[n_features + f, start:stop]
        zero, scale = centre[f], unit[f]
        for i in range(len(values)):
            value = (values[i] - zero) * scale
            values[i], squares[i] = value, value * value
    stack[2 * n_features, start:stop] = 1.0
