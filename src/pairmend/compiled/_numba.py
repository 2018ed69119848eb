"""How loops are compiled."""

from typing import Any

from numba import njit


def compile_loops(**options: Any) -> Any:
    """Compile a function when it is first called, and keep the result in numba's cache.

    Parameters
    ----------
    **options : dict
        Further options of numba.

    Returns
    -------
    callable
        A decorator.
    """
    return njit(nogil=True, cache=True, error_model="numpy", **options)
