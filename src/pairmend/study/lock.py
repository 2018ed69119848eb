"""Lock of a results folder; StudyInUseError if another process runs a study in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "study.lock"
"""Name of the locked file in a results folder."""


class StudyInUseError(RuntimeError):
    """Another process runs a study in the same folder.

    Examples
    --------
    >>> raise StudyInUseError("another process runs a study in results")
    Traceback (most recent call last):
    ...
    pairmend.study.lock.StudyInUseError: another process runs a study in results
    """


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Lock a results folder; raise a StudyInUseError at once if another process has locked it."""
    from filelock import FileLock, Timeout

    # The system releases the lock when the process ends, also when it is killed.
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StudyInUseError(
            f"another process runs a study in {out}. Wait until it has ended, or choose another "
            "folder."
        ) from None
    try:
        yield
    finally:
        lock.release()
