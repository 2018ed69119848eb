"""The lines of a text file: compressed or not, in any encoding."""

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pairmend.datasets.arff.model import ArffError
from pairmend.datasets.files import OPENERS

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
    number, rest = 1, ""
    size = max(1, path.stat().st_size)
    with path.open("rb") as raw, _open(path, raw) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding)
        while True:
            with _told(path, number):
                block = text.read(BLOCK)
            if not block:
                break
            lines = (rest + block).split("\n")
            rest = lines.pop()
            if len(rest) > MAX_LINE:
                raise ArffError(path, number, f"a line of more than {MAX_LINE} characters")
            yield number, lines
            number += len(lines)
            if progress is not None:
                progress(min(1.0, raw.tell() / size))
    yield number, [rest]


def _open(path: Path, raw: IO[bytes] | None = None) -> IO[bytes]:
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb") if raw is None else raw
    return opener(path if raw is None else raw, "rb")


@contextmanager
def _told(path: Path, line: int) -> Iterator[None]:
    """Turn the many errors of broken compressed files into one."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ArffError(path, line, f"the compressed file is broken: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ArffError(path, line, f"the compressed file is broken: {error}") from error
