"""How loops are compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compile_loops(**options: Any) -> Callable[[Callable[..., Any]], Any]:
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

    def compiled(loops: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, error_model="numpy", cache=True, **options)(loops)
        except RuntimeError:  # no folder for a cache can be written to
            return njit(nogil=True, error_model="numpy", **options)(loops)

    return compiled
