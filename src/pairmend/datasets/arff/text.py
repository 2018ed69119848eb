"""Lines of a text file: encoding, compression, longest line."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pairmend.datasets.arff.model import ArffError
from pairmend.datasets.files import UnpackedFile, opened
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimitError, ReadLimits

BLOCK = 2**18
"""Characters read at once: the arrays made of them fit into the processor's cache."""
MAX_LINE = 2**28
"""Characters of the longest line that is read."""
BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

Progress = Callable[[float], None]
"""Called with the share of the file that has been read, from 0 to 1."""


def candidate_encodings(path: Path) -> list[str]:
    """Return the encodings to try: that of the byte order mark, or else UTF-8 and Latin-1."""
    with _as_arff_error(path, 1), opened(path, DEFAULT_LIMITS) as stream:
        start = stream.read(4096)
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return [encoding]
    if b"\0" in start:
        raise ArffError(path, 1, "a binary file, not an ARFF file")
    return ["utf-8", "latin-1"]


def line_batches(
    path: Path,
    encoding: str,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> Iterator[tuple[int, list[str]]]:
    """Yield lists of lines, each with the number of its first line.

    Bytes that are invalid in the encoding raise a UnicodeDecodeError.
    """
    number = 1
    pieces: list[str] = []  # of a line whose end has not been met yet
    length = 0
    unpacked = UnpackedFile(path, limits)
    with io.TextIOWrapper(io.BufferedReader(unpacked, BLOCK), encoding=encoding) as text:
        while True:
            with _as_arff_error(path, number):
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
                progress(unpacked.share_read)
    yield number, ["".join(pieces)]


@contextmanager
def _as_arff_error(path: Path, line: int) -> Iterator[None]:
    """Add the number of the line to the error of a broken compressed file."""
    try:
        yield
    except (UnicodeDecodeError, ReadLimitError):
        raise
    except ValueError as error:
        raise ArffError(path, line, str(error).removeprefix(f"{path}: ")) from error
