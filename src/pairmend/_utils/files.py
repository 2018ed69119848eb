"""Writing files atomically: a file is replaced only after it was written completely."""

import bz2
import gzip
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Functions that open compressed files, by suffix."""

WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6) if sys.platform == "win32" else ()
"""Seconds between attempts to replace a file. Windows refuses it while a program has it open."""


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path with the same suffix, which replaces `path` if no error occurs."""
    path = Path(path)
    if path.is_symlink():  # replace its target, not the link
        path = path.resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    # In a temporary folder beside the target: the file itself gets the usual permissions.
    with tempfile.TemporaryDirectory(
        dir=path.parent, prefix=".pairmend-", ignore_cleanup_errors=True
    ) as folder:
        temporary = Path(folder) / f"new{path.suffix}"
        yield temporary
        replace_file(temporary, path)


def replace_file(source: Path, target: Path) -> None:
    """Rename a file to the name of another, which it replaces."""
    for seconds in WAITS:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            time.sleep(seconds)
    os.replace(source, target)


@contextmanager
def written(path: str | Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file that replaces `path` if no error occurs; compressed by its suffix."""
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with (
        replaced(path) as temporary,
        opener(temporary, "wt", encoding="utf-8", newline="\n") as file,
    ):
        yield file
