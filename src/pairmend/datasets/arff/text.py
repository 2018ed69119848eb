"""The lines of a text file: compressed or not, in any encoding."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pairmend.datasets.arff.model import ArffError
from pairmend.datasets.files import OPENERS, told_if_broken

BLOCK = 2**18
"""Characters read at once: few enough that what is made of them stays in the cache."""
MAX_LINE = 2**28
"""Characters of the longest line that is believed to be one."""
BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

Progress = Callable[[float], None]
"""Is told the share of the file that has been read, now and then."""


def candidate_encodings(path: Path) -> list[str]:
    """Return the encodings a file may have, the likelier first.

    A byte order mark tells; without one it is UTF-8, or else Latin-1, in which any byte is
    a character.
    """
    with _told(path, 1), _open(path) as stream:
        start = stream.read(4096)
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return [encoding]
    if b"\0" in start:
        raise ArffError(path, 1, "a binary file, not an ARFF file")
    return ["utf-8", "latin-1"]


def line_batches(
    path: Path, encoding: str, progress: Progress | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield lists of lines, each with the number of its first line.

    Parameters
    ----------
    path : Path
        The file; plain, gz, bz2 or xz by its suffix.
    encoding : str
        Its encoding; a UnicodeDecodeError is raised where it is not that.
    progress : callable, default=None
        Is told the share that has been read.
    """
    number = 1
    pieces: list[str] = []  # of a line whose end has not been met yet
    length = 0
    size = max(1, path.stat().st_size)
    with path.open("rb") as raw, _open(path, raw) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding)
        while True:
            with _told(path, number):
                block = text.read(BLOCK)
            if not block:
                break
            first, *lines = block.split("\n")
            pieces.append(first)
            length += len(first)
            if length > MAX_LINE:
                raise ArffError(path, number, f"a line of more than {MAX_LINE} characters")
            if lines:
                rest = lines.pop()
                yield number, ["".join(pieces), *lines]
                number += 1 + len(lines)
                pieces, length = [rest], len(rest)
            if progress is not None:
                progress(min(1.0, raw.tell() / size))
    yield number, ["".join(pieces)]


def _open(path: Path, raw: IO[bytes] | None = None) -> IO[bytes]:
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb") if raw is None else raw
    return opener(path if raw is None else raw, "rb")


@contextmanager
def _told(path: Path, line: int) -> Iterator[None]:
    """Turn the many errors of broken compressed files into one."""
    try:
        with told_if_broken(path):
            yield
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise ArffError(path, line, str(error).removeprefix(f"{path}: ")) from error
