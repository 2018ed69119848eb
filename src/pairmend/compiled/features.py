"""Features of dense rows: their distinct values, and the columns log-odds are linear in."""

import numpy as np

from pairmend._typing import FloatArray, IntArray
from pairmend.compiled._numba import compile_inner, compile_loops

WITHIN = 8
"""Columns that are looked at together: a line of the processor's cache."""
EMPTY = np.int64(-1)
"""Marks a free place of a table; the bits of no number."""
MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Spreads bits over the upper end of a product: 2^64 over the golden ratio."""


@compile_inner()
def _read_columns(X: FloatArray, first: int, columns: FloatArray, bounds: FloatArray) -> int:
    """Copy columns out; find the smallest and the largest values; return how many are NaN."""
    bounds[0], bounds[1] = np.inf, -np.inf
    low, high = bounds
    n_missing = 0
    for i in range(X.shape[0]):
        row = X[i, first : first + len(low)]
        for c in range(len(low)):
            value = row[c] + 0.0  # -0.0 is 0.0
            columns[c, i] = value
            low[c] = value if value < low[c] else low[c]
            high[c] = value if value > high[c] else high[c]
            n_missing += value != value
    return n_missing


@compile_inner()
def _count_keys(keys: IntArray, table: IntArray, shift: int) -> int:
    """Count distinct keys in a table with open places; nothing is as dear as a wrong guess.

    Whether a key is new cannot be foreseen, so that is no branch: it is written either way.
    Whether its first place holds another one, which is rare, is.
    """
    table[:] = EMPTY
    n_found = 0
    for i in range(len(keys)):
        key = keys[i]
        mixed = np.uint64(key)
        mixed ^= mixed >> np.uint64(32)
        place = (mixed * MIXING) >> np.uint64(shift)
        there = table[place]
        if min(np.uint64(there ^ key), np.uint64(there ^ EMPTY)) != 0:
            while there != EMPTY and there != key:
                place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
                there = table[place]
        table[place] = key
        n_found += there == EMPTY
    return n_found


@compile_loops
def count_distinct(
    X: FloatArray, start: int, stop: int, count: IntArray, low: FloatArray, high: FloatArray
) -> None:
    """Count the distinct known values of columns, and find the smallest and the largest.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows; NaN is no value.
    start, stop : int
        Which columns.
    count, low, high : ndarray of shape (d,)
        Filled in there; 0 where a column has no value.
    """
    n_rows = X.shape[0]
    size, shift = 16, 60
    while size < 4 * n_rows:
        size, shift = 2 * size, shift - 1
    table = np.empty(size, dtype=np.int64)
    columns, bounds = np.empty((WITHIN, n_rows)), np.empty((2, WITHIN))
    bits = columns.view(np.int64)
    for first in range(start, stop, WITHIN):
        width = min(WITHIN, stop - first)
        n_missing = _read_columns(X, first, columns, bounds[:, :width])
        for c in range(width):
            column, n_known = columns[c], n_rows
            if n_missing:  # known values move to the front
                n_known = 0
                for i in range(n_rows):
                    if column[i] == column[i]:
                        column[n_known] = column[i]
                        n_known += 1
            count[first + c] = _count_keys(bits[c, :n_known], table, shift)
            low[first + c] = bounds[0, c] if n_known else 0.0
            high[first + c] = bounds[1, c] if n_known else 0.0


@compile_loops
def stack_rows(
    X: FloatArray,
    centre: FloatArray,
    unit: FloatArray,
    start: int,
    stop: int,
    stack: FloatArray,
) -> None:
    """Write some rows in units from a centre, with their squares, column after column.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    centre, unit : ndarray of shape (d,)
        Where each feature is 0, and what it is multiplied by from there.
    start, stop : int
        Which rows.
    stack : ndarray of shape (2 d + 1, n)
        Filled in there: values, squares, and ones.
    """
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
