"""Matrix products that stay in the calling thread, whatever the settings of BLAS.

The threads of this library (:mod:`pairmend._utils.threads`) multiply many small matrices at a time.
If BLAS started threads of its own for each product, they would wait for each other. The number of
threads of BLAS is a setting of the whole process, which belongs to the user. So products are
computed in blocks that are too small for BLAS to use more than one thread.
"""

from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray

LARGEST = 2**18
"""Multiplications of a product up to which OpenBLAS uses one thread."""
ROWS = 16
"""Rows of a block, if there are many columns, too."""
DEPTH = 2**10
"""Products that are added up for each cell of a block, at the most."""
LONGEST = 2**13
"""Length of vectors up to which OpenBLAS uses one thread for their product."""


def multiply(a: Any, b: Any, out: FloatArray | None = None) -> FloatArray:
    """Multiply matrices, or stacks of matrices, in blocks.

    Parameters
    ----------
    a : ndarray of shape (..., m, k)
        First factor.
    b : ndarray of shape (..., k, n)
        Second factor.
    out : ndarray of shape (..., m, n), optional
        The result is written there.

    Returns
    -------
    ndarray of shape (..., m, n)

    Examples
    --------
    >>> multiply(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
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
    """Fill in a product of little depth, all blocks with the same columns in one call."""
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
    """Add up the squares of all values, in pieces.

    Parameters
    ----------
    values : ndarray
        Values of any shape.

    Returns
    -------
    float
        NaN or infinite if a value is.

    Examples
    --------
    >>> sum_squares(np.array([[1.0, 2.0], [3.0, 4.0]]))
    30.0
    """
    flat = values.ravel(order="K")
    n_whole = len(flat) - len(flat) % LONGEST
    pieces, rest = flat[:n_whole].reshape(-1, LONGEST), flat[n_whole:]
    return float(np.vecdot(pieces, pieces).sum() + np.vecdot(rest, rest))
