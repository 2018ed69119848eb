"""How loops are compiled."""

from collections.abc import Callable
from functools import cache, wraps
from pickle import UnpicklingError
from typing import Any

from numba import njit


def compile_inner(**options: Any) -> Any:
    """Compile a function that others call, as a part of these.

    Parameters
    ----------
    **options : dict
        Further options of numba.

    Returns
    -------
    callable
        A decorator.
    """
    return njit(nogil=True, error_model="numpy", **options)


def compile_loops(loops: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result in numba's cache.

    Where there is no folder for a cache, the disk is full or a file of the cache is broken, it is
    compiled for this process only.
    """

    @cache
    def for_now() -> Any:
        return compile_inner()(loops)

    try:
        kept = compile_inner(cache=True)(loops)
    except RuntimeError:  # there is no folder
        return for_now()

    @wraps(loops)
    def call(*arguments: Any) -> Any:
        try:
            return kept(*arguments)
        except (OSError, EOFError, UnpicklingError):
            return for_now()(*arguments)

    return call
