"""Writing text files so that they are there whole or not at all."""

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
    path = Path(path)
    # In a folder of its own beside the place: the file itself gets the usual permissions.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        temporary = Path(folder) / path.name
        opener = OPENERS.get(path.suffix.lower(), open)
        with opener(temporary, "wt", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(temporary, path)
