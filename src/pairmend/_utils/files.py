"""Writing files whole or not at all."""

import bz2
import gzip
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How compressed files are opened, by suffix."""


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Give a place to write a file to, which takes its own place only when all went well.

    Parameters
    ----------
    path : str or Path
        Where the file is to be.

    Yields
    ------
    Path
        Where it is to be written, with the same suffix.
    """
    path = Path(path)
    if path.is_symlink():  # write where it points to, not over it
        path = path.resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    # In a folder of its own beside the place: the file itself gets the usual permissions.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pairmend-") as folder:
        temporary = Path(folder) / f"new{path.suffix}"
        yield temporary
        os.replace(temporary, path)


@contextmanager
def written(path: str | Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file for writing that takes its place only when all went well.

    Parameters
    ----------
    path : str or Path
        The file; gz, bz2 and xz are compressed by their suffix.

    Yields
    ------
    file
        The text file to write to.
    """
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with (
        replaced(path) as temporary,
        opener(temporary, "wt", encoding="utf-8", newline="\n") as file,
    ):
        yield file
