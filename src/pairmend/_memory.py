"""Large arrays in memory that is used again.

The C library gives large freed blocks back to the system, and a new block comes page by page,
which takes longer than many a pass over it. How much the C library keeps is a setting of the
whole process, which belongs to the user. So the largest arrays of this library lie in blocks of
its own, which it keeps for its next arrays: :data:`KEPT` bytes in all, at the most.
"""

import math
import os
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 2**17
"""Bytes of the smallest array whose memory is kept; the C library keeps that of smaller ones."""
KEPT = 2**25
"""Bytes that are kept at once, at the most."""


class _Pool:
    """Blocks of memory that no array uses now, the latest last.

    The lock is never waited for. Without it, a block is new, or it is not kept: so an object that
    is deleted at any moment, or a fork at any moment, cannot stop the process.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.lock = Lock()
        self.free: list[NDArray[np.uint8]] = []
        self.size = 0

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return a block of memory of this size."""
        if self.lock.acquire(blocking=False):
            try:
                for place in range(len(self.free) - 1, -1, -1):
                    if self.free[place].nbytes == size:
                        self.size -= size
                        return self.free.pop(place)
            finally:
                self.lock.release()
        return np.empty(size, dtype=np.uint8)

    def give(self, block: NDArray[np.uint8]) -> None:
        """Keep a block of memory, if need be in place of those that were free for longest."""
        if block.nbytes <= KEPT and self.lock.acquire(blocking=False):
            try:
                self.free.append(block)
                self.size += block.nbytes
                while self.size > KEPT:
                    self.size -= self.free.pop(0).nbytes
            finally:
                self.lock.release()


_POOL = _Pool()
if hasattr(os, "register_at_fork"):  # another thread may have held the lock
    os.register_at_fork(after_in_child=_POOL.forget)


class _Owner:
    """Owns the memory of an array and of all its views, and gives it to the pool at its end."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int):
        self.pool, self.block = _POOL, _POOL.take(size)
        self.__array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self.block.__array_interface__["data"][0], False),
            "version": 3,
        }

    def __del__(self) -> None:
        self.pool.give(self.block)


def empty(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Return an array with any content, as :func:`numpy.empty` does, of kept memory if large.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : dtype, default=float64
        Type of numbers.

    Examples
    --------
    >>> empty((300, 400)).shape
    (300, 400)
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype=dtype)
    # Blocks of few sizes, an eighth apart: most fit a later array of nearly the same size.
    step = 1 << max(0, size.bit_length() - 4)
    return np.asarray(_Owner(shape, dtype, -(-size // step) * step))


def empty_like(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return an array with any content, as :func:`numpy.empty_like` does, of kept memory if large.

    Parameters
    ----------
    array : ndarray
        Its shape and the order of its axes in memory are those of the result.
    dtype : dtype, default=None
        Type of numbers; None means that of the array.

    Examples
    --------
    >>> empty_like(np.zeros((300, 400)).T).flags.f_contiguous
    True
    """
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    block = empty(tuple(array.shape[axis] for axis in order), dtype or array.dtype)
    return block.transpose(sorted(range(array.ndim), key=order.__getitem__))
