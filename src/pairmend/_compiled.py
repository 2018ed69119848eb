"""Whether there are compiled kernels, and when they are worth their start."""

from functools import cache
from typing import Any

WORTHWHILE = 2**16
"""Values to work on from which on compiled code is asked for: loading it takes a second."""


def compiled_for(n_values: int) -> Any:
    """Return the module of compiled kernels, or None where numpy is to do the work.

    That is so for little work, where numba is not installed, and where its own switch,
    ``NUMBA_DISABLE_JIT=1``, says that nothing is to be compiled.

    Parameters
    ----------
    n_values : int
        How many values there are to work on.
    """
    return _kernels() if n_values >= WORTHWHILE else None


@cache
def _kernels() -> Any:
    try:
        import numba
    except ImportError:
        return None
    if getattr(numba.config, "DISABLE_JIT", False):
        return None
    from pairmend import compiled

    return compiled
