"""Matrix products in the calling thread, independent of the settings of BLAS.

The threads of this library (:mod:`pairmend._utils.threads`) multiply many small matrices at a time.
If BLAS started its own threads for each product, they would wait for each other. The number of
threads of BLAS is a setting of the whole process, which only the user should change. So products
are computed in blocks that are too small for BLAS to use more than one thread.
"""

from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray

LARGEST = 2**18
"""Largest number of multiplications for which OpenBLAS uses one thread."""
ROWS = 16
"""Smallest number of rows of a block, if the matrix has as many."""
DEPTH = 2**10
"""Largest number of products that are added up for a cell of a block."""
LONGEST = 2**13
"""Largest length of vectors for whose product OpenBLAS uses one thread."""


def multiply(a: Any, b: Any, out: FloatArray | None = None) -> FloatArray:
    """Multiply matrices (..., m, k) and (..., k, n), in blocks."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    if m * k * n <= LARGEST:
        return np.matmul(a, b, out=out)
    if out is None:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        out = np.empty((*stack, m, n), dtype=np.result_type(a, b))
    for start in range(0, k, DEPTH):
        part = out if start == 0 else np.empty_like(out)
        _fill(a[..., start : start + DEPTH], b[..., start : start + DEPTH, :], part)
        if start:
            out += part
    return out


def _fill(a: Any, b: Any, out: FloatArray) -> None:
    """Write a product of small depth to `out`, all blocks with the same columns in one call."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    columns = min(n, max(1, LARGEST // (min(m, ROWS) * k)))
    rows = min(m, max(1, LARGEST // (columns * k)))
    whole = m - m % rows
    b = np.ascontiguousarray(b)
    blocks, filled = (
        part[..., :whole, :].reshape(*part.shape[:-2], -1, rows, part.shape[-1])
        for part in (a, out)
    )
    for left in range(0, n, columns):
        here = slice(left, left + columns)
        np.matmul(blocks, b[..., np.newaxis, :, here], out=filled[..., here])
        if whole < m:
            np.matmul(a[..., whole:, :], b[..., here], out=out[..., whole:, here])


def sum_squares(values: FloatArray) -> float:
    """Return the sum of the squares of all values, NaN or infinite if a value is."""
    flat = values.ravel(order="K")
    if len(flat) <= LONGEST:
        return float(np.vecdot(flat, flat))
    n_whole = len(flat) - len(flat) % LONGEST
    pieces, rest = flat[:n_whole].reshape(-1, LONGEST), flat[n_whole:]
    return float(np.vecdot(pieces, pieces).sum() + np.vecdot(rest, rest))
