"""`compiled`: loops that numba compiles at the first call; numpy is used for small inputs.

A compiled function stands in the file of the numpy function that it equals. Numba is optional and
takes about a second to import, so it is used for large arrays only.
"""

from collections.abc import Callable
from functools import cache, update_wrapper
from pickle import UnpicklingError
from types import FunctionType
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


class Compiled:
    """A function that numba compiles at its first call."""

    def __init__(self, loops: FunctionType, options: dict[str, Any]):
        update_wrapper(self, loops)
        self.loops, self.options = loops, options
        self._dispatchers: dict[bool, Any] = {}

    def dispatcher(self, *, cached: bool = False) -> Any:
        """Return numba's function object, with compiled functions in place of those it calls."""
        if cached not in self._dispatchers:
            from numba import njit

            called = {
                name: value.dispatcher()
                for name in self.loops.__code__.co_names
                if isinstance(value := self.loops.__globals__.get(name), Compiled)
            }
            function = FunctionType(
                self.loops.__code__, {**self.loops.__globals__, **called}, self.loops.__name__
            )
            update_wrapper(function, self.loops)
            options = {"nogil": True, "error_model": "numpy", **self.options}
            self._dispatchers[cached] = njit(cache=cached, **options)(function)
        return self._dispatchers[cached]

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function, from numba's cache on disk where there is one."""
        try:
            return self.dispatcher(cached=True)(*arguments)
        except (RuntimeError, OSError, EOFError, UnpicklingError) as error:
            # There is no folder for the cache, the disk is full or a file of the cache is broken.
            if isinstance(error, RuntimeError) and "cache" not in str(error):
                raise
            return self.dispatcher()(*arguments)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Compiled]:
    """Return a decorator that compiles a function with these options of numba."""

    def decorate(loops: Callable[..., Any]) -> Compiled:
        assert isinstance(loops, FunctionType)
        return Compiled(loops, options)

    return decorate
