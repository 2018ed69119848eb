"""`compiled`: loops that numba compiles at the first call; numpy is used for small inputs.

Numba is optional and takes about a second to import, so it is used for large arrays only. It keeps
compiled code on disk until the file of the function changes, whatever changes in other files. So a
compiled function calls no function of this library and reads no constant: it computes from its
arguments.

A loop is compiled where that makes a fit or a prediction on a real set clearly faster (one thread,
times of numpy divided by times of compiled code, medians of alternating runs, November 2026):

=================================  ====================================  ====
``forests.trees``                  prediction of a forest, medical       2.5
                                   the same, plant                       1.6
                                   the same, yeast                       0.9
=================================  ====================================  ====
"""

from collections.abc import Callable
from functools import cache, wraps
from pickle import UnpicklingError
from typing import Any

WORTHWHILE = 2**16
"""Smallest number of values for which compiled code is used."""


def use_compiled(n_values: int) -> bool:
    """Return whether to call compiled loops for this number of values."""
    return n_values >= WORTHWHILE and has_numba()


@cache
def has_numba() -> bool:
    """Return whether numba is installed and not disabled by ``NUMBA_DISABLE_JIT=1``."""
    try:
        import numba
    except ImportError:
        return False
    return not getattr(numba.config, "DISABLE_JIT", False)


def compiled(loops: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, compiled at its first call."""

    @cache
    def compile_(*, cached: bool) -> Any:
        from numba import njit

        return njit(cache=cached, nogil=True, error_model="numpy")(loops)

    @wraps(loops)
    def call(*arguments: Any) -> Any:
        try:
            return compile_(cached=True)(*arguments)
        except (RuntimeError, OSError, EOFError, UnpicklingError) as error:
            # There is no folder for the cache, the disk is full or a file of the cache is broken.
            if isinstance(error, RuntimeError) and "cache" not in str(error):
                raise
            return compile_(cached=False)(*arguments)

    return call
