"""Interrupts (Ctrl+C) that compiled code turns into other errors."""

from collections.abc import Iterator
from contextlib import contextmanager


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt."""
    # When Ctrl-C arrives inside of compiled code that ignores it, Python raises a SystemError
    # whose cause is the KeyboardInterrupt.
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def interrupts_restored() -> Iterator[None]:
    """Raise KeyboardInterrupt for an error that is an interrupt."""
    try:
        yield
    except SystemError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
